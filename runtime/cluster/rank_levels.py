"""Sweeps over levels on several ranks: every rank runs each level over its own vertices of that level.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cluster.cluster_passes import ClusterPasses
from vlang.runtime.cluster.transports.transport import gathered, summed
from vlang.runtime.cpu.passes.levels import LastLevels, Levels, ListedSweep
from vlang.runtime.plan.plan import StageSpec

__all__ = ["RankSweep"]


class RankSweep(ListedSweep):
    """A sweep over the levels that have vertices on any rank; a `vlang.runtime.engine.machine.Sweep`."""

    def found(self, values: NDArray[Any], chosen: NDArray[np.bool_], last: LastLevels | None) -> LastLevels:
        """Return the levels of the values that occur on any rank. Each level lists only vertices of this rank."""
        passes = self._passes
        assert isinstance(passes, ClusterPasses)
        chosen = chosen.copy()
        chosen[: passes.numbers.low] = chosen[passes.numbers.high :] = False
        made = LastLevels.of(values, chosen, None, passes.cpu)
        own = made.levels
        every = np.unique(np.concatenate(gathered(passes.transport, own.values, "levels of a sweep")))
        starts = _starts(own, every)
        return LastLevels(made.values, chosen, Levels(every, own.order, starts))

    def run_pass(self, stage: StageSpec, level: int) -> int:
        """Run a pass over the vertices of a level; returns the number of edges that all ranks traversed."""
        assert isinstance(self._passes, ClusterPasses)
        return summed(self._passes.transport, [super().run_pass(stage, level)], f"pass {stage.name} of a level")[0]


def _starts(own: Levels, every: NDArray[Any]) -> NDArray[np.int64]:
    """For each level, the index of its first vertex in the order of this rank; the last entry is the end; int64[k + 1].
    """
    begins = own.starts[np.searchsorted(own.values, every)]
    return np.append(begins, own.starts[-1]).astype(np.int64)
