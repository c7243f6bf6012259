"""HyTGraph: for each partition and superstep, the cheapest way to move the edges of active vertices to the GPU."""

from __future__ import annotations

from vlang.runtime.policies.policy import Choice, Policy

__all__ = ["HYTGRAPH"]

HYTGRAPH = Policy(
    "hytgraph", "HyTGraph (Wang et al., ICDE 2023)",
    {
        "gpu": (
            Choice("mode", "push", "active vertices update their neighbours along out-edges (II-A)"),
            Choice("transfer", "auto", "for each partition whole pages or reads in place, whichever is cheaper (V-A)"),
        ),
    },
    left_out=(
        "compaction of active rows by the CPU (V-A, formula 2)",
        "its formulas 1 and 3 (V-A): the choice is by costs measured on this device",
        "task combining of whole partitions (V-B), and partitions of 32 MB: pages have 4 to 64 MiB",
        "the choice made on the GPU (V-A): the host chooses from counts that the GPU made",
        "hub sorting, and priority of hubs and of large changes (VI-A)",
        "a second round on loaded partitions (VI-A)",
        "sums that push their changes (VI-A): such loops read all pages in every superstep",
        "unified memory, which the paper itself rejects (III-C), and which is unsafe on shared machines",
    ),
    besides=("edges stay on the GPU if all of them fit", "priority order where the rules allow it (rule O)"),
)
