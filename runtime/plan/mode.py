"""Pull or notify-pull, superstep by superstep."""

from __future__ import annotations

__all__ = ["choose_mode"]


def choose_mode(asked: str, reached: int, edges: int) -> bool:
    """Whether a superstep that may skip should notify and pull.

    asked: "pull", "notify-pull" or "auto". Under auto: f = (edges out of changed vertices) / (all edges) <= 1/2, the
    rule for graphs in memory of Garaph (USENIX ATC'17, section 4.2).
    """
    if asked == "auto":
        return 2 * reached <= edges
    return asked == "notify-pull"
