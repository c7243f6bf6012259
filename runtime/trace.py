"""What happened in a run, superstep by superstep."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Round"]


@dataclass(frozen=True, slots=True)
class Round:
    """One superstep.

    loop: which `repeat` of the program, from 0 in the order of the text. round: the superstep in that loop, from 1.
    active: vertices active after it (those that the next superstep must hear). mode: "pull", "notify-pull", or
    "connect" for a whole loop that was run by finding components (rule K, docs/internals/rule-k.md).
    seconds: wall-clock time. edges: edges traversed by its gathers and its notification.
    """

    loop: int
    round: int
    active: int
    mode: str
    seconds: float
    edges: int
