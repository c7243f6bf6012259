"""Whether full sweeps run by rows or by cache blocks."""

from __future__ import annotations

__all__ = ["choose_blocks"]

_CACHED = 1 << 18  # vertices whose messages stay in a core's cache anyway
_PAYS_AFTER = 24  # sweeps after which the building of the blocks is made good, about (docs/internals/performance.md)


def choose_blocks(asked: str, n: int, edges: int, made: bool, sweeps: int, coming: int | None) -> bool:
    """Whether the next full sweep should use blocks, building them first if they are not there.

    asked: "always", "never" or "auto". Under auto: large graphs, when the blocks are there (made), or when the sweeps
    over this graph so far, and those that program or caller announce (coming), pay for them. As long as nothing is
    announced this rents before it buys: at worst a run takes half as long again.
    """
    if asked != "auto":
        return asked == "always"
    if n < _CACHED or edges < 4 * n:
        return False
    return made or sweeps + (coming or 0) >= _PAYS_AFTER
