"""Warp segmentation with vertex refinement: a warp for 32 rows of CSR, on one GPU or several."""

from __future__ import annotations

from vlang.runtime.policies.policy import Choice, Policy

__all__ = ["WS_VR"]

WS_VR = Policy(
    "ws-vr", "Warp segmentation and vertex refinement (Khorasani et al., PACT 2015)",
    {
        "gpu": (
            Choice("mode", "pull", "every vertex gathers in every iteration (III)", True),
            Choice("kernel", "warp-segmentation", "a warp for 32 vertices, whose lanes are assigned to edges (II)"),
            Choice("transfer", "pages", "kernels read edges in GPU memory (II)"),
        ),
    },
    left_out=(
        "several GPUs by vertex refinement (IV): marks, prefix sums, inboxes; nor its rivals ALL and MS",
    ),
    besides=(
        "edges are streamed if they do not fit, and the paper keeps all in GPU memory",
        "long vertices are cut into segments of their own",
    ),
)
