"""The machine of one run of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlang.options import Options
from vlang.runtime.cpu.cpu_machine import CpuMachine
from vlang.runtime.cpu.paged.source import PageSource
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.together.group import Group, OneCpu
from vlang.runtime.cpu.together.searches import TogetherReach
from vlang.runtime.cpu.together.woven_pass import TogetherPasses
from vlang.runtime.cpu.ways.cpu_way import CpuWay
from vlang.runtime.cpu.ways.reach import Reach
from vlang.runtime.cpu.ways.ways import WAYS
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan

if TYPE_CHECKING:
    from vlang.runtime.storage.reading.ring import Ring

__all__ = ["TOGETHER_WAYS", "TogetherMachine"]

TOGETHER_WAYS: list[CpuWay] = [TogetherReach() if type(way) is Reach else way for way in WAYS]
"""The ways of loops in a group, each in the place of the way that runs the loop alone."""


class TogetherMachine(CpuMachine):
    """The machine of one run of a group.

    Args:
        plan: the program.
        graph: the graph.
        options: the options of the run.
        group: the group.
        number: the number of this run in its group.
        ring: delivers the pages of a graph whose edges are on disk, to all runs of the group; None for edges in memory.
    """

    def __init__(
        self, plan: Plan, graph: Graph, options: Options, group: Group, number: int, ring: Ring | None = None
    ) -> None:
        self._group, self._number = group, number
        super().__init__(plan, graph, options, OneCpu(group.cpu), ring)

    @property
    def ways(self) -> Sequence[CpuWay]:
        """The execution ways of loops, in order of preference."""
        return TOGETHER_WAYS

    def passes_over(self, source: PageSource, freedoms: Freedoms) -> Passes:
        """Create the object that runs passes."""
        made = TogetherPasses(self._graph, self.state, self._kernels, self._cpu, source,
                              switching=self.options.switching, freedoms=freedoms)
        made.join(self._group, self._number)
        return made
