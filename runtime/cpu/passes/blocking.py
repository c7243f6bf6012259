"""The choice between rows and cache blocks for full sweeps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Trial", "choose_blocks"]

_LEAST_EDGES = 1 << 16  # of a graph whose sweeps take long enough to think about
_TRIED_FROM = 1 << 20  # edges of a graph whose sweeps take long enough to be compared
_TRIES = 2  # sweeps by rows, and by blocks, before one is chosen
_PAYS_AFTER = 16  # sweeps, about, that repay the building of the blocks (docs/internals/performance.md)


def choose_blocks(asked: str, edges: int, made: bool, sweeps: int, coming: int | None) -> bool:
    """Whether the next full sweep should use blocks, which are built first if need be.

    Under "auto" it should if the blocks exist, or if past and announced sweeps repay them. Without an announcement
    this is the rent-or-buy rule: at worst a run takes twice as long as with the number of sweeps known in advance.

    Args:
        asked: "always", "never" or "auto".
        edges: edges of a sweep.
        made: whether the blocks exist.
        sweeps: sweeps over this graph so far.
        coming: sweeps that the program or the caller announces; None for no announcement.
    """
    if asked != "auto":
        return asked == "always"
    return made or (edges >= _LEAST_EDGES and sweeps + (coming or 0) >= _PAYS_AFTER)


class Trial:
    """The choice between rows and blocks once there are blocks: the faster of the two so far. The bits are the same.

    Rows of a road network have good locality already, and the gain depends on the machine: on a grid of 2 million
    vertices blocks took 0.7 of the time of rows on one machine, and 1.2 on another (docs/internals/performance.md).
    edges: edges of a sweep.
    """

    def __init__(self, asked: str, edges: int) -> None:
        self._tried = asked == "auto" and edges >= _TRIED_FROM
        self._spans: dict[bool, list[float]] = {False: [], True: []}

    @property
    def by_blocks(self) -> bool:
        """Whether the next sweep uses blocks."""
        rows, blocks = self._spans[False], self._spans[True]
        if not self._tried or len(blocks) < min(len(rows), _TRIES):
            return True
        return len(rows) >= _TRIES and min(blocks) <= min(rows)

    @contextmanager
    def sweep(self) -> Iterator[bool]:
        """A context that times the sweep run inside it; yields `by_blocks`."""
        way, begin = self.by_blocks, time.perf_counter()
        yield way
        if len(self._spans[way]) < _TRIES:
            self._spans[way].append(time.perf_counter() - begin)
