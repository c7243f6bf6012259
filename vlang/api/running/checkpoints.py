"""Checks that a checkpoint belongs to a run, and continues the run from the checkpoint."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang import __version__
from vlang.errors import BindError, CheckpointError, DiskError
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, statements
from vlang.options import OPTIONS
from vlang.runtime.cluster.transports.transport import here
from vlang.runtime.engine.checkpoint import Restorable, Saved, largest_slots, loaded
from vlang.runtime.engine.keeper import Keeper
from vlang.runtime.engine.position import describe
from vlang.runtime.graph.fingerprint import SEAL, fingerprint
from vlang.runtime.plan.plan import Plan, column_between, every_step
from vlang.runtime.storage.state.state_file import Damaged, digest
from vlang.runtime.storage.state.state_folder import Generation, StateFolder, reason
from vlang.runtime.threads.interrupts import Interrupts
from vlang.runtime.threads.processors import available_threads
from vlang.types import Scalar, Tuple, Type, Vector

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program
    from vlang.runtime.engine.machine import Machine
    from vlang.runtime.graph.graph import Graph

__all__ = ["Notes", "keeping", "opened_folder", "shown_value"]

Key = Mapping[str, Mapping[str, str]]


class Notes:
    """Messages about the checkpoints of a run.

    Attributes:
        resumed: says where the run continued; "" if it started from the beginning.
        problems: messages about checkpoints that could not be read or written.
    """

    def __init__(self, say: Any) -> None:
        self._say = say
        self.resumed = ""
        self.problems: list[str] = []

    def say(self, text: str) -> None:
        """Pass a message to the caller at once."""
        if self._say is not None:
            self._say(text)

    def problem(self, text: str) -> None:
        """Pass a message to the caller at once, and keep it for the result."""
        self.problems.append(text)
        self.say(text)


@contextmanager
def opened_folder(path: str) -> Iterator[StateFolder]:
    """A context manager that opens and locks the checkpoint folder of a run. A run enters this context before it reads
    the graph.

    Raises CheckpointError if the folder contains files that no run has written, and DiskError if the folder cannot be
    used.
    """
    transport = here()
    if transport is None:
        folder = StateFolder(path)
    else:
        from vlang.runtime.cluster.saved.rank_folder import RankFolder  # start-up

        folder = RankFolder(path, transport)
    try:
        folder.generations()
        yield folder
    finally:
        folder.close()


@contextmanager
def keeping(
    plan: Plan, machine: Machine, call: Call, program: Program, folder: StateFolder | None, notes: Notes,
) -> Iterator[Keeper]:
    """Return a context manager that yields the `Keeper` of a run. The keeper saves the state of the run, and handles
    interrupts according to the options.

    Args:
        plan: the plan of the run.
        machine: the machine that runs it.
        call: the bound call.
        program: the program.
        folder: the folder of the checkpoints; None for a run without checkpoints.
        notes: receives the messages about checkpoints.

    Raises CheckpointError if the folder has a checkpoint from which the run cannot continue. Raises BindError if the
    machine cannot save its state, and DiskError if the disk fails.
    """
    options = call.options
    if not isinstance(machine, Restorable):
        raise BindError("this machine cannot save its state: leave out checkpoint and on_interrupt")
    making: Callable[..., Keeper] = Keeper
    if here() is not None:
        making = _rank_keeper(machine, folder)
    key = {} if folder is None else _key(plan, call, program)
    saved = None if folder is None else _begin(folder, plan, machine, call.graph.n, key, notes)
    with Interrupts() as interrupts:
        keeper = making(plan, machine, interrupts, folder, key, options.every, options.on_interrupt == "write",
                        options.threads or available_threads(), notes.say, saved, notes.problems)
        try:
            yield keeper
            keeper.finish()
        except KeyboardInterrupt:
            keeper.abandon()
            raise
        finally:
            keeper.close()
        if interrupts.asked and not keeper.returns:
            interrupts.raise_noted()


def _rank_keeper(machine: Any, folder: StateFolder | None) -> Callable[..., Keeper]:
    """Return `RankKeeper` as a partial function, in which the arguments that describe the rank of this thread are
    bound.

    Args:
        machine: the `ClusterMachine` or `RankGpuMachine` of the rank.
        folder: the `RankFolder` of the rank, which gets the range of vertices of the rank.
    """
    from vlang.runtime.cluster.saved.rank_folder import RankFolder  # start-up
    from vlang.runtime.cluster.saved.rank_keeper import RankKeeper  # start-up

    transport = here()
    assert isinstance(folder, RankFolder)
    assert transport is not None
    folder.owned = machine.numbers.ranges.of(transport.rank)
    return partial(RankKeeper, transport=transport, numbers=machine.numbers)


# ------------------------------------------------------------------------------------------------------------ keys
def _key(plan: Plan, call: Call, program: Program) -> dict[str, dict[str, str]]:
    """Return the properties that must be equal for a run and its checkpoint. Messages use the names of these
    properties.
    """
    text = hashlib.blake2b(program.source.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    options = {name: shown_value(getattr(call.options, name)) for name, option in OPTIONS.items() if option.decides}
    options |= {"precision": str(call.precision), "derive": str(program.derive)}
    return {
        "vlang": {"version": __version__},
        "program": {"name": plan.name, "text": text},
        "device": {"kind": _device(plan, program.stages(call.precision).program)},
        "option": options,
        "parameter": {name: shown_value(value) for name, value in {**call.constants, **call.scalars}.items()},
        "field": {name: digest(array) for name, array in {**call.fields, **call.old}.items()},
        "graph": _graph(plan, call.graph.in_memory),
        "categories": {"names": hashlib.blake2b("\n".join(call.names).encode(), digest_size=16).hexdigest()},
        "plan": {"steps": _structure(plan)},
    }


def shown_value(value: Any) -> str:
    """A value of an option or a parameter as text; equal values give equal texts."""
    if isinstance(value, np.ndarray):
        return f"{len(value)} vertices {digest(value)}"
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    return repr(value)


def _graph(plan: Plan, graph: Graph) -> dict[str, str]:
    sides: dict[str, set[str]] = {}
    for stage in plan.stages:
        if stage.side is not None:
            sides.setdefault(stage.side, set()).update(name for name, _ in stage.columns)
    for way, _, name in filter(None, map(column_between, plan.slots)):
        sides.setdefault(way if graph.directed else "in", set()).update([name] if name else [])
    degrees = [slot.partition(":")[2] for slot in plan.slots if slot.startswith("degree:")]
    return fingerprint(graph, sides, degrees, "near:starts" in plan.slots)


def _device(plan: Plan, program: f.Program) -> str:
    """Return the kind of device on which a run must continue so that its results have the same bits: "CPU", "GPU" or
    "any".

    A GPU may round floats differently than a CPU; integers are equal on all devices.
    """
    types = [*(decl.type for decl in program.fields), *(decl.type for decl in program.globals),
             *(decl.type for decl in program.params)]
    types += [e.type for s in statements(program.body) for expr in expressions(s) for e in f.walk(expr)]
    if not program.reductions and not any(map(_has_floats, types)):
        return "any"
    return "CPU" if all(stage.gpu is None for stage in plan.stages) else "GPU"


def _has_floats(type_: Type) -> bool:
    """Return whether values of a type are or contain floats."""
    if isinstance(type_, Tuple):
        return any(map(_has_floats, type_.items))
    item = type_.item if isinstance(type_, Vector) else type_
    return isinstance(item, Scalar) and item.floating


def _structure(plan: Plan) -> str:
    """A checksum of the steps of a plan, of its graph-level values, and of the arrays that checkpoints may contain.

    One version of vlang always computes the same checksum for the same program text.
    """
    steps = [(type(step).__name__, getattr(step, "name", ""), getattr(step, "line", 0))
             for step in every_step(plan.steps)]
    text = json.dumps([steps, sorted(largest_slots(plan)), sorted(plan.scalars.items())])
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).hexdigest()


def _difference(kind: str, name: str, there: str | None, here: str | None) -> str:
    """A sentence that says how the run of a checkpoint differs from this run.

    Args:
        kind: the group of the property that differs; it is a key of the result of `_key`.
        name: the property.
        there: the value of the property in the checkpoint; None if the checkpoint has no such property.
        here: the value of the property in this run; None if this run has no such property.
    """
    if kind == "vlang":
        return f"vlang {there} wrote it, and this is vlang {here}"
    if kind == "device":
        return f"its run was on a {there}, and this one is on a {here}, which rounds floats differently"
    if kind == "program" or kind == "plan":
        return "its program has another text"
    if kind == "graph":
        numbers = {"vertices": f"its graph has {there} vertices, and this one {here}",
                   "edges": f"its graph has {there} edges, and this one {here}",
                   "directed": "its graph is directed, and this one is not" if there == "True" else
                   "its graph is undirected, and this one is not"}
        if name == SEAL:
            return "its graph is that of another page file" if there and here else \
                "its graph was not read from a page file, and this one was: run it on the same file" if here else \
                "its graph was read from a page file, and this one was not: run it on the same file"
        return numbers.get(name, f"its graph has other {'vertex ids' if name == 'ids' else f'values ({name})'}"
                           if name == "ids" or name.startswith("column") else
                           "its graph has another order of rows" if name == "order" else "its graph has other edges")
    if kind == "field":
        return f"its run was given other values of `{name}`"
    if kind == "parameter" and " vertices " in f"{there}{here}":
        return f"its run had another list `{name}`"
    absent = "its default" if kind == "parameter" else "none"
    was, now = (absent if value in (None, "None", "") else value for value in (there, here))
    return f"its run had {name} = {was}, and this one has {now}"


def _other(there: object, here: Key) -> str:
    """Return a sentence about the first difference between the key of a checkpoint and the key of a run; "" if they are
    equal.
    """
    if not isinstance(there, dict):
        return "it does not say what it belongs to"
    name = there.get("program", {}).get("name") if isinstance(there.get("program"), dict) else None
    if name != here["program"]["name"]:
        return f"it is of the program {name}, and this is {here['program']['name']}"
    for kind, values in here.items():
        other = there.get(kind)
        if not isinstance(other, dict):
            return "it does not say what it belongs to"
        first = ("vertices", "edges", "directed", SEAL) if kind == "graph" else ()
        for item in dict.fromkeys([*first, *values, *other]):
            if values.get(item) != other.get(item):
                return _difference(kind, item, other.get(item), values.get(item))
    return ""


# -------------------------------------------------------------------------------------------------------- beginning
def _begin(folder: StateFolder, plan: Plan, machine: Restorable, n: int, key: Key, notes: Notes) -> Saved | None:
    """The checkpoint from which a run continues; None if the run starts from the beginning.

    Args:
        folder: the folder of the checkpoints.
        plan: the plan of the run.
        machine: the machine that runs it.
        n: the number of vertices.
        key: the properties of the run, from `_key`.
        notes: receives messages.
    """
    damaged: list[Generation] = []
    for one in folder.generations():
        if one.file is None:
            damaged.append(one)
            continue
        if one.file.about.get("finished") is True:
            notes.say(f"the run that kept its checkpoints in {folder.shown} has finished: this one begins anew")
            return None
        other = _other(one.file.about.get("key"), key)
        if other:
            raise CheckpointError(f"cannot go on from the checkpoint in {folder.shown}: {other}. Run it as before, or "
                                  "give another folder")
        try:
            saved = _loaded(folder, plan, machine, n, one)
        except Damaged as error:
            damaged.append(Generation(one.name, one.number, None, str(error)))
            continue
        for lost in damaged:
            notes.problem(f"{folder.shown}/{lost.name} is damaged: {lost.problem}; the checkpoint before it is used")
        folder.number = one.number  # the next generation replaces a damaged one
        notes.resumed = f"goes on before {describe(saved.blocks)}, {_age(one.file.about)}, from {folder.shown}"
        notes.say(notes.resumed)
        return saved
    if damaged:
        raise CheckpointError(f"no checkpoint in {folder.shown} can be used: {damaged[0].name} is damaged: "
                              f"{damaged[0].problem}; remove the folder to begin anew")
    return None


def _loaded(folder: StateFolder, plan: Plan, machine: Restorable, n: int, one: Generation) -> Saved:
    assert one.file is not None
    edges = len(machine.share(f"edges:{plan.states[0].name}")) if plan.states else 0
    try:
        return loaded(plan, n, one.file, machine.windows, edges)
    except ValueError as error:
        raise folder.refused(one.name, str(error)) from None
    except OSError as error:
        raise DiskError(f"cannot read {folder.shown}/{one.name}: {reason(error)}") from error


def _age(about: Mapping[str, Any]) -> str:
    """The time at which a checkpoint was written, as text."""
    written = about.get("written")
    if type(written) is not float or not 0 <= written < 1 << 34:
        return "as of an unknown time"
    return time.strftime("as of %Y-%m-%d %H:%M:%S", time.localtime(written))


def print_line(text: str) -> None:
    """Print a message on stderr."""
    print(text, file=sys.stderr, flush=True)
