"""The machine that runs plans on the CPU: the state is in host memory, and worker threads run the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError, GraphError
from vlang.options import Options
from vlang.runtime.compile.objects import load_kernels
from vlang.runtime.cpu.later import Later
from vlang.runtime.cpu.paged.source import PageSource, source_of
from vlang.runtime.cpu.passes.blocking import has_room
from vlang.runtime.cpu.passes.freedoms import PLAIN, Freedoms
from vlang.runtime.cpu.passes.levels import LastLevels, ListedSweep
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.prepared import is_prepared, remember
from vlang.runtime.cpu.ways.cpu_way import FULL, CpuWay
from vlang.runtime.cpu.ways.ways import WAYS
from vlang.runtime.engine.machine import Loop, Start, Stats, Values
from vlang.runtime.engine.near_tables import near_tables
from vlang.runtime.engine.state import State, in_order
from vlang.runtime.engine.way import begin_loop, way_of
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.pages import DEFAULT_PAGE_SIZE
from vlang.runtime.graph.topology.pointers import most_segments
from vlang.runtime.kernels import frontier_kernels, play_kernels
from vlang.runtime.plan.plan import BLOCK, LoopSpec, Plan, ScalarSpec, StageSpec, SweepSpec, every_step
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.state.windows import WINDOW, Windows
from vlang.runtime.threads.moved import NOTHING, Moved

if TYPE_CHECKING:
    from vlang.runtime.storage.reading.ring import Ring

__all__ = ["CpuMachine", "prepare_all"]

_DEGREES = (("in", "in"), ("out", "out"), ("all", "both"))


def prepare_all(plan: Plan) -> None:
    """Compile, or load from disk, all kernels that a run of a plan on a CPU may need for any graph and options."""
    kernels = load_kernels(plan.text, plan.exports)
    kernels.prepare(name for name in kernels if name != "scalars" or plan.values)
    if _sweeps(plan):
        frontier_kernels().prepare(frontier_kernels())
        play_kernels().prepare(play_kernels())
    for loop in plan.loops:
        for way in WAYS:
            for beside in way.beside(loop, plan, Options()):
                beside.kernels.prepare(beside.kernels)


def _sweeps(plan: Plan) -> bool:
    return any(isinstance(step, SweepSpec) for step in every_step(plan.steps))


class CpuMachine:
    """A machine of CPU threads (see vlang.runtime.engine.machine).

    The constructor compiles, or loads from disk, the kernels that every run of the plan launches. Other kernels are
    compiled or loaded when they are first launched.

    Args:
        plan: the program.
        graph: the graph.
        options: the options of the run.
        freedoms: makes the run-time choices that do not change results.
        ring: delivers the pages of a graph whose edges are on disk; None for edges in memory.
        windows: keeps arrays over vertices in files if passes access them in order; None if all arrays are in memory.
    """

    def __init__(self, plan: Plan, graph: Graph, options: Options, freedoms: Freedoms = PLAIN,
                 ring: Ring | None = None, windows: Windows | None = None) -> None:
        if windows is not None:  # other modes need lists of vertices in memory
            options = replace(options, mode="pull")
        self._plan, self._graph, self.options, self._ring = plan, graph, options, ring
        self._kernels = load_kernels(plan.text, plan.exports)
        prepared = is_prepared(plan, graph, options, self._kernels, type(self))
        for way in () if prepared else self.ways:
            problem = way.problem(plan, graph, options)
            if problem:
                raise BindError(problem)
        domains = {stage.side for stage in plan.stages if stage.side}
        source = self.source(graph, options.page_size or DEFAULT_PAGE_SIZE, ring)
        pages = {kind: source.pages(kind) for kind in sorted(domains)}
        segments = {kind: len(p.segments) for kind, p in pages.items()}
        segments |= {stage.domain or "": most_segments(self.pointers(graph)) for stage in plan.stages if stage.pointer}
        lengths = [(f"degree:{kind}", self._row_lengths(f"degree:{kind}", rows, windows)) for kind, rows in _DEGREES
                   if f"degree:{kind}" in plan.slots]  # before the state, as these and the tables need room
        near = [(slot, table()) for slot, _, _, table in near_tables(plan, graph)]
        kept = options.checkpoint is not None or options.on_interrupt == "write"
        self.state = State(plan, graph.n, segments, windows, cleared=kept,
                           edges=pages["in"].edges if plan.states else 0)
        for slot, values in (*lengths, *near):
            self.state.put(slot, values)
        if "ids:base" in plan.slots:
            base, listed = graph.ids.numbers
            self.state.frame[plan.slots["ids:base"]] = base
            if listed is not None:
                self.state.put("ids:list", listed)
                self.state.frame[plan.slots["ids:listed"]] = 1
        if graph.order is not None:
            for slot, array in (("ids:dense", graph.order.dense), ("ids:internal", graph.order.internal)):
                if slot in plan.slots:
                    self.state.put(slot, array)
        if not prepared:
            self._prepare({kind for kind, count in segments.items() if count})
            remember(plan, graph, options, self._kernels, type(self))
        self._cpu = freedoms.cpu(options.threads)
        self._cpu.prepare(graph.n + graph.m)
        self._stats, self._blocks = Stats(), -(-graph.n // BLOCK)
        self._levels: dict[str, LastLevels] = {}
        self.passes = self.passes_over(source, freedoms)
        if ledger.left is not None:  # else there is room for everything
            self.passes.later = Later(plan, graph, options, self._cpu.threads, self.ways)

    @property
    def ways(self) -> Sequence[CpuWay]:
        """The execution ways of loops, in order of preference."""
        return WAYS

    def pointers(self, graph: Graph) -> int:
        """The largest number of vertices that can point to the vertices of this machine."""
        return graph.n

    def source(self, graph: Graph, page_size: int, ring: Ring | None) -> PageSource:
        """The source of the pages; arguments as for `source_of`."""
        return source_of(graph, page_size, ring)

    def passes_over(self, source: PageSource, freedoms: Freedoms) -> Passes:
        """Create the object that runs passes, after the state was allocated."""
        return Passes(self._graph, self.state, self._kernels, self._cpu, source, switching=self.options.switching,
                      freedoms=freedoms)

    def _row_lengths(self, slot: str, kind: str, windows: Windows | None) -> NDArray[Any]:
        """The lengths of the rows of a direction, uint32[n], in memory or in a window, as the slot requires."""
        stored = self._graph.stored
        if windows is None or stored is None or slot not in in_order(self._plan):
            return self._graph.row_lengths(kind)
        kinds = ("in", "out") if kind == "both" and stored.directed else (kind if stored.directed else "in",)
        found = stored.degrees(kinds[0], windows.zeros)
        for other in kinds[1:]:
            more = stored.degrees(other, windows.zeros)
            for first, last in windows.parts():
                found[first:last] += more[first:last]
                if (found[first:last] < more[first:last]).any():
                    raise GraphError("a vertex has 2^32 edges or more; degrees go up to 4294967295")
                windows.release(first, last)
        return found

    def _prepare(self, segmented: set[str]) -> None:
        """Load kernels before timing starts. `segmented` are the adjacency directions that have segments."""
        plan, options = self._plan, self.options
        roles = dict.fromkeys((stage.name for stage in plan.stages), FULL)
        spared: set[str] = set()
        for loop in plan.loops:
            way = way_of(self.ways, loop, self._graph, options)
            roles |= {stage.name: way.roles(loop, stage, options) for stage in loop.stages}
            spared |= way.spared(loop, options)
            for beside in way.beside(loop, plan, options):
                beside.kernels.prepare(beside.sure)
        for stage in plan.stages:
            if stage.domain in segmented and "pull" in roles[stage.name]:
                roles[stage.name] |= {"segments", "finish"}
        names = [kernel for stage in plan.stages for role, kernel in stage.kernels.items() if role in roles[stage.name]]
        names += [spec.fold.kernel for spec in plan.values if spec.fold is not None]
        needed = [name for name in names if name not in spared]
        self._kernels.prepare([*needed, "scalars"] if plan.values else needed)
        if _sweeps(plan):
            frontier_kernels().prepare(["level_tasks", *(["level_long_tasks"] if segmented else [])])
            play_kernels().prepare(play_kernels())

    def set_scalar(self, name: str, value: bool | int | float) -> None:
        """Store a graph-level value."""
        self.state.set_scalar(name, value)

    def scalar(self, name: str) -> Any:
        """A graph-level value."""
        return self.state.scalar(name)

    def give(self, field: str, array: NDArray[Any]) -> None:
        """Store the values of a vertex field, array[n]."""
        self.state.arrays[f"field:{field}"][:] = array

    def array(self, slot: str) -> NDArray[Any]:
        """The vertex array of a slot."""
        return self.state.arrays[slot]

    def others(self, slot: str, value: int) -> int:
        """The number of entries of a vertex array that differ from `value`."""
        return int(np.count_nonzero(self.state.arrays[slot] != value))

    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute and store a graph-level value."""
        if spec.fold is not None:
            self.passes.fold(spec.fold)
        self._kernels["scalars"].at(self.state.frame_address, spec.index, self._blocks)

    def run_pass(self, stage: StageSpec) -> int:
        """Run a pass over all vertices; returns the number of edges traversed."""
        stats, edges = self.passes.full(stage)
        for name in stage.swaps:
            self.state.swap(name)
        if stage.loop_end:
            self._stats = stats
        return edges

    def counted(self) -> Stats:
        """The counts of the last pass that ended a superstep. The counts decide which vertices are active."""
        return self._stats

    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array over another."""
        np.copyto(self.state.arrays[slot], self.state.arrays[source])

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of a vertex array."""
        self.state.arrays[slot].view(np.uint8)[:] = byte

    def loop(self, spec: LoopSpec, bound: int | None, start: Start | None = None) -> Loop:
        """Begin a loop in the first execution way that may run it."""
        free = self.passes.freedoms
        return begin_loop(free.ways(self.ways), self, spec, self._graph, free.options(self.options), bound, start)

    def begin_sweep(self, spec: SweepSpec) -> ListedSweep:
        """Begin a sweep."""
        return ListedSweep(spec, self.passes, self._levels)

    def keep(self, slots: Sequence[str]) -> object:
        """A copy of some vertex arrays, in memory or in windows; None if the memory budget has no room for the copy."""
        windows, arrays = self.state.windows, self.state.arrays
        if windows is None and not has_room(sum(arrays[slot].nbytes for slot in slots),
                                            self.passes.later):
            return None
        return [arrays[slot].copy() if windows is None else windows.copy(arrays[slot]) for slot in slots]

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Return whether vertex arrays have the same bits as the copy `kept`."""
        assert isinstance(kept, list)
        return all(_same_bits(copy, self.state.arrays[slot]) for slot, copy in zip(slots, kept))

    def forget(self, kept: object) -> None:
        """Do nothing, because a copy is freed when its last reference is dropped."""

    # ------------------------------------------------------------------ checkpoints (vlang.runtime.engine.checkpoint)
    def share(self, slot: str) -> NDArray[Any]:
        """The values of a vertex array that this process saves."""
        return self.state.arrays[slot]

    def put(self, slot: str, array: NDArray[Any]) -> None:
        """Store the values of a vertex array that this process saves."""
        if self.state.windows is None:
            np.copyto(self.state.arrays[slot], array)
        else:
            self.state.windows.put(self.state.arrays[slot], array)

    @property
    def windows(self) -> Windows | None:
        """The object that keeps vertex arrays in files; None if all arrays are in memory."""
        return self.state.windows

    def scalar_bits(self) -> dict[str, int]:
        """The 64 bits of every graph-level value as an integer, in a dict by the name of the value."""
        slots = self._plan.slots
        return {name: int(self.state.frame[slots[f"scalar:{name}"]]) for name in self._plan.scalars}

    def put_scalar_bits(self, name: str, bits: int) -> None:
        """Store a graph-level value from its 64 bits."""
        self.state.frame[self._plan.slots[f"scalar:{name}"]] = bits

    def copies(self, kept: object) -> Sequence[NDArray[Any]]:
        """The arrays in a copy that `keep` returned."""
        assert isinstance(kept, list)
        return kept

    def moved(self) -> Moved:
        """The counts of the pages of a graph on disk that the run has read from disk or found in memory."""
        ring = self._ring
        if ring is None:
            return NOTHING
        return Moved(bytes_from_disk=ring.reading.nbytes, pages_cached=ring.reading.hits,
                     pages_from_disk=ring.reading.pages)

    def synchronize(self) -> None:
        """Do nothing, because a pass has ended when its call returns."""

    def values(self) -> Values:
        """The values of the output fields and of the globals."""
        outputs = [spec.name for spec in self._plan.fields if spec.output]
        if self.state.windows is not None:
            self.state.drop("work:")
        return Values({name: self.state.arrays[f"field:{name}"] for name in outputs},
                      {name: self.state.scalar(name) for name, _ in self._plan.globals},
                      {spec.name: self.state.arrays[f"edges:{spec.name}"] for spec in self._plan.states})

    def close(self) -> None:
        """Return the worker threads to the pool of idle crews."""
        self._cpu.close()


def _same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    unsigned = f"uint{8 * a.itemsize}"
    a, b = a.view(unsigned), b.view(unsigned)
    return all(np.array_equal(a[first : first + WINDOW], b[first : first + WINDOW])
               for first in range(0, len(a), WINDOW))
