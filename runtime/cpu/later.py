"""The memory that a run still needs after its loops have begun."""

from __future__ import annotations

from collections.abc import Sequence

from vlang.options import Options
from vlang.runtime.cpu.need import later_need
from vlang.runtime.cpu.ways.cpu_way import CpuWay
from vlang.runtime.engine.way import way_of
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan

__all__ = ["Later"]


class Later:
    """A function that returns the bytes that a run allocates later (see `has_room`).

    The bytes depend on the adjacencies that are built, and are computed once for each set of them.

    Args:
        plan: the program.
        graph: the graph.
        options: the options of the run.
        threads: the number of worker threads.
        ways: the execution ways of loops.
    """

    def __init__(self, plan: Plan, graph: Graph, options: Options, threads: int, ways: Sequence[CpuWay]) -> None:
        self._plan, self._graph, self._options, self._threads, self._ways = plan, graph, options, threads, ways
        self._known: dict[frozenset[str], int] = {}

    def __call__(self) -> int:
        shape = self._graph.shape()
        if shape.built not in self._known:
            self._known[shape.built] = later_need(
                self._plan, shape, self._threads, lambda loop: way_of(self._ways, loop, self._graph, self._options),
                self._options.checkpoint is not None)
        return self._known[shape.built]
