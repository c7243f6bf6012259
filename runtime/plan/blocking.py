"""Whether full sweeps run by rows or by cache blocks."""

from __future__ import annotations

__all__ = ["choose_blocks"]

_CACHED = 1 << 18  # vertices whose messages stay in a core's cache anyway
_PAYS_AFTER = 8  # sweeps that the building of the blocks costs, about (docs/internals/performance.md)


def choose_blocks(asked: str, n: int, edges: int, made: bool, sweeps: int, expected: int | None) -> bool:
    """Whether the next full sweep should use blocks, building them first if they are not there.

    asked: "always", "never" or "auto". Under auto: large graphs, when the blocks are there (made), or as many sweeps
    are behind us as the building costs (so that at worst the time doubles), or the program says that many more will
    come. expected: sweeps in all, if the program or the caller says.
    """
    if asked != "auto":
        return asked == "always"
    if n < _CACHED or edges < 4 * n:
        return False
    if made:
        return True
    return sweeps >= _PAYS_AFTER if expected is None else expected - sweeps >= 2 * _PAYS_AFTER
