"""Garaph: shards with replicated accumulators on a GPU, pull and notify-pull over edge-balanced parts on a CPU."""

from __future__ import annotations

from vlang.runtime.plan.plan import Plan
from vlang.runtime.policies.policy import Choice, Policy, joins_only, shards_only

__all__ = ["GARAPH"]


class _Garaph(Policy):
    def refused(self, plan: Plan, device: str) -> str:
        """See `Policy.refused`. On a GPU every pass must join contributions by atomic operations in shared memory."""
        return shards_only(plan) if device == "gpu" else joins_only(plan)


GARAPH = _Garaph(
    "garaph", "Garaph (Ma et al., USENIX ATC 2017)",
    {
        "gpu": (
            Choice("mode", "pull", "a GPU only pulls, as notification reads memory without order (2.2)", True),
            Choice("kernel", "edge", "a block for each shard, whose accumulators are in shared memory (3.1)", True),
            Choice("replication", "garaph", "R = 2^min(round(log2 E/V), 5) for each shard (3.2, equation 2)"),
            Choice("transfer", "pages", "shards are copied in batches, as whole pages (2.1)"),
            Choice("dispatch", "alpha", "one deque of pages for GPU and CPU, by measured times (5.1)"),
        ),
        "cpu": (
            Choice("mode", "dual", "pull or notify-pull by the share of edges that leave active vertices (4.2)", True),
            Choice("switching", "published", "notify-pull if that share is at most 1/2, or 1/2k from disk (4.2)"),
            Choice("blocking", "never", "edges are read in the order of their receivers (4.1)"),
        ),
    },
    left_out=(
        "supersteps over few active vertices on the CPU alone, by notify-pull (5.1): both devices pull in all of them",
        "pages of 1/N of GPU memory for N streams (2.1): pages have 8 to 16 MiB",
        "a hash that chooses the disk of a page (2.2): page k of a file on D disks is on disk k mod D",
        "asynchronous execution of loops that add up (2.2): only loops under rule A run in place",
    ),
    besides=(
        "long vertices are cut into segments and reduced outside of shards",
        "edges stay on the GPU if all of them fit, and the CPU then takes no pages",
        "one split for the run where floats are added",
    ),
)
