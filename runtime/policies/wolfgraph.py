"""WolfGraph: passes over blocks of the edge list in file order, with a table of receivers in shared memory."""

from __future__ import annotations

from vlang.runtime.policies.policy import Choice, Policy

__all__ = ["WOLFGRAPH"]

WOLFGRAPH = Policy(
    "wolfgraph", "WolfGraph (Zhu et al., FGCS 2019)",
    {
        "gpu": (
            Choice("mode", "pull", "every edge is processed in every iteration (2.4)", True),
            Choice("kernel", "edge-list", "blocks of the edge list straight from the file, a thread for each edge, and "
                   "a local table of vertices in shared memory (2.3, 3.2)", True),
        ),
    },
    left_out=(
        "an array with the place of each edge in its local table (3.2): a hash finds the place in each pass",
        "a mapping array from vertices to edges, which finds the successor edges of a part (4.3): the parts that are "
        "still on the GPU are processed again with the part, whole",
        "a part processed until it is stable in any case (4.2): this ends when the next part has been copied",
    ),
    besides=(
        "an accumulator for each vertex and a pass over vertices, which run any program, and not only minima (3.4)",
        "degrees counted on the GPU where a program reads them",
        "searches with a uniform frontier (rule X2) run superstep by superstep",
    ),
)
