"""The ways in which a rank runs a loop.

The other ways of a CPU need the whole graph, so a rank runs the loops of these ways in supersteps.
"""

from __future__ import annotations

from vlang.runtime.cluster.cluster_passes import ClusterPasses
from vlang.runtime.cluster.rank_components import RankComponents
from vlang.runtime.cluster.rank_priority import RankPriority
from vlang.runtime.cluster.rank_reach import RankReach
from vlang.runtime.cpu.ways.cpu_way import CpuWay
from vlang.runtime.cpu.ways.superstep import Superstep, Supersteps
from vlang.runtime.engine.machine import Stats
from vlang.runtime.plan.plan import StageSpec

__all__ = ["CLUSTER_WAYS"]


class _RankSuperstep(Superstep):
    """A superstep on one rank, whose counts are summed over all ranks."""

    def _most_changed(self) -> bool:
        """False: each rank knows only how many of its own vertices changed, but all ranks must make the same choice."""
        return False

    def _pass(self, stage: StageSpec) -> tuple[str, Stats, int]:
        way, stats, edges = super()._pass(stage)
        assert isinstance(self._passes, ClusterPasses)
        return way, *self._passes.agreed(stage, way, stats, edges)


class RankSupersteps(Supersteps):
    """Runs loops in supersteps of full passes and notify-pull, on all ranks together."""

    @property
    def running(self) -> type[Superstep]:
        """The class that runs the loop."""
        return _RankSuperstep


CLUSTER_WAYS: list[CpuWay] = [RankComponents(), RankPriority(), RankReach(), RankSupersteps()]
"""The ways in order of preference."""
