"""The CPU as the second device of a pass: pulls the rows of some vertices into arrays in host memory."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from vlang.options import Options
from vlang.runtime.cpu.cpu_machine import CpuMachine
from vlang.runtime.cpu.paged.source import PageSource
from vlang.runtime.cpu.paged.work import Tasks
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.engine.machine import Stats
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.pages import Pages, row_tasks, segment_tasks, vertex_tasks
from vlang.runtime.plan.plan import SEGMENT, SLOT_LISTED, SLOT_STATS, Plan, StageSpec
from vlang.runtime.threads.processors import available_threads

__all__ = ["RowPasses", "RowsMachine"]

_TASKS = 8  # for each thread, so that the threads end at about the same time
_LEAST_COST = 2048  # edges and vertices of a task at least
_LONGS = 64  # long vertices of a task


class RowPasses(Passes):
    """Passes over a range of vertices."""

    def pull(self, stage: StageSpec, low: int, high: int) -> Stats:
        """Run a pass over the vertices `low` to `high` - 1; returns its counts. The messages must be up to date."""
        assert stage.domain is not None
        pages = self.pages_of(stage.domain)
        assert isinstance(pages, Pages)
        self.state.words[SLOT_LISTED] = 0
        self._stats.fill(0)
        self.state.point(SLOT_STATS, self._stats)
        self.aim(stage, pages)
        tasks, segments, longs = self._cut(pages, stage.domain, low, high)
        self._by_page(stage, stage.kernels["pull"], tasks, segments, _cost(pages, low, high))
        self._launch(stage.kernels["finish"], longs, len(longs), len(longs) * _LONGS)
        return Stats(*self._stats[:2].tolist())

    def _cut(self, pages: Pages, kind: str, low: int, high: int) -> tuple[Tasks, Tasks, Tasks]:
        """Return the tasks over short vertices, over segments and over long vertices of a range."""
        known = self._known.get((kind, low, high))
        if known is None:
            cost = max(_LEAST_COST, _cost(pages, low, high) // (_TASKS * self.cpu.threads))
            first, end = np.searchsorted(pages.longs[:, 0], (low, high)).tolist()
            begin, stop = (int(pages.longs[first, 1]), int(pages.longs[end - 1, 2])) if first < end else (0, 0)
            segments = segment_tasks(pages.segment_pages[begin:stop], max(1, cost // SEGMENT))
            segments += np.array([0, begin, begin])
            longs = vertex_tasks(end - first, _LONGS)
            longs += np.array([0, first, first])
            known = self._known[kind, low, high] = row_tasks(pages, low, high, cost), segments, longs
        return known

    def __post_init__(self) -> None:
        super().__post_init__()
        self._known: dict[tuple[str, int, int], tuple[Tasks, Tasks, Tasks]] = {}


def _cost(pages: Pages, low: int, high: int) -> int:
    offsets = pages.adjacency.offsets
    return int(offsets[high] - offsets[low]) + high - low


class RowsMachine(CpuMachine):
    """The arrays and kernels of a plan on the CPU. A GPU run uses this machine to run some passes over a part of the
    vertices.

    Args:
        plan: the program, for the CPU.
        graph: a graph in memory.
        options: the options of the run on the GPU.
        wanted: the passes that this machine runs.
    """

    def __init__(self, plan: Plan, graph: Graph, options: Options, wanted: Collection[str]) -> None:
        self._wanted = wanted
        threads = options.threads or max(1, available_threads() - 1)  # one thread queues the work of the GPU
        super().__init__(plan, graph, Options(threads=threads, mode="pull", blocking="never"))

    @property
    def rows(self) -> RowPasses:
        """The passes that this machine runs."""
        assert isinstance(self.passes, RowPasses)
        return self.passes

    def passes_over(self, source: PageSource, freedoms: Freedoms) -> Passes:
        """See `CpuMachine.passes_over`."""
        return RowPasses(self._graph, self.state, self._kernels, self._cpu, source, freedoms=freedoms)

    def _prepare(self, segmented: set[str]) -> None:
        """Load the kernels of the passes that this machine runs."""
        stages = [stage for stage in self._plan.stages if stage.name in self._wanted]
        names = [stage.kernels["pull"] for stage in stages]
        names += [stage.kernels[role] for stage in stages for role in ("segments", "finish")
                  if stage.domain in segmented]
        self._kernels.prepare(names)
