"""WolfGraph: edge blocks whose vertices are in shared memory, without replicas."""

from __future__ import annotations

from vlang.runtime.plan.plan import Plan
from vlang.runtime.policies.policy import Choice, Policy, shards_only

__all__ = ["WOLFGRAPH"]


class _WolfGraph(Policy):
    def refused(self, plan: Plan, device: str) -> str:
        """See `Policy.refused`. Every pass must join contributions by atomic operations in shared memory."""
        return shards_only(plan)


WOLFGRAPH = _WolfGraph(
    "wolfgraph", "WolfGraph (Zhu et al., FGCS 2019)",
    {
        "gpu": (
            Choice("mode", "pull", "every edge is processed in every iteration (2.4)", True),
            Choice("kernel", "edge", "a thread for each edge, and a local table of vertices in shared memory (3.2)",
                   True),
            Choice("replication", "none", "the table has one value a vertex (3.2)"),
            Choice("transfer", "pages", "a graph larger than GPU memory is processed part by part (4.1)"),
        ),
    },
    left_out=(
        "edge blocks straight from the file (2.3, 3.2): edges are sorted by receiver first, so the claim of the paper, "
        "the time from file to answer, is not shown",
        "a second kernel that joins local tables into the global one (3.4): receivers of a block are its own",
        "a part processed again and again until it is stable (4.2)",
        "concatenated edge lists (4.3)",
    ),
    besides=("long vertices are cut into segments and reduced outside of blocks",),
)
