"""Optimisations that can be left out of a run, to measure what each is worth. None of them changes what a run means."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["OPTIMISATIONS"]

OPTIMISATIONS: Mapping[str, str] = {
    "hoist": "messages: what an edge reads of its sender alone is computed once a sender",
    "levels": "in a sweep, only the vertices of the level that sends have messages",
    "factor": "factors that only the receiver knows are taken out of sums over a level",
    "fuse": "reductions and messages of vertices follow a pass block by block, not by passes of their own",
    "merge": "gathers over the same edges share a pass",
    "narrow": "a gather in a `where` runs for its vertices only",
    "skip": "vertices whose inputs did not change are left out: notify-pull and push (rule N)",
    "sums": "loops that add up changes push them along the edges of those that have some to tell (rule P)",
    "identity": "a sender whose value adds nothing keeps silent (rule Z)",
    "early": "a vertex stops gathering, or does not begin, once it is settled (rule X)",
    "copied": "a fixpoint of copied values is found as connected components (rule K)",
    "pack": "in order of priority, an edge and a small integer that it carries are one word",
    "refine": "in order of priority, buckets become wider or narrower as a loop runs",
}
"""Name -> what it does (language.md section 14)."""
