"""HyTGraph: for each partition and superstep, the cheapest way to move the edges of active vertices to the GPU."""

from __future__ import annotations

from vlang.runtime.policies.policy import Choice, Policy

__all__ = ["HYTGRAPH"]

HYTGRAPH = Policy(
    "hytgraph", "HyTGraph (Wang et al., ICDE 2023)",
    {
        "gpu": (
            Choice("mode", "push", "active vertices update their neighbours along out-edges (II-A)"),
            Choice("transfer", "auto", "for each partition whole pages, rows gathered by the CPU, or reads in place "
                   "(V-A)"),
            Choice("switching", "published", "its formulas 1 to 3, with alpha 0.8, beta 0.4 and gamma 0.625 (V-A)"),
        ),
    },
    left_out=(
        "whole partitions combined by four (V-B), and partitions of 32 MB: pages have 8 to 16 MiB",
        "the choice made on the GPU (V-A): the host chooses from counts that the GPU made",
        "priority of hubs and of large changes (VI-A); `vlang convert --layout hubs` sorts hubs to the front",
        "a second round on loaded partitions (VI-A)",
        "sums that push their changes (VI-A): such loops read all pages in every superstep",
        "unified memory, which the paper itself rejects (III-C), and which is unsafe on shared machines",
    ),
    besides=(
        "edges stay on the GPU if all of them fit",
        "supersteps over so few vertices that no copy can pay run in one launch, and read in place",
        "priority order where the rules allow it (rule O)",
    ),
)
