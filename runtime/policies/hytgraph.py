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
            Choice("chooser", "gpu", "a kernel computes the formulas, and the host reads the choices (V-A)"),
            Choice("combine", "4", "up to four adjacent partitions that are copied whole form one task (V-B)"),
            Choice("page_order", "hubs", "partitions with hubs come first (VI-A)"),
            Choice("loaded", "twice", "a loaded partition is processed once more (VI-A)"),
        ),
    },
    left_out=(
        "partitions of 32 MB (V-B): pages have 8 to 16 MiB, unless `page_size` says otherwise",
        "one copy for a task (V-B): each page of a task has copies of its own, and one launch",
        "the order by delta of loops that add up (VI-A): the bits of sums must not depend on the order of pages",
        "sums that push their changes (VI-A): such loops read all pages in every superstep",
        "unified memory, which the paper itself rejects (III-C), and which is unsafe on shared machines",
    ),
    besides=(
        "edges stay on the GPU if all of them fit",
        "supersteps over so few vertices that no copy can pay run in one launch, and read in place",
        "priority order where the rules allow it (rule O)",
        "hubs in any order of the vertices; `vlang convert --layout hubs` sorts them to the front (VI-A)",
    ),
)
