"""An order of the vertices in which consecutive vertices of a rank come from all parts of a graph.

In priority order, ranges leave ranks idle. In a page file by degree, the first ranks have the hubs, and the last rank
has most other vertices, which get their values at other times. The vertices are therefore cut into stripes with about
the same work, which are dealt to the ranks in turn. The numbers of vertices in this order are *dealt numbers*. A rank
owns a range of dealt numbers.

Only loops in priority order run on dealt vertices (`rank_priority.deals`): reductions over vertices, checkpoints and
sweeps rely on ranges of the graph's own numbers. The neighbours in a row keep the order of the graph, so a full pass
combines them in the order of one process, but it cannot run over cache blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cluster.ranges import cut_ranges

__all__ = ["Dealt"]

_STRIPES = 64  # stripes of each rank


@dataclass(frozen=True)
class Dealt:
    """Stripes of vertices in the order in which they are dealt.

    Attributes:
        stripes: int64[S, 2], for each stripe its first vertex, and its last vertex plus 1, in the numbers of the graph.
    """

    stripes: NDArray[np.int64]

    @staticmethod
    def of(work: NDArray[np.integer], size: int) -> Dealt:
        """Deal stripes to `size` ranks. `work` has the work of each vertex, [n]."""
        bounds = cut_ranges(work, _STRIPES * size).bounds
        turn, place = np.divmod(np.arange(_STRIPES * size), size)
        rank = np.where(turn % 2, size - 1 - place, place)  # in the other direction in every second turn
        order = np.argsort(rank, kind="stable")
        return Dealt(np.stack([bounds[:-1], bounds[1:]], axis=1)[order])

    def runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of vertices in the graph, not empty, that have the dealt numbers from `first` to `last` - 1.
        """
        begins = np.concatenate([[0], np.cumsum(self.stripes[:, 1] - self.stripes[:, 0])]).tolist()
        for (low, high), begin in zip(self.stripes.tolist(), begins):
            a, b = max(low, low + first - begin), min(high, low + last - begin)
            if a < b:
                yield a, b

    def numbers(self) -> NDArray[np.uint32]:
        """Return the dealt number of each vertex of the graph, uint32[n]."""
        n = int((self.stripes[:, 1] - self.stripes[:, 0]).sum())
        return self.outward(np.arange(n, dtype=np.uint32))

    def inward(self, array: NDArray[Any]) -> NDArray[Any]:
        """Copy an array [n k] of the whole graph into the order of dealt numbers."""
        width = self._width(array)
        return np.concatenate([array[:0], *(array[low * width : high * width] for low, high in self.stripes.tolist())])

    def outward(self, array: NDArray[Any]) -> NDArray[Any]:
        """Copy an array [n k] in the order of dealt numbers into the order of the graph."""
        found, width, at = np.empty_like(array), self._width(array), 0
        for low, high in self.stripes.tolist():
            found[low * width : high * width] = array[at : at + (high - low) * width]
            at += (high - low) * width
        return found

    def _width(self, array: NDArray[Any]) -> int:
        return len(array) // max(1, int((self.stripes[:, 1] - self.stripes[:, 0]).sum()))
