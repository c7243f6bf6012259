"""The sentences with which a graph says how it was changed while it was read."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["KEPT", "kept_note", "loops_note", "parallel_note", "rule_note", "stored_note", "symmetrized_note"]

KEPT = ("self-loops", "parallel edges")
"""What a graph keeps unless it is dropped."""


def kept_note(kept: Sequence[str]) -> tuple[str, ...]:
    """What was kept, in at most one sentence."""
    return (f"{' and '.join(kept)} kept.".capitalize(),) if kept else ()


def stored_note(directed: bool, n: int, m: int) -> str:
    """What is stored: n vertices and m edges, undirected ones counted in both directions."""
    if directed:
        return f"directed, {n:,} vertices, {m:,} edges"
    return f"undirected, {n:,} vertices, {m:,} edges, each one counted in both directions"


def symmetrized_note(edges: int) -> str:
    """Both directions of directed edges are stored."""
    return f"Symmetrized: both directions of {edges:,} directed edges."


def loops_note(lost: int) -> str:
    """Self-loops were dropped."""
    return f"{lost:,} self-loops dropped."


def parallel_note(more: int, by: str | None) -> str:
    """Parallel edges were dropped; by: the first column, None without columns."""
    which = f"of several the one with the smallest {by} stays" if by else "one of several stays"
    return f"{more:,} parallel edges dropped: {which}."


def rule_note(low: int, high: int, directed: bool) -> str:
    """Weights are computed by the rule low..high."""
    ends = "tail u, head v" if directed else "smaller number u, larger v"
    return f"Weight by rule: {low} + (31 u + 17 v) mod {high - low + 1}, {ends}."
