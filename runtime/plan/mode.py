"""Pull or notify-pull, superstep by superstep."""

from __future__ import annotations

__all__ = ["choose_mode"]


def choose_mode(reached: int, edges: int) -> bool:
    """Whether a pass that may skip should notify and pull: f = (edges out of changed vertices) / (all edges) <= 1/2.

    The rule for graphs in memory of Garaph (USENIX ATC'17, section 4.2).
    """
    return 2 * reached <= edges
