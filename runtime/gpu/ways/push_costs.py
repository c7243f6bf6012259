"""The costs by which a loop that pushes on a GPU chooses the mode of a superstep."""

from __future__ import annotations

from dataclasses import dataclass

from vlang.runtime.gpu.device.device import DeviceInfo
from vlang.runtime.gpu.kernels.sparse_layout import CLUSTER, CLUSTER_THREADS, WALKING, traverse_bytes
from vlang.runtime.gpu.passes.rates import REFERENCE, Rates
from vlang.runtime.plan.plan import StageSpec

__all__ = ["ON_H200", "Costs", "few_bytes", "keeps_queues", "kept_entries"]


@dataclass(frozen=True)
class Costs:
    """Relative costs of edges and vertices, tuned on an H200, and the rule that chooses the mode of a superstep.

    Attributes:
        push: the cost of an edge along which a vertex pushes.
        pull: the cost of an edge that an unreached vertex reads with early exit.
        scan: the cost of testing whether a vertex is final.
        full: the cost of an edge in a full pass.
        rule: "cost", "beamer" (Beamer, Asanovic, Patterson, SC'12: alpha 14, beta 24), "push" or "pull".
        solo: the maximum number of queue entries that one block processes alone with queues in global memory.
        held: the maximum number of queue entries that one block processes alone with queues in shared memory.
        few: the maximum number of queue entries that one cluster of blocks processes.
    """

    push: int = 12_000
    pull: int = 10_000
    scan: int = 3_000
    full: int = 9_000
    rule: str = "cost"
    solo: int = 512  # with more entries, one block takes longer than barriers of the whole grid
    held: int = 512  # with more entries, one multiprocessor takes longer than the whole grid
    few: int = 4096  # for each block of the cluster about as many as `held`

    def on(self, rates: Rates) -> Costs:
        """Return the costs on a device with these rates.

        Each cost is scaled by the times of the memory accesses that it includes.
        """
        gather = rates.gather / REFERENCE.gather
        pushed = (rates.gather + rates.atomic) / (REFERENCE.gather + REFERENCE.atomic)
        stream, barrier = rates.stream / REFERENCE.stream, rates.barrier / REFERENCE.barrier
        return Costs(_scaled(self.push, pushed), _scaled(self.pull, gather), _scaled(self.scan, stream),
                     _scaled(self.full, gather), self.rule, _scaled(self.solo, barrier),
                     self.held, self.few)


def _scaled(cost: int, factor: float) -> int:
    return max(1, round(cost * factor))


ON_H200 = Costs()


def few_bytes(few: int) -> int:
    """Return the bytes of shared memory of a block of `traverse_few`, which has room for twice its part of entries."""
    return traverse_bytes(CLUSTER_THREADS, 2 * few // CLUSTER)


def keeps_queues(stage: StageSpec, priority: int) -> bool:
    """Return whether a block, or a cluster, can run supersteps of a pass with its queue in shared memory."""
    return stage.gpu is not None and stage.gpu.push == "direct" and not priority and "messages" not in stage.kernels


def kept_entries(costs: Costs, info: DeviceInfo, single: bool) -> tuple[int, int]:
    """Return how many queue entries a cluster keeps in shared memory, and how many one block; one of them is 0.

    A cluster processes edges in a `single` page only.
    """
    if single and costs.few and info.clusters and few_bytes(costs.few) <= info.shared:
        return costs.few, 0
    return 0, costs.held if traverse_bytes(WALKING, costs.held) <= info.shared else 0
