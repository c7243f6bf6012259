"""An estimate of the host memory that a run on the CPU takes, computed step by step from the counts of a graph.

The steps are in the order in which `vlang.runtime.graph.topology` builds adjacencies and `CpuMachine` allocates arrays.
Tests compare the estimate with the bytes that the ledger (`vlang.runtime.storage.ledger`) counts during a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from itertools import pairwise
from typing import Protocol

from vlang.records import dataclass
from vlang.runtime.engine.cycle import is_watched, watched_slots
from vlang.runtime.engine.state import DTYPES, in_order
from vlang.runtime.graph.edges.columns import converts
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.topology.build import bytes_in_flight
from vlang.runtime.graph.topology.pointers import bytes_of_pointers
from vlang.runtime.plan.derived import COMMON, OPPOSITE, ORDINAL, PLACE
from vlang.runtime.plan.plan import Contract, LoopSpec, Plan, StageSpec, SweepSpec, column_between, every_step, field_of
from vlang.runtime.storage.available import in_bytes
from vlang.runtime.threads.workers import GRAIN

__all__ = ["Need", "Taken", "later_need", "need_of", "watched_bytes", "windowed_need"]

_ID = 4  # bytes of a neighbour's number
_SUMMED = 48  # temporary bytes per entry for the sums of an edge column between two vertices
_OFFSET = 8  # bytes of an offset into the edges
_LOCAL = 4  # bytes of an offset inside a page
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


@dataclass
class _Account:
    """The bytes of memory in use, by purpose, and the peak since the last call of `phase`."""

    held: dict[str, int] = field(default_factory=dict)
    most: int = 0

    @property
    def now(self) -> int:
        return sum(self.held.values())

    def hold(self, name: str, nbytes: int) -> None:
        self.held[name] = self.held.get(name, 0) + nbytes
        self.passing(0)

    def passing(self, nbytes: int) -> None:
        """Account for memory that is both allocated and freed in this step."""
        self.most = max(self.most, self.now + nbytes)

    def phase(self) -> int:
        """End a phase; returns the peak of memory in this phase."""
        most, self.most = self.most, self.now
        return most


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
    account = _Account()
    account.hold("ids", shape.ids)
    account.hold("edges", shape.listed * (2 * _ID + shape.width))
    building = _Building(shape, account)
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
    account = _Account()
    building = _Building(shape, account)
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
    return widths | {slot: _ID for slot in plan.slots if slot.startswith("degree:")}


def _state(plan: Plan, shape: Shape) -> int:
    """The bytes of the arrays over vertices, except degrees and second buffers of messages, and of edge states."""
    widths = {spec.slot: _bytes(spec.dtype) * spec.width for spec in plan.arrays if spec.length == "vertices"}
    fields = {spec.name: _bytes(spec.dtype) * spec.width for spec in plan.fields}
    widths |= {slot: fields[name] for slot in plan.slots if (name := field_of(slot)) is not None}
    edges = sum(_bytes(spec.dtype) for spec in plan.arrays if spec.length == "edges")
    return shape.n * sum(widths.values()) + (shape.entries(shape.kept("in")) * edges if edges else 0)


def _degrees(plan: Plan, shape: Shape, threads: int, account: _Account) -> None:
    """Account for the degrees that a program reads, and for temporary arrays while degrees are computed."""
    slots = [slot for slot in plan.slots if slot.startswith("degree:")]
    for slot in slots if shape.directed else slots[:1]:  # the degrees of an undirected graph are one array
        account.hold("degrees", _ID * shape.n * (3 if slot == "degree:all" and shape.directed else 1))
        tallies = min(threads, shape.m // GRAIN) if shape.directed else 0  # arrays that count the other ends
        account.passing(max(2 * _OFFSET, tallies * _ID) * shape.n)


@dataclass
class _Building:
    """Accounts for the adjacencies of a graph: temporary memory during construction, and memory that stays in use."""

    shape: Shape
    account: _Account
    _there: set[str] = field(default_factory=set)
    _stored: set[tuple[str, str]] = field(default_factory=set)
    _read: set[tuple[str, str]] = field(default_factory=set)

    def keep(self, kind: str) -> None:
        """Account for an adjacency that exists before the run."""
        self._there.add(kind)
        self._stored |= {(kind, name) for name in self.shape.columns if name not in self.shape.ruled}
        self.account.hold("adjacency", self._rows(kind))
        self.account.hold("columns", self.shape.entries(kind) * self.shape.width)

    def build(self, kind: str, columns: Collection[str]) -> None:
        """Account for building an adjacency with `columns`, and for building the adjacencies that it is derived from.

        The first adjacency that is built gets all columns.
        """
        kind = self.shape.kept(kind)
        if kind in self._there:
            return
        if self.shape.streamed:  # only degrees, which passes over lists of vertices read
            self._there.add(kind)
            self.account.hold("degrees", _ID * self.shape.n * (3 if kind == "both" else 1))
            return
        if kind == "both":
            self.build("in", columns)
            self.build("out", columns)
            self.account.passing(2 * self._rows(kind) - self.shape.entries(kind) * _ID)
            self.account.hold("adjacency", self._rows(kind))
        else:
            self._sort(kind, columns)
        self._there.add(kind)

    def read(self, kind: str, columns: Mapping[str, str]) -> None:
        """Account for columns that a rule computes, and for columns that kernels do not read in the stored type."""
        kind = self.shape.kept(kind)
        if self.shape.streamed:
            return
        for name, dtype in columns.items():
            if name == COMMON and (kind, name) not in self._read:
                self._read.add((kind, name))
                self.neighbours()
                self.account.hold("columns", _ID * (self.shape.entries("both") + self.shape.entries(kind)))
            if name == OPPOSITE and (kind, name) not in self._read:  # the entries are transposed, with their indices
                self._read.add((kind, name))
                entries = self.shape.entries(kind)
                self.account.hold("columns", _ID * entries)
                self.account.passing(self._rows(kind) + _ID * entries + bytes_in_flight(self.shape.n, entries, True))
            if name in (ORDINAL, PLACE) and (kind, name) not in self._read:
                self._read.add((kind, name))
                self.account.hold("columns", _ID * self.shape.entries(kind))
            if (kind, name) in self._read or name not in self.shape.columns:
                continue
            self._read.add((kind, name))
            stored = self.shape.columns[name]
            self._store(kind, name)
            if converts(stored, DTYPES[dtype]):
                self.account.hold("columns", self.shape.entries(kind) * DTYPES[dtype].itemsize)

    def _store(self, kind: str, name: str) -> None:
        """Account for the values of a column in the order of an adjacency that was built without this column."""
        if (kind, name) in self._stored:
            return
        self._stored.add((kind, name))
        size = self.shape.entries(kind) * self.shape.columns[name].itemsize
        if name not in self.shape.ruled and kind == "both":
            self._store("in", name)
            self._store("out", name)
        elif name not in self.shape.ruled:  # the entries are transposed again, with the column
            self.account.passing(size + self._rows(kind) + self._in_flight(True))
        self.account.hold("columns", size)

    def _sort(self, kind: str, columns: Collection[str]) -> None:
        """Account for the counting sort of the listed edges with all columns, or of an adjacency with `columns`."""
        shape, account, m = self.shape, self.account, self.shape.m
        kept = [c for c in shape.columns if c not in shape.ruled and (c in columns or not self._there)]
        account.hold("adjacency", self._rows(kind))
        account.hold("columns", m * sum(shape.columns[name].itemsize for name in kept))
        self._stored |= {(kind, name) for name in kept}
        account.passing(self._in_flight(bool(kept)))
        account.held["edges"] = 0

    def _in_flight(self, columns: bool) -> int:
        """The temporary bytes of a counting sort of all edges, without or with columns."""
        shape = self.shape
        more = shape.m * (_ID + (_OFFSET if columns else 0))  # in order of degree, the first bucket may have most rows
        return bytes_in_flight(shape.n, shape.m, columns) + (more if shape.ordered else 0)

    def neighbours(self) -> None:
        """Account for the lists of distinct neighbours, which are at most as long as the rows of both directions."""
        if "near" not in self._there:
            self._there.add("near")
            self.build("both", ())
            most = self.shape.entries("both")
            self.account.hold("adjacency", _ID * most + _OFFSET * (self.shape.n + 1))
            self.account.passing(8 * most)

    def between(self, plan: Plan) -> None:
        """Account for the sums of an edge column over all edges between two neighbours."""
        for way, dtype, name in filter(None, map(column_between, plan.slots)):
            self.build(self.shape.kept(way), (name,) if name else ())
            most = self.shape.entries("both")
            self.account.hold("columns", DTYPES[dtype].itemsize * most)
            self.account.passing(_SUMMED * most)

    def cut(self, kind: str) -> None:
        """Account for cutting an adjacency into pages."""
        account, n = self.account, self.shape.n
        if self.shape.streamed:
            return
        account.hold("pages", _LOCAL * n)
        account.passing(_OFFSET * n)

    def _rows(self, kind: str) -> int:
        return _ID * self.shape.entries(kind) + _OFFSET * (self.shape.n + 1)


def _bytes(dtype: str) -> int:
    """The size in bytes of a value of a stored type such as `f32`."""
    return int(dtype[1:]) // 8


