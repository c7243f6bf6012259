"""Runs on the processors of the host: state in host memory, kernels in threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.compile.objects import load_kernels
from vlang.runtime.cpu.passes.levels import LastLevels, ListedSweep
from vlang.runtime.cpu.passes.passes import Passes, pages_of
from vlang.runtime.cpu.ways.choose_order import check_order, check_target, choose_order
from vlang.runtime.cpu.ways.components import connect_loop, prepare_connect
from vlang.runtime.cpu.ways.priority import PriorityLoop
from vlang.runtime.cpu.ways.push import PushLoop, push_stage
from vlang.runtime.cpu.ways.reach import ReachLoop
from vlang.runtime.cpu.ways.sums import sum_stage
from vlang.runtime.cpu.ways.superstep import Superstep
from vlang.runtime.engine.machine import Loop, Start, Stats, Values
from vlang.runtime.engine.state import State
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.pages import DEFAULT_PAGE_SIZE
from vlang.runtime.kernels import FIRST_NEEDED, frontier_kernels, queue_kernels
from vlang.runtime.plan.plan import BLOCK, LoopSpec, Plan, ScalarSpec, StageSpec, SweepSpec, every_step
from vlang.runtime.threads.launch import Cpu

__all__ = ["CpuMachine", "prepare_all"]

_DEGREES = (("in", "in_degree"), ("out", "out_degree"), ("all", "degree"))


def prepare_all(plan: Plan) -> None:
    """Compile, or load from disk, all that runs on a CPU may need of a plan, whatever their graphs and options."""
    kernels = load_kernels(plan.text, plan.exports)
    kernels.prepare(name for name in kernels if name != "scalars" or plan.values)
    if any(isinstance(step, SweepSpec) or (isinstance(step, LoopSpec) and step.skip)
           for step in every_step(plan.steps)):
        frontier_kernels().prepare(frontier_kernels())
    if any("push" in stage.kernels for loop in plan.loops if (stage := push_stage(loop)) is not None):
        queue_kernels().prepare(queue_kernels())
    prepare_connect(plan, None, Options())


class CpuMachine:
    """A machine (see vlang.runtime.engine.machine) of threads. Compiles, or loads from disk, what a run is sure to
    need; other kernels when they are first launched."""

    def __init__(self, plan: Plan, graph: Graph, options: Options) -> None:
        self._plan, self._graph, self._options = plan, graph, options
        check_order(plan, graph, options)
        check_target(plan, graph, options)
        self._kernels = load_kernels(plan.text, plan.exports)
        domains = {stage.domain for stage in plan.stages if stage.domain}
        size = options.page_size or DEFAULT_PAGE_SIZE
        pages = {kind: pages_of(graph, kind, size) for kind in sorted(domains)}
        self.state = State(plan, graph.n, {kind: len(p.segments) for kind, p in pages.items()})
        for kind, attribute in _DEGREES:
            if f"degree:{kind}" in plan.slots:
                self.state.put(f"degree:{kind}", getattr(graph, attribute))
        if "near:starts" in plan.slots:
            near = graph.neighbours()
            self.state.put("near:starts", near.offsets)
            self.state.put("near:neighbours", near.targets)
        if "ids:base" in plan.slots:
            base, listed = graph.ids.numbers
            self.state.frame[plan.slots["ids:base"]] = base
            if listed is not None:
                self.state.put("ids:list", listed)
                self.state.frame[plan.slots["ids:listed"]] = 1
        self._prepare({kind for kind, p in pages.items() if len(p.longs)})
        self._cpu = Cpu(options.threads)
        self._cpu.prepare(graph.n + graph.m)
        self._stats = Stats()
        self._levels: dict[str, LastLevels] = {}
        self.passes = Passes(graph, self.state, self._kernels, self._cpu, size, pages, switching=options.switching)

    def _prepare(self, segmented: set[str]) -> None:
        """Load kernels before the clock of the run starts. segmented: orientations in which vertices are cut."""
        plan, mode = self._plan, self._options.mode
        connected = prepare_connect(plan, self._graph, self._options)
        roles = {stage.name: {"messages", "compute", "pull", "followed"} for stage in plan.stages}
        for stage in plan.stages:
            if stage.domain in segmented:
                roles[stage.name] |= {"segments", "finish"}
        instead: set[str] = set()  # what follows passes stands for these
        for loop in plan.loops:
            if choose_order(loop, self._graph, self._options).stage is not None:
                roles[loop.stages[0].name] = {"priority"}
            elif self._may_push(loop):
                roles[loop.stages[0].name] = {"push", "begin", "few", "start", "narrow"}
            elif loop.skip and mode != "pull":
                frontier_kernels().prepare(FIRST_NEEDED)
                if sum_stage(loop, mode, self._options.blocking) is not None:
                    roles[loop.stages[0].name] |= {"sums"}
            elif not self._options.asynchronous:
                instead |= {kernel for stage in loop.stages if stage.follow for kernel in stage.follow.kernels}
        names = [kernel for stage in plan.stages if stage.name not in connected
                 for role, kernel in stage.kernels.items() if role in roles[stage.name]]
        names += [spec.fold.kernel for spec in plan.values if spec.fold is not None]
        needed = [name for name in names if name not in instead]
        self._kernels.prepare([*needed, "scalars"] if plan.values else needed)

    def _may_push(self, spec: LoopSpec) -> bool:
        """Whether a loop, unless it runs in place or by components, goes along the edges of active vertices only."""
        options = self._options
        pushed = options.mode == "push" or (options.mode == "auto" and options.blocking != "always")
        return pushed and not (options.asynchronous and spec.asynchronous) and push_stage(spec) is not None

    def set_scalar(self, name: str, value: bool | int | float) -> None:
        """Store a graph-level value."""
        self.state.set_scalar(name, value)

    def scalar(self, name: str) -> Any:
        """A graph-level value."""
        return self.state.scalar(name)

    def give(self, field: str, array: NDArray[Any]) -> None:
        """The values of a vertex field."""
        self.state.arrays[f"field:{field}"][:] = array

    def array(self, slot: str) -> NDArray[Any]:
        """A vertex array."""
        return self.state.arrays[slot]

    def others(self, slot: str, value: int) -> int:
        """How many entries of a vertex array are not `value`."""
        return int(np.count_nonzero(self.state.arrays[slot] != value))

    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute a graph-level value."""
        if spec.fold is not None:
            self.passes.fold(spec.fold)
        self._kernels["scalars"](self.state.frame, spec.index, -(-self._graph.n // BLOCK))

    def run_pass(self, stage: StageSpec) -> int:
        """Run a pass over all vertices; the edges traversed."""
        stats, edges = self.passes.full(stage)
        for name in stage.swaps:
            self.state.swap(name)
        if stage.loop_end:
            self._stats = stats
        return edges

    def counted(self) -> Stats:
        """What the last pass that decides activity counted."""
        return self._stats

    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array over another."""
        np.copyto(self.state.arrays[slot], self.state.arrays[source])

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of a vertex array."""
        self.state.arrays[slot].view(np.uint8)[:] = byte

    def loop(self, spec: LoopSpec, bound: int | None, start: Start | None = None) -> Loop:
        """Begin a loop."""
        options = self._options
        heard = None if start is None else start.heard
        connected = None if heard is not None else \
            connect_loop(spec, self._graph, self.state, self._cpu, options, bound)
        if connected is not None:
            return connected
        sent = heard is None or not (heard & 2).any()  # what active vertices send is all that is new
        ordered = choose_order(spec, self._graph, options).stage
        if ordered is not None and sent and bound is None:
            return PriorityLoop(ordered, self.passes, heard, options.target)
        if self._may_push(spec) and sent:
            if "early" in spec.stages[0].kernels:  # not where fields are given, so this loop begins here
                return ReachLoop(spec.stages[0], self.passes, options.mode == "auto")
            return PushLoop(spec, self.passes, options.blocking, bound, options.mode == "auto", heard)
        in_place = options.asynchronous and spec.asynchronous
        loop = Superstep(spec, self.passes, self.evaluate, options.mode, options.blocking, bound, in_place)
        if start is not None:
            loop.go_on(start)
        return loop

    def begin_sweep(self, spec: SweepSpec) -> ListedSweep:
        """Begin a sweep."""
        return ListedSweep(spec, self.passes, self._levels)

    def keep(self, slots: Sequence[str]) -> object:
        """A copy of vertex arrays."""
        return [self.state.arrays[slot].copy() for slot in slots]

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Whether vertex arrays have the same bits as a copy."""
        assert isinstance(kept, list)
        return all(_same_bits(copy, self.state.arrays[slot]) for slot, copy in zip(slots, kept))

    def forget(self, kept: object) -> None:
        """A copy goes when nobody refers to it."""

    def settle(self) -> None:
        """Passes return when they are done."""

    def values(self) -> Values:
        """The results."""
        outputs = [spec.name for spec in self._plan.fields if spec.output]
        return Values({name: self.state.arrays[f"field:{name}"] for name in outputs},
                      {name: self.state.scalar(name) for name, _ in self._plan.globals})

    def close(self) -> None:
        """Let the threads go."""
        self._cpu.close()


def _same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    unsigned = f"uint{8 * a.itemsize}"
    return np.array_equal(a.view(unsigned), b.view(unsigned))
