"""Writes a bound call for the ranks of a job as JSON, arrays, and a page file with the graph. Nothing is pickled."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from vlang.api.running.checkpoints import print_line
from vlang.errors import BindError
from vlang.options import Options
from vlang.runtime.cluster.job.form import Form
from vlang.runtime.graph.graph import Graph

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program

__all__ = ["call_form", "read_call"]

_HERE = ("cluster", "restarts", "notices")
"""The options that are used by the process that starts the ranks."""

_GRAPHS: WeakKeyDictionary[Graph, tempfile.TemporaryDirectory[str]] = WeakKeyDictionary()
"""For each graph in memory, the folder with its page file, which later calls use again."""


def call_form(program: Program, call: Call) -> Form:
    """Convert a bound call to values that JSON supports, and arrays. The graph of the call is written to a page file,
    unless the graph was read from a page file.

    Raises BindError for arguments that another process cannot receive. Raises DiskError if the page file cannot be
    written.
    """
    if call.starts or call.old:
        raise BindError("resume runs in one process, or on ranks that mpiexec has started; leave out cluster=N")
    options: dict[str, Any] = {}
    for option in fields(Options):
        value = getattr(call.options, option.name)
        if value == option.default or option.name in _HERE:
            continue
        if callable(value):
            raise BindError(f"{option.name} is a function, which ranks that vlang starts cannot call: give "
                            f"{option.name}=True, or start the script by mpiexec with cluster=\"mpi\"")
        options[option.name] = sorted(value) if isinstance(value, frozenset) else value
    by_mpi = isinstance(call.options.cluster, int)  # Ray sends notices to this process
    if by_mpi and call.options.notices is not None and call.options.notices is not print_line:
        raise BindError("notices is a function, which ranks that vlang starts cannot call: give notices=True, or start "
                        "the script by mpiexec with cluster=\"mpi\"")
    numbers = {name: np.asarray(value).item() for name, value in call.scalars.items() if np.ndim(value) == 0}
    arrays = {f"scalar:{name}": np.asarray(value) for name, value in call.scalars.items() if np.ndim(value)}
    arrays |= {f"field:{name}": np.asarray(value) for name, value in call.fields.items()}
    if "checkpoint" in options:
        options["checkpoint"] = os.path.abspath(options["checkpoint"])
    return {
        "source": program.source, "filename": program.filename, "derive": program.derive, "precision": call.precision,
        "constants": dict(call.constants), "options": options, "scalars": numbers, "names": call.names,
        "notices": call.options.notices is not None, "graph": str(_page_file(call.graph)),
    }, arrays


def _page_file(graph: Graph) -> Path:
    """The page file of a graph. For a graph in memory, the page file exists as long as the graph object.

    Raises DiskError if the file cannot be written, and BindError if page files do not support the order of the rows.
    """
    if graph.stored is not None and graph is graph.as_stored:
        return Path(graph.stored.path)
    from vlang.runtime.graph.paged.in_memory import save  # start-up

    if graph not in _GRAPHS:
        folder = tempfile.TemporaryDirectory(prefix="vlang-graph-")
        path, whole = Path(folder.name) / "graph.vg", graph.loaded()
        save(whole, path, layout="ids" if whole.order is None else "degree")
        order = Graph.open(path).order
        if whole.order is not None and (order is None or not np.array_equal(order.dense, whole.order.dense)):
            raise BindError(f"{graph.name} has its rows in an order that no page file has: save it as a page file, and "
                            "run the program on that file")
        _GRAPHS[graph] = folder
    return Path(_GRAPHS[graph].name) / "graph.vg"


def read_call(
    form: Form, lead: bool, graph: Graph | None = None, say: Callable[[str], None] = print_line
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments from which another process constructs the `Program` and the `Call`, after `call_form`.

    Args:
        form: the call, as `call_form` returns it.
        lead: whether this is rank 0, which shows progress and writes the trace.
        graph: the graph, if it is open already; else the page file of the form is opened.
        say: a function that rank 0 calls with each notice, if the caller requested notices.

    Raises GraphError and DiskError.
    """
    about, arrays = form
    options: dict[str, Any] = {name: frozenset(value) if isinstance(value, list) else value
                               for name, value in about["options"].items() if lead or name not in ("progress", "trace")}
    options["notices"] = say if about["notices"] and lead else None
    given = {kind: {name.partition(":")[2]: array for name, array in arrays.items() if name.startswith(kind)}
             for kind in ("scalar:", "field:")}
    program = {name: about[name] for name in ("source", "filename", "precision", "derive", "constants")}
    graph = Graph.open(about["graph"]) if graph is None else graph
    return program, {
        "graph": graph, "options": Options(**options), "precision": about["precision"], "parameters": {},
        "scalars": about["scalars"] | given["scalar:"], "fields": given["field:"],
        "names": tuple(about["names"]), "constants": about["constants"]}
