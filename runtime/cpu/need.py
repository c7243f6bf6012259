"""An estimate of the host memory that a run on the CPU takes, computed step by step from the counts of a graph.

The steps are in the order in which adjacencies are built (`building_need`) and `CpuMachine` allocates arrays.
Tests compare the estimate with the bytes that the ledger (`vlang.runtime.storage.ledger`) counts during a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Protocol

from vlang.records import dataclass
from vlang.runtime.cpu.building_need import ID, OFFSET, Account, Building
from vlang.runtime.engine.cycle import is_watched, watched_slots
from vlang.runtime.engine.state import in_order
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.topology.pointers import bytes_of_pointers
from vlang.runtime.plan.derived import OPPOSITE
from vlang.runtime.plan.plan import Contract, LoopSpec, Plan, StageSpec, SweepSpec, every_step, field_of
from vlang.runtime.storage.available import in_bytes
from vlang.runtime.threads.workers import GRAIN

__all__ = ["Need", "Taken", "later_need", "need_of", "watched_bytes", "windowed_need"]

_SHOWN = 16  # bytes per vertex: its id, and its place in the order in which results are written
_CHECKED = 1 << 20  # bytes of the parts of arrays over vertices that are checked or written at a time
_TAKEN = 12  # bytes per vertex of a part that is permuted into the order of the ids
_SWEPT = 36  # bytes per vertex for the levels of a sweep, while they are sorted
_LISTED = 5  # bytes per vertex for the levels of the last sweep over a field, besides a copy of the field


class Taken(Protocol):
    """What a loop takes of host memory in an execution way (`CpuWay`)."""

    def optional(self, loop: LoopSpec, shape: Shape) -> int:
        """The bytes that only make the loop faster."""

    def directions(self, loop: LoopSpec) -> Iterable[str]:
        """The adjacency directions that the loop reads."""

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """The bytes that the loop allocates."""


WayFor = Callable[[LoopSpec], Taken]


@dataclass(frozen=True)
class Need:
    """The memory of a run in bytes.

    Attributes:
        reading: peak while the graph is read.
        building: the peak of memory while adjacencies are built and cut into pages.
        running: the peak of memory while the program runs, without `optional`.
        optional: additional memory that only makes a run faster. The run takes the optional memory if the budget
            permits.
        state: arrays with one value per vertex.
        adjacency: neighbours and offsets, while the program runs.
        columns: edge columns, while the program runs.
    """

    reading: int
    building: int
    running: int
    optional: int
    state: int
    adjacency: int
    columns: int

    @property
    def peak(self) -> int:
        """The peak of the whole run, without `optional`."""
        return max(self.reading, self.building, self.running)

    def __str__(self) -> str:
        parts = [("reading", self.reading), ("building", self.building), ("running", self.running)]
        said = [f"{name} {in_bytes(nbytes)}" for name, nbytes in parts if nbytes]
        more = f"; up to {in_bytes(self.optional)} more for speed" if self.optional else ""
        return ", ".join(said) + more


def need_of(
    plan: Plan, shape: Shape, threads: int, way_for: WayFor, saved: bool = False, beside: int | None = None
) -> Need:
    """Estimate the memory of a run.

    Args:
        plan: the program.
        shape: the counts of the graph.
        threads: the number of worker threads.
        way_for: returns the execution way that runs a loop.
        saved: whether the run writes checkpoints, which require a copy of the state.
        beside: for a run on a GPU, which has the state, the bytes of host memory besides graph and results; None for a
            run on the CPU.
    """
    account = Account()
    account.hold("ids", shape.ids)
    account.hold("edges", shape.listed * (2 * ID + shape.width))
    building = Building(shape, account)
    for kind in sorted(shape.built):
        building.keep(kind)
    account.passing(shape.reading)  # last, since a page file is read page by page into its adjacency
    reading = account.phase()
    for kind in sorted({stage.side for stage in plan.stages if stage.side is not None}):
        building.build(kind, ())
        building.cut(kind)
    _degrees(plan, shape, threads, account)
    if "near:neighbours" in plan.slots:
        building.neighbours()
        building.between(plan)
    if "near:opposite" in plan.slots:
        building.read("in", {OPPOSITE: "u32"})
    built = account.phase()
    state = _state(plan, shape) if beside is None else 0
    account.hold("state", 2 * state if saved else state)
    account.hold("beside", beside or 0)
    apart = {stage.name for loop in plan.loops for stage in loop.stages} | _proved(plan)
    for stage in plan.stages:
        if stage.side is not None and stage.name not in apart:
            building.read(stage.side, _columns([stage]))
    pointers = {stage.pointer for stage in plan.stages if stage.pointer}
    pointed, rebuilding = bytes_of_pointers(shape.n)
    account.hold("pointers", len(pointers) * pointed)
    sweeps = {step.field for step in every_step(plan.steps) if isinstance(step, SweepSpec)}
    account.hold("levels", shape.n * sum(_LISTED + _bytes(spec.dtype) for spec in plan.fields if spec.name in sweeps))
    optional = 0
    for loop in plan.loops:
        way = way_for(loop)
        optional = max(optional, way.optional(loop, shape))
        for kind in way.directions(loop):
            building.build(kind, _columns(loop.stages))
            building.read(kind, _columns(loop.stages))
        account.passing(_looping(plan, loop, shape, threads, way_for))
    if pointers:  # each superstep may rebuild the lists of a field; the old lists are freed first
        account.passing(rebuilding)
    if sweeps:
        account.passing(_SWEPT * shape.n)
    account.hold("kept", shape.n * _kept(plan))
    outputs, ordering = _outputs(plan, shape)
    account.passing(ordering)
    held = account.held
    if not shape.streamed:  # when results are written, the buffers of streamed pages are free and large enough
        held["state"] = outputs
        account.passing(_SHOWN * shape.n)
    return Need(reading, built, account.phase(), optional, state, held.get("adjacency", 0), held.get("columns", 0))


def _looping(plan: Plan, loop: LoopSpec, shape: Shape, threads: int, way_for: WayFor) -> int:
    """The bytes that a loop needs in addition to adjacencies, columns and state; arguments as for `need_of`."""
    pushed = 0 if shape.streamed else sum(_bytes(spec.dtype) * spec.width for spec in plan.arrays
                                          if spec.length == "pushed")
    return way_for(loop).memory(loop, shape, threads) + pushed * shape.n


def later_need(plan: Plan, shape: Shape, threads: int, way_for: WayFor, saved: bool) -> int:
    """The bytes that a run allocates after its loops have begun: what only makes a loop faster leaves them free.

    With streamed edges, the memory of the loops themselves is not included, as the placement has set it aside.

    Args:
        plan, shape, threads, way_for, saved: as for `need_of`.
    """
    outputs, ordering = _outputs(plan, shape)
    state = _state(plan, shape)
    shown = 0 if shape.streamed else _SHOWN * shape.n + outputs - state
    account = Account()
    building = Building(shape, account)
    for kind in sorted(shape.built):
        building.keep(kind)
    before = account.now
    for loop in () if shape.streamed else plan.loops:  # some ways build a direction when they first need it
        for kind in way_for(loop).directions(loop):
            building.build(kind, _columns(loop.stages))
        account.passing(_looping(plan, loop, shape, threads, way_for))
    return shape.n * _kept(plan) + max(ordering, shown, account.most - before, 0) + (state if saved else 0)


def watched_bytes(plan: Plan, n: int) -> int:
    """The bytes of the copies of the state with which loops that repeat for ever are found, for n vertices."""
    widths = _widths(plan)
    return n * sum(widths.get(slot, 0) for loop in plan.loops if is_watched(loop) for slot in watched_slots(loop))


def _outputs(plan: Plan, shape: Shape) -> tuple[int, int]:
    """The bytes of the results, and those in use while results are permuted into the order of the ids."""
    outputs = shape.n * sum(_bytes(spec.dtype) * spec.width for spec in plan.fields if spec.output)
    outputs += shape.entries(shape.kept("in")) * sum(_bytes(spec.dtype) for spec in plan.states)
    return outputs, outputs + _TAKEN * min(shape.n, 1 << 15) if shape.ordered else 0


def windowed_need(plan: Plan, shape: Shape) -> int:
    """Estimate the memory in bytes of a run that consists of full passes and keeps arrays over vertices in files
    (windows).

    Arrays with random accesses stay in memory until the end of the run. At the end of the run, the results are permuted
    into the order of the ids.
    """
    moved = in_order(plan)
    held = sum(width for slot, width in _widths(plan).items() if slot not in moved)
    outputs = sum(_bytes(spec.dtype) * spec.width for spec in plan.fields if spec.output)
    hidden = sum(_bytes(spec.dtype) * spec.width * ((f"field:{spec.name}" not in moved) + (f"next:{spec.name}" in
                 plan.slots and f"next:{spec.name}" not in moved)) for spec in plan.fields)
    infinite = 1  # a bool per vertex, whether its values are infinite
    after = hidden + _kept(plan) + (outputs if shape.ordered else 0) + infinite
    return shape.ids + shape.n * max(held, after) + _CHECKED


def _columns(stages: Iterable[StageSpec]) -> dict[str, str]:
    """Return a dict that maps each edge column that passes read to the type in which they read it."""
    return {name: dtype for stage in stages for name, dtype in stage.columns}


def _proved(plan: Plan) -> set[str]:
    """The names of the passes that check bounds of edge columns.

    The passes that check bounds rarely run, because the ranges of columns prove most bounds.
    """
    return {before.name for before, step in pairwise(plan.steps)
            if isinstance(step, Contract) and step.bounds and isinstance(before, StageSpec)}


def _kept(plan: Plan) -> int:
    """The bytes per vertex of the copies that a result keeps so that a run on a changed graph can continue from them.
    """
    widths = {f"sent:{spec.name}": _bytes(spec.dtype) * spec.width for spec in plan.fields}
    return sum(widths.get(slot, 0) for slot in plan.slots)


def _widths(plan: Plan) -> dict[str, int]:
    """The bytes per vertex of each array over vertices, by slot, including degrees and second buffers of messages."""
    widths = {spec.slot: _bytes(spec.dtype) * spec.width for spec in plan.arrays
              if spec.length in ("vertices", "later")}
    fields = {spec.name: _bytes(spec.dtype) * spec.width for spec in plan.fields}
    widths |= {slot: fields[name] for slot in plan.slots if (name := field_of(slot)) is not None}
    return widths | {slot: ID for slot in plan.slots if slot.startswith("degree:")}


def _state(plan: Plan, shape: Shape) -> int:
    """The bytes of the arrays over vertices, except degrees and second buffers of messages, and of edge states."""
    widths = {spec.slot: _bytes(spec.dtype) * spec.width for spec in plan.arrays if spec.length == "vertices"}
    fields = {spec.name: _bytes(spec.dtype) * spec.width for spec in plan.fields}
    widths |= {slot: fields[name] for slot in plan.slots if (name := field_of(slot)) is not None}
    edges = sum(_bytes(spec.dtype) for spec in plan.arrays if spec.length == "edges")
    return shape.n * sum(widths.values()) + (shape.entries(shape.kept("in")) * edges if edges else 0)


def _degrees(plan: Plan, shape: Shape, threads: int, account: Account) -> None:
    """Account for the degrees that a program reads, and for temporary arrays while degrees are computed."""
    slots = [slot for slot in plan.slots if slot.startswith("degree:")]
    for slot in slots if shape.directed else slots[:1]:  # the degrees of an undirected graph are one array
        account.hold("degrees", ID * shape.n * (3 if slot == "degree:all" and shape.directed else 1))
        tallies = min(threads, shape.m // GRAIN) if shape.directed else 0  # arrays that count the other ends
        account.passing(max(2 * OFFSET, tallies * ID) * shape.n)


def _bytes(dtype: str) -> int:
    """The size in bytes of a value of a stored type such as `f32`."""
    return int(dtype[1:]) // 8


