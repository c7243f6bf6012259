"""GTS: state on the GPU, and the topology streamed to the GPU page by page through a cache of pages."""

from __future__ import annotations

from vlang.runtime.policies.policy import Choice, Policy

__all__ = ["GTS"]

GTS = Policy(
    "gts", "GTS (Kim et al., SIGMOD 2016)",
    {
        "gpu": (
            Choice("mode", "push", "a traversal sends only the pages that its frontier needs; a loop that cannot "
                   "push reads all pages (3.3)"),
            Choice("transfer", "pages", "topology is copied, as whole pages (3.1)", True),
            Choice("layout", "slotted", "a page has records and slots, and neighbours are record ids (2, 6.1)"),
            Choice("streams", 32, "speed grows up to 32 streams (3.2, figure 10)"),
            Choice("kernel", "density", "a thread or a warp for a vertex, by the density of its page (6.2)"),
            Choice("strategy", "p", "each of several GPUs has all state, and a share of the pages (4.1)"),
        ),
    },
    left_out=(
        "kernels that read slotted pages as they are (appendix B): pages are decoded when they arrive",
        "state in chunks, each run to the end (3.1): state larger than GPU memory moves in windows instead",
        "state in chunks on several GPUs: each must hold the state of its vertices and of their neighbours",
        "kernels for sweeps that scatter along out-edges (appendix B): sweeps gather along in-edges",
        "pages shared out by their numbers (4.1): each GPU has the in-edges of a range of vertices",
        "all pages sent to all GPUs under strategy S (4.2): each gets only those with edges to its own vertices",
    ),
    besides=("edges stay on the GPU, as adjacency lists, if all of them fit",
             "a page without bytes numbers the vertices before the first one with edges",
             "pages of a page file are parts of adjacency lists, as they are in the file",
             "early exit of searches where all edges are on the GPU"),
    models=True,
)
