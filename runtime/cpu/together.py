"""Runs of one program on one graph that share their reads of the edges: sums over neighbours, side by side.

Every run is an ordinary run in a thread of its own, and only one of these threads runs at a time. At a pass that adds
up one value per edge (`TogetherSpec`), the runs wait for one another. When all runs wait, one traversal of the edges
computes the sums of all runs: the values of all runs at one vertex lie in one cache line, and one vector instruction
adds them to the sums. For each run, the same values are added in the same order as when it runs alone, and the run then
continues with its own kernels. Therefore the result of a run has the same bits as if the run were alone.

The method follows the multi-source traversals of Then et al. (The more the merrier: efficient multi-source graph
traversal, PVLDB 8, 2014), and the products of sparse matrices with blocks of vectors. The runs proceed in lock step,
with barriers between supersteps.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import VlangError
from vlang.options import Options
from vlang.runtime.cpu.cpu_machine import CpuMachine
from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.cpu.paged.source import PageSource
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.passes.traced import traced
from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.pages import vertex_tasks
from vlang.runtime.kernels import together_kernels
from vlang.runtime.plan.layouts.together_words import WIDTH
from vlang.runtime.plan.plan import BLOCK, SLOT_LISTED, SLOT_STATS, Plan, StageSpec
from vlang.runtime.plan.together_spec import TogetherSpec
from vlang.runtime.storage.memory import empty, zeros

__all__ = ["LEAST", "Abandoned", "Group", "TogetherMachine"]

LEAST = 6
"""Runs below which a pass is not shared: a row of WIDTH values costs about as much as four values by themselves."""


class Abandoned(VlangError):
    """Raised in the threads of a group that is abandoned."""


class Group:
    """Runs that take turns, and meet at the passes that they share.

    Args:
        graph: the graph of all runs, in memory.
        runs: the number of runs, at most WIDTH.
        threads: the number of worker threads of kernels, which all runs use one after the other; None for all
            processors.
    """

    def __init__(self, graph: Graph, runs: int, threads: int | None) -> None:
        self.cpu = _SharedCpu(threads)
        self.shared = 0  # traversals of the edges that computed the sums of several runs
        self._graph, self._stopped = graph, False
        self._alive = list(range(runs))
        self._doors = [allocate_lock() for _ in range(runs)]  # a run waits at its door, which is open in its turn
        for door in self._doors[1:]:
            door.acquire()
        self._waiting: dict[int, tuple[TogetherPasses, StageSpec]] = {}
        self._woven: dict[str, NDArray[Any]] = {}

    @property
    def many(self) -> bool:
        """Whether the runs that have not ended are enough to share passes."""
        return len(self._alive) >= LEAST

    def run(self, number: int, work: Callable[[], Any]) -> Any:
        """Call `work` in the thread of a run, which computes only in its turns; returns the result."""
        try:
            self._enter(number)
            return work()
        finally:
            self._alive.remove(number)
            if self._alive and not self._stopped:
                self._doors[self._next(number)].release()

    def stop(self) -> None:
        """Let every run that has not ended end with an error at its next turn."""
        self._stopped = True
        for door in self._doors:
            with suppress(RuntimeError):  # the door is open
                door.release()

    def meet(self, number: int, passes: TogetherPasses, stage: StageSpec) -> None:
        """Wait until every other run has ended or waits, and until the sums of this run are computed."""
        self._waiting[number] = passes, stage
        following = self._next(number)
        if following != number:
            self._doors[following].release()
            self._enter(number)

    def _enter(self, number: int) -> None:
        """Wait for a turn."""
        self._doors[number].acquire()
        if self._stopped:
            raise Abandoned("another run of the group was interrupted")

    def _next(self, number: int) -> int:
        """The run that has the turn after run `number`. If all runs wait at a shared pass, the sums of the pass are
        computed first.
        """
        if self._stopped:
            raise Abandoned("another run of the group was interrupted")
        if len(self._waiting) == len(self._alive):
            try:
                self._gather_all(list(self._waiting.values()))
            except BaseException:
                self.stop()
                raise
            self._waiting.clear()
        ready = [other for other in self._alive if other not in self._waiting]
        return next((other for other in ready if other >= number), ready[0])

    def _gather_all(self, met: Sequence[tuple[TogetherPasses, StageSpec]]) -> None:
        """Compute the sums of all waiting runs, one pass after another."""
        for name in dict.fromkeys(stage.name for _, stage in met):
            alike = [one for one in met if one[1].name == name]
            self._gather([passes for passes, _ in alike], alike[0][1])

    def _gather(self, runs: Sequence[TogetherPasses], stage: StageSpec) -> None:
        """Compute the sums of a pass for several runs, in one traversal of the edges."""
        spec = stage.way("together", TogetherSpec)
        assert spec is not None
        assert stage.domain is not None
        kernels, n, first = together_kernels(spec.dtype), self._graph.n, runs[0]
        woven = self._woven.get(spec.dtype)
        if woven is None:
            woven = self._woven[spec.dtype] = zeros(n * WIDTH, DTYPES[spec.dtype])
        values = _addresses([passes.state.arrays[spec.values] for passes in runs])
        sums = _addresses([passes.state.arrays[spec.sums] for passes in runs])
        whole = vertex_tasks(n, 4 * BLOCK)
        launch, count = self.cpu.launch, len(runs)
        launch(kernels[f"weave_{spec.dtype}"], (values, count, woven), whole, len(whole), n * count)
        pages = first.pages_of(stage.domain)
        table, cost = first.page_table(stage), count * (pages.edges + n)
        launch(kernels[f"rows_{spec.dtype}"], (table, woven, sums, count), pages.tasks, len(pages.tasks), cost)
        launch(kernels[f"segments_{spec.dtype}"], (table, pages.segments, n, woven, sums, count), pages.segment_tasks,
               len(pages.segment_tasks), cost)
        longs = vertex_tasks(len(pages.longs), 64)
        launch(kernels[f"joined_{spec.dtype}"], (pages.longs, n, sums, count), longs, len(longs),
               count * len(pages.segments))
        self.shared += 1


class _SharedCpu(Cpu):
    """A `Cpu` that all runs of a group share, and that only the group closes."""

    def close(self) -> None:
        """Does nothing, because other runs still use the threads."""

    def end(self) -> None:
        """Return the crew to the idle crews."""
        super().close()


class _OneCpu(Freedoms):
    """The choices of a run that launches kernels on the `Cpu` of its group."""

    def __init__(self, cpu: Cpu) -> None:
        self._cpu = cpu

    def cpu(self, threads: int | None) -> Cpu:
        """The `Cpu` of the group."""
        return self._cpu


class TogetherMachine(CpuMachine):
    """The machine of one run of a group.

    Args:
        plan: the program.
        graph: the graph, in memory.
        options: the options of the run.
        group: the group.
        number: the number of this run in its group.
    """

    def __init__(self, plan: Plan, graph: Graph, options: Options, group: Group, number: int) -> None:
        self._group, self._number = group, number
        super().__init__(plan, graph, options, _OneCpu(group.cpu))

    def passes_over(self, source: PageSource, freedoms: Freedoms) -> Passes:
        """Create the object that runs passes."""
        made = TogetherPasses(self._graph, self.state, self._kernels, self._cpu, source,
                              switching=self.options.switching, freedoms=freedoms)
        made.join(self._group, self._number)
        return made


class TogetherPasses(Passes):
    """The passes of one run of a group."""

    def join(self, group: Group, number: int) -> None:
        """Share passes with a group from now on, as run `number` of the group."""
        self._group, self._number = group, number

    def page_table(self, stage: StageSpec) -> NDArray[np.uint64]:
        """The page table of a stage."""
        return self._table(stage)

    @traced("full")
    def full(self, stage: StageSpec, fused: bool = False) -> tuple[Stats, int]:
        """Run a stage over all vertices. If the sums of the stage may be shared, the group computes them."""
        spec = stage.way("together", TogetherSpec)
        if spec is None or stage.domain is None or not self._group.many:
            return super().full(stage, fused)
        self.state.frame[SLOT_LISTED] = 0
        self._stats[:] = 0
        self.state.point(SLOT_STATS, self._stats)
        self.send_all(stage)
        ahead = fused and stage.fused is not None
        if ahead:
            self.ahead.aim(stage, False)
        else:
            self.ahead.clear()
        counted = self._counted(self._summed(stage, spec, stage.domain))
        if ahead:
            self.run_fused(stage, self.ahead.frame)
            self.ahead.arrived(stage, False)
        return counted

    def _summed(self, stage: StageSpec, spec: TogetherSpec, domain: str) -> int:
        """Run the rest of a stage at every vertex, with the sums that the group has computed; returns the number of
        edges traversed.
        """
        pages = self.pages_of(domain)
        size = self.graph.n + len(pages.segments)
        if len(self.state.arrays[spec.sums]) != size:  # the sums of the vertices come before those of segments
            self.state.put(spec.sums, empty(size, np.dtype(np.float64)))
        self._group.meet(self._number, self, stage)
        self._launch(stage.kernels["summed"], self._by_vertex, len(self._by_vertex), self.graph.n)
        return pages.edges


def _addresses(arrays: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    return np.array([array.ctypes.data for array in arrays], np.uint64)
