"""Whether full sweeps run by rows or by cache blocks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Trial", "choose_blocks"]

_LEAST_EDGES = 1 << 16  # of a graph whose sweeps take long enough to think about
_TRIED_FROM = 1 << 20  # edges of a graph whose sweeps take long enough to be compared
_TRIES = 2  # sweeps of either way before one is chosen
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


class Trial:
    """By which way a pass goes once there are blocks: the one that has been faster. The bits are the same.

    Rows of a road network lie well as they are, and how well depends on the machine: on a grid of 2 million vertices
    blocks took 0.7 of the time of rows on one, and 1.2 on another (docs/internals/performance.md). edges: of a sweep.
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
        """What is inside is the next sweep: `by_blocks`."""
        way, begin = self.by_blocks, time.perf_counter()
        yield way
        if len(self._spans[way]) < _TRIES:
            self._spans[way].append(time.perf_counter() - begin)
