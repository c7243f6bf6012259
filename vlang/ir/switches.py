"""Optimisations that can be switched off to measure their effect.

Switching an optimisation off never changes the meaning of a run.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["OPTIMISATIONS"]

OPTIMISATIONS: Mapping[str, str] = {
    "hoist": "messages: the part of a contribution that depends only on its sender is computed once per sender",
    "levels": "in a sweep, only the vertices of the sending level have messages",
    "factor": "factors that depend only on the receiver are taken out of sums over a level",
    "fuse": "reductions over vertices and messages are fused into a pass, block by block",
    "merge": "gathers over the same edges share a pass",
    "narrow": "a gather in a `where` runs for its vertices only",
    "skip": "vertices without a changed input are left out: notify-pull and push (rule N)",
    "sums": "loops that add up changes push them along the edges of vertices with unsent changes (rule P)",
    "identity": "a sender with a value that adds nothing is skipped (rule Z)",
    "early": "a vertex stops gathering, or does not begin, once its value is final (rule X)",
    "copied": "a fixpoint of copied values is found as connected components (rule K)",
    "pack": "in priority order, an edge and a small integer on it are packed into one word",
    "refine": "in priority order, buckets become wider or narrower during a loop",
}
"""The name of each optimisation, and what it does (language.md section 14)."""
