"""The notes of a graph: sentences that say how its edges were changed while it was read."""

from __future__ import annotations

from collections.abc import Sequence

from vlang.errors import plural

__all__ = [
    "KEPT", "kept_note", "loops_note", "parallel_note", "rule_note", "stored_note", "symmetrized_note",
]

KEPT = ("self-loops", "parallel edges")
"""The kinds of edges that a graph keeps unless an option drops them."""


def kept_note(kept: Sequence[str]) -> tuple[str, ...]:
    """The note that names the kept kinds of edges; an empty tuple if all kinds are dropped."""
    return (f"{' and '.join(kept)} kept.".capitalize(),) if kept else ()


def stored_note(directed: bool, n: int, m: int) -> str:
    """Describe the stored graph: direction, n vertices and m edges. An undirected edge is counted in both directions.
    """
    if directed:
        return f"directed, {plural(n, 'vertex', 'vertices')}, {plural(m, 'edge')}"
    return f"undirected, {plural(n, 'vertex', 'vertices')}, {plural(m, 'edge')}, each one counted in both directions"


def symmetrized_note(edges: int) -> str:
    """The note that both directions of `edges` directed edges are stored."""
    return f"Symmetrized: both directions of {edges:,} directed edges."


def loops_note(lost: int) -> str:
    """The note that `lost` self-loops were dropped."""
    return f"{plural(lost, 'self-loop')} dropped."


def parallel_note(more: int, by: str | None) -> str:
    """The note that `more` parallel edges were dropped.

    `by` is the name of the first edge column; None if there are no columns.
    """
    which = f"of several the one with the smallest {by} stays" if by else "one of several stays"
    return f"{plural(more, 'parallel edge')} dropped: {which}."


def rule_note(low: int, high: int, directed: bool) -> str:
    """The note that weights are computed by the rule low..high."""
    ends = "tail u, head v" if directed else "smaller number u, larger v"
    return f"Weight by rule: {low} + (31 u + 17 v) mod {high - low + 1}, {ends}."
