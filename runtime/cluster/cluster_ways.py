"""The execution ways of loops on a rank.

A rank runs all loops as supersteps, because the other execution ways of a CPU need the whole graph.
"""

from __future__ import annotations

from vlang.runtime.cluster.cluster_passes import ClusterPasses
from vlang.runtime.cluster.rank_components import RankComponents
from vlang.runtime.cluster.rank_priority import RankPriority, combined_apart
from vlang.runtime.cluster.rank_reach import RankReach
from vlang.runtime.cpu.ways.cpu_way import CpuWay
from vlang.runtime.cpu.ways.superstep import Superstep, Supersteps
from vlang.runtime.engine.machine import Stats
from vlang.runtime.plan.plan import LoopSpec, StageSpec

__all__ = ["CLUSTER_WAYS", "said_on_ranks"]


class _RankSuperstep(Superstep):
    """A superstep on one rank. The counts of the superstep are summed over all ranks."""

    def _thin_supersteps(self) -> None:
        """Return None, because ranks exchange values after each superstep."""

    def _most_changed(self) -> bool:
        """Return False: a rank knows only the changes of its own vertices, but all ranks must make the same choice."""
        return False

    def _pass(self, stage: StageSpec) -> tuple[str, Stats, int]:
        way, stats, edges = super()._pass(stage)
        assert isinstance(self._passes, ClusterPasses)
        skipping = self._skipping.get(stage.name)
        asked = skipping is not None and self._mode in ("auto", "dual") and len(self._spec.stages) == 1
        flags = skipping.flags if skipping is not None and asked else None
        return way, *self._passes.agreed(stage, way, stats, edges, flags)


class RankSupersteps(Supersteps):
    """Runs loops in supersteps of full passes and notify-pull, on all ranks together."""

    @property
    def running(self) -> type[Superstep]:
        """The class that runs the loop."""
        return _RankSuperstep


CLUSTER_WAYS: list[CpuWay] = [RankComponents(), RankPriority(), RankReach(), RankSupersteps()]
"""The ways in order of preference."""


def said_on_ranks(loop: LoopSpec) -> list[str]:
    """Return one line for a loop that runs in another way on several ranks than in one process, and no lines for other
    loops.
    """
    if loop.nested or loop.copied is not None:
        return []
    ways = {way for stage in loop.stages for way in stage.ways}
    if "sums" in ways:
        why = "a rank does not have all receivers of a sum"
    elif "push" in ways and not ways & {"reach", "priority"}:
        why = "only values in priority order are pushed there"
    elif "priority" in ways and any(combined_apart(stage) for stage in loop.stages):
        why = "contributions are combined beside the fields, which ranks exchange"
    else:
        return []
    return [f"on several ranks: full passes or notify-pull, without pushes ({why})"]
