"""The contents of a checkpoint: the state of a run before a step, or before a superstep of an innermost loop.

At these points, the following state determines the rest of a run: fields, edge states, sent values, active flags, the
copies from the start of outer supersteps, stored accumulators and masks, graph-level values, and the position.
Execution ways of loops have no other state. A checkpoint does not contain arrays that passes compute for themselves:
messages, notify flags, queues and second buffers. Therefore the first superstep after a restart is a full superstep
(docs/internals/checkpoints.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.engine.cycle import watched_slots
from vlang.runtime.engine.machine import Machine
from vlang.runtime.engine.position import Block, walk
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.engine.trace import History
from vlang.runtime.plan.plan import Contract, LoopSpec, Plan, PushSpec, Step, every_step, field_of
from vlang.runtime.storage.state.remote import Remote
from vlang.runtime.storage.state.state_file import StateSource
from vlang.runtime.storage.state.windows import Windows, in_parts

__all__ = ["FLAGS", "HISTORY", "Restorable", "Saved", "Slot", "largest_slots", "loaded", "packed", "restored",
           "saved_slots"]

_NONE = 0xFFFFFFFF  # the value `none` of a vertex field
FLAGS = "flags"
"""The name of the array with the active vertices, uint8[n]. Without it a resumed loop activates all vertices."""
HISTORY = {"history:parts": "int64", "history:seconds": "float64", "history:rows": "int64", "history:moved": "int64"}
"""The names and dtypes of the arrays with the history; the other arrays have values of vertices."""
_OUTCOME = {"rounds": int, "converged": bool, "reason": str, "seconds": float, "infinite": bool,
            "infinite_inside": bool}


@runtime_checkable
class Restorable(Machine, Protocol):
    """A machine whose state can be saved and restored."""

    @property
    def windows(self) -> Windows | None:
        """The object that keeps vertex arrays in files; None if all arrays are in memory."""

    def share(self, slot: str) -> NDArray[Any] | Remote:
        """The values of a vertex array that this process saves: of all vertices, or of the vertices of a rank."""

    def put(self, slot: str, array: Any) -> None:
        """Store the values of a vertex array (an array, or what `copies` returns), for the same vertices as in `share`.
        """

    def scalar_bits(self) -> dict[str, int]:
        """The 64 bits of every graph-level value as an integer, in a dict by the name of the value."""

    def put_scalar_bits(self, name: str, bits: int) -> None:
        """Store a graph-level value from its 64 bits."""

    def copies(self, kept: object) -> Sequence[NDArray[Any] | Remote]:
        """The arrays of a copy that `keep` returned, for the same vertices as in `share`."""


@dataclass(frozen=True)
class Slot:
    """An array of a checkpoint.

    Attributes:
        dtype: the stored type.
        width: the number of entries per vertex.
        type: the type in the program; "" if unknown.
        edges: whether the array has an entry per edge, for an edge state.
    """

    dtype: np.dtype[Any]
    width: int
    type: str = ""
    edges: bool = False

    def entries(self, n: int, m: int) -> int:
        """The number of entries for n vertices and m stored edges."""
        return m if self.edges else n * self.width


def saved_slots(plan: Plan, blocks: Sequence[tuple[Block, Step | None]]) -> dict[str, Slot]:
    """The arrays, by slot, that a run needs in order to continue at a position (see `walk`)."""
    loops = [step for _, step in blocks if isinstance(step, LoopSpec)]
    level = loops[-1].level if loops else -1
    inside = len(blocks) % 2 == 0  # before a superstep of an innermost loop, which makes its `start` copies itself
    fields = {spec.name: spec for spec in plan.fields}
    contracts = {step.name for step in every_step(plan.steps) if isinstance(step, Contract)}
    passing = _passing(plan)
    arrays = {spec.slot: spec for spec in plan.arrays if spec.length == "vertices"}
    found = {f"edges:{spec.name}": Slot(DTYPES[spec.dtype], 1, spec.type, edges=True) for spec in plan.states}
    for slot in plan.slots:
        kind, _, name = slot.partition(":")
        base, deep = kind.rstrip("0123456789"), int(kind[len(kind.rstrip("0123456789")) :] or 0)
        if base in ("field", "sent", "start") and field_of(slot) is not None and name not in contracts:
            if base == "field" or deep < level or (deep == level and not (inside and base == "start")):
                spec = fields[name]
                found[slot] = Slot(DTYPES[spec.dtype], spec.width, spec.type.partition("[")[0])
        elif base == "work" and slot in arrays and not slot.startswith(passing) and (name != "active" or deep <= level):
            kept = arrays[slot]
            found[slot] = Slot(DTYPES[kept.dtype], kept.width, "bool" if name == "active" else kept.type)
    return found


def largest_slots(plan: Plan) -> list[str]:
    """The slots of the arrays in the largest checkpoint of a plan, excluding copies for cycle detection."""
    passing, over = _passing(plan), {spec.slot for spec in plan.arrays if spec.length == "vertices"}
    kinds = ("field", "sent", "start")
    states = [f"edges:{spec.name}" for spec in plan.states]
    return [slot for slot in plan.slots if slot in states or slot.partition(":")[0].rstrip("0123456789") in kinds
            or (slot.startswith("work") and slot in over and not slot.startswith(passing))]


def _passing(plan: Plan) -> tuple[str, ...]:
    """The prefixes of the slots whose arrays passes compute for themselves."""
    names = []
    for stage in plan.stages:
        names += [f"work:message.{stage.name}.", f"work:notify.{stage.name}", f"work:sent.{stage.name}"]
        spec = stage.ways.get("push")
        names += [spec.slot] if isinstance(spec, PushSpec) and spec.slot.startswith("work:") else []
    return tuple(names)


# ------------------------------------------------------------------------------------------------------- saving
def packed(
    plan: Plan, machine: Restorable, position: Sequence[Mapping[str, Any]], blocks: Sequence[Block],
    outcome: Mapping[str, Any], history: History,
) -> tuple[dict[str, Any], dict[str, NDArray[Any] | Remote]]:
    """Return the description and the arrays of a checkpoint. The arrays are not copies, so the caller must copy them.

    Args:
        plan: the program.
        machine: holds the state.
        position: the position of the run, in types that JSON supports.
        blocks: the blocks of steps that contain the position, with the CycleWatch of each loop.
        outcome: the attributes of the outcome so far, by the names in _OUTCOME.
        history: the history so far.
    """
    slots = saved_slots(plan, walk(position, plan.steps))
    arrays: dict[str, NDArray[Any] | Remote] = {slot: machine.share(slot) for slot in slots}
    for number, block in enumerate(blocks):
        if block.watch is not None and block.watch.kept is not None:
            copies = machine.copies(block.watch.kept)
            arrays |= {f"kept{number}:{slot}": copy for slot, copy in zip(block.watch.slots, copies)}
    modes, rows = history.packed()
    about = {"position": list(position), "scalars": machine.scalar_bits(), "modes": modes, "outcome": dict(outcome)}
    return about, {**arrays, **dict(zip(HISTORY, rows))}


# ----------------------------------------------------------------------------------------------------- restoring
@dataclass(frozen=True)
class Saved:
    """A checkpoint in memory. The contents of the checkpoint were checked against a plan and a graph.

    Attributes:
        blocks: the blocks of steps that contain the position, each with its step.
        scalars: the bits of the graph-level values, by name.
        outcome: the attributes of the outcome so far, by the names in _OUTCOME.
        history: the supersteps so far.
        arrays: the vertex arrays by slot; `restored` removes them.
        kept: for each block, the arrays that its CycleWatch has copied, by slot; empty if there is no copy.
        flags: uint8[n], the active vertices; None for all.
    """

    blocks: Sequence[tuple[Block, Step | None]]
    scalars: Mapping[str, int]
    outcome: Mapping[str, Any]
    history: History
    arrays: dict[str, NDArray[Any]]
    kept: Sequence[Mapping[str, NDArray[Any]]]
    flags: NDArray[np.uint8] | None = None


def loaded(plan: Plan, n: int, file: StateSource, windows: Windows | None = None, edges: int = 0) -> Saved:
    """Read a checkpoint. Raises Damaged, and ValueError if the checkpoint does not match the plan and n.

    The names, types and lengths of all arrays are compared with the arrays of the plan before any array is allocated.

    Args:
        plan: the program.
        n: the number of vertices.
        file: the checkpoint.
        windows: keeps the vertex arrays of the checkpoint in files; None to read them into memory.
        edges: the number of stored edges, for edge states.
    """
    about = file.about
    blocks = walk(about.get("position"), plan.steps)
    slots = saved_slots(plan, blocks)
    wanted = {slot: (one.dtype, one.entries(n, edges)) for slot, one in slots.items()}
    watched = [_watched(plan, slots, block, step, n) for block, step in blocks]
    wanted |= {f"kept{number}:{slot}": what for number, kept in enumerate(watched) for slot, what in kept.items()}
    there = dict(file.entries)
    rows = {name: there.pop(name, None) for name in HISTORY}
    if len(blocks) % 2 == 0 and FLAGS in there:
        slots = {**slots, FLAGS: Slot(np.dtype(np.uint8), 1, "bool")}
        wanted |= {FLAGS: (np.dtype(np.uint8), n)}
    if there != wanted:
        odd = sorted(name for name in {*there, *wanted} if there.get(name) != wanted.get(name))
        raise ValueError(f"its arrays are not those of the program (`{odd[0]}`)")
    if any(what is None or what[0] != np.dtype(HISTORY[name]) for name, what in rows.items()):
        raise ValueError("its history cannot be read")
    scalars, outcome = about.get("scalars"), about.get("outcome")
    if not isinstance(scalars, dict) or set(scalars) != set(plan.scalars) or \
            not all(type(bits) is int and 0 <= bits < 1 << 64 for bits in scalars.values()):
        raise ValueError("its graph-level values are not those of the program")
    if n and any(n <= scalars[name] & _NONE < _NONE for name in plan.vertices):
        raise ValueError("its graph-level values name vertices that the graph does not have")
    if not isinstance(outcome, dict) or {name: type(value) for name, value in outcome.items()} != _OUTCOME:
        raise ValueError("its counts cannot be read")
    arrays = file.arrays(windows)
    for slot, one in slots.items():
        for part in in_parts(windows, arrays[slot]):
            _check_values(slot, one, part, n)
    history = History.unpacked(about.get("modes"), [arrays[name] for name in HISTORY], len(plan.counted))
    kept = [{slot: arrays[f"kept{number}:{slot}"] for slot in each} for number, each in enumerate(watched)]
    placed = {slot: arrays[slot] for slot in slots if slot != FLAGS}
    return Saved(blocks, scalars, outcome, history, placed, kept, arrays.get(FLAGS))


def _watched(
    plan: Plan, slots: Mapping[str, Slot], block: Block, step: Step | None, n: int,
) -> dict[str, tuple[np.dtype[Any], int]]:
    """The dtype and length of the arrays that the CycleWatch of a block has copied, by slot."""
    if not isinstance(step, LoopSpec) or block.numbers["kept_at"] < 0:
        return {}
    return {slot: (slots[slot].dtype, n * slots[slot].width) for slot in watched_slots(step)}


def _check_values(slot: str, one: Slot, values: NDArray[Any], n: int) -> None:
    """Raise ValueError for values that no run stores. Kernels might use wrong values as indices."""
    if one.type == "vertex" and bool(np.any((values >= n) & (values != _NONE))):
        raise ValueError(f"`{slot}` names vertices that the graph does not have")
    if one.type == "bool" and bool(np.any(values > 1)):
        raise ValueError(f"`{slot}` has values that are neither true nor false")


def restored(saved: Saved, machine: Restorable, given: frozenset[str]) -> None:
    """Move a checkpoint into a machine, except the graph-level values `given`, which are already set.

    The arrays of the checkpoint are freed, because the next checkpoint may need their memory.
    """
    while saved.arrays:
        machine.put(*saved.arrays.popitem())
    for name, bits in saved.scalars.items():
        if name not in given:
            machine.put_scalar_bits(name, bits)
