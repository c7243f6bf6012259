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
            Choice("exchange", "vr", "several GPUs send each other updated boundary vertices only (IV-B)"),
        ),
    },
    left_out=(
        "inboxes in host memory, which three GPUs or more read (IV-B): every GPU has an inbox for each other one",
    ),
    besides=(
        "edges are streamed if they do not fit, and the paper keeps all in GPU memory",
        "long vertices are cut into segments of their own",
        "a bitmap names the updated vertices, or all boundary vertices are sent, where that takes fewer bytes",
        "an event says when an outbox may be filled again, instead of two that take turns",
    ),
)
