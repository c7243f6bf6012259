"""The memory budget of a command. The need of a run is reported before anything large is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from vlang.cli.graphs import AS_IT_IS
from vlang.cli.show import note
from vlang.errors import BindError, OutOfMemory

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.options import Options

__all__ = ["memory_budget"]


@contextmanager
def memory_budget(
    program: Program, spec: str, reading: Mapping[str, Any], options: Mapping[str, Any], quiet: bool
) -> Iterator[None]:
    """A context manager that enforces a memory budget while a graph is read and a program runs on it.

    The budget is the option `memory` or, if the option is not given, VLANG_MEMORY. A note on stderr says how much
    memory the run needs.

    Args:
        program: the program.
        spec: the file or generator of the graph.
        reading: the options for reading the graph, by name.
        options: the options of the run, by name.
        quiet: whether to print warnings only.

    Raises:
        OutOfMemory: the run is known to need more than the budget, or memory runs out inside the context.
    """
    from vlang.api.arguments.bind_options import check_options  # start-up
    from vlang.api.running.memory import check_need, chosen_budget, need_on  # start-up
    from vlang.runtime.graph.edges.ends import Ends  # start-up
    from vlang.runtime.graph.estimate import estimate  # start-up
    from vlang.runtime.storage.ledger import budget  # start-up
    from vlang.runtime.storage.magic import is_page_file  # start-up

    chosen = check_options(options)
    try:
        limit = chosen_budget(chosen)
    except BindError as error:
        raise click.UsageError(str(error)) from None
    paged = dict(reading) == dict(AS_IT_IS) and is_page_file(spec)
    with _exact(program, spec, chosen, limit) if paged else nullcontext(), budget(limit):
        if paged:  # the run reports the need itself, and may stream
            yield
            return
        shape = estimate(spec, reading["directed"], reading["symmetrize"], reading["weights"], chosen.threads,
                         Ends(reading["source_column"], reading["target_column"]),
                         {e.name: e.type for e in program.edges})
        if shape is not None and (limit is not None or shape.n + shape.m >= _LARGE):
            columns = frozenset(shape.columns) & {edge.name for edge in program.edges}
            plan = program.plan(columns, precision=chosen.precision, without=chosen.without)
            text = check_need(need_on(plan, shape, chosen), limit, program.name, spec, shape.exact)
            if text and (not quiet or text.startswith("warning")):
                note(text)
        yield


@contextmanager
def _exact(program: Program, path: str, options: Options, limit: int | None) -> Iterator[None]:
    """A context manager for a run on a page file. If the budget is too small even to open the file, the error names the
    least memory for the run.
    """
    from vlang.api.running.on_disk import refuse_budget  # start-up
    from vlang.runtime.graph.graph import Graph  # start-up

    try:
        yield
    except OutOfMemory as error:
        if isinstance(error.__cause__, MemoryError) and limit is not None:  # the refusal of a single array
            refuse_budget(program, Graph.open(path), replace(options, memory=limit))
        raise


_LARGE = 1 << 24  # the need is compared with free memory before reading if a graph has this many vertices and edges
