"""Whether full sweeps run by rows or by cache blocks."""

from __future__ import annotations

__all__ = ["choose_blocks"]

_LEAST_EDGES = 1 << 16  # of a graph whose sweeps take long enough to think about
_PAYS_AFTER = 16  # sweeps after which the building of the blocks is made good, about (docs/internals/performance.md)


def choose_blocks(asked: str, edges: int, made: bool, sweeps: int, coming: int | None) -> bool:
    """Whether the next full sweep should use blocks, building them first if they are not there.

    asked: "always", "never" or "auto". Under auto: when the blocks are there (made), or when the sweeps over this graph
    so far, and those that program or caller announce (coming), pay for them. As long as nothing is announced this
    rents before it buys: at worst a run takes twice as long as one that knew.
    """
    if asked != "auto":
        return asked == "always"
    return made or (edges >= _LEAST_EDGES and sweeps + (coming or 0) >= _PAYS_AFTER)
