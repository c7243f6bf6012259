"""Cuts the vertices of a graph into one range for each rank, with about the same number of edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.plan.plan import BLOCK

__all__ = ["NARROW", "Ranges", "cut_ranges"]

NARROW = 2**32 - 2
"""The most vertices whose numbers have 32 bits."""

_ALIGNED = 0.03  # part of the mean work of a rank by which a cut may move to a multiple of BLOCK


@dataclass(frozen=True)
class Ranges:
    """The range of vertices of each rank; a range may be empty.

    Reductions over vertices run in blocks of BLOCK vertices of the whole graph. The rank that has the last vertex of a
    block reduces the block. In the local numbers of a rank, blocks also begin at multiples of BLOCK. Therefore a rank
    has *pads* before its own vertices: the vertices of its first block that earlier ranks own.

    Attributes:
        bounds: int64[ranks + 1]; rank r owns the vertices from bounds[r] to bounds[r + 1] - 1.
        base: the number of the first vertex in the graph. Rows name neighbours by their numbers in the graph. Vertices
            are counted from 0 everywhere else.
    """

    bounds: NDArray[np.int64]
    base: int = 0

    @property
    def numbers(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The dtype of the vertex numbers that ranks send to each other: uint32, or uint64 if the numbers are wider."""
        return np.dtype(np.uint32 if self.base + self.n <= NARROW else np.uint64)

    @property
    def cuts(self) -> NDArray[np.unsignedinteger[Any]]:
        """The first vertex of each rank, and the end of the vertices of the last rank: vertex numbers, [ranks + 1]."""
        found: NDArray[Any] = self.bounds.astype(self.numbers)
        found += self.numbers.type(self.base)
        return found

    @property
    def n(self) -> int:
        """The number of vertices of the graph."""
        return int(self.bounds[-1])

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.bounds) - 1

    def of(self, rank: int) -> tuple[int, int]:
        """Return the range of vertices of a rank: its first vertex, and its last vertex plus 1."""
        first, last = self.bounds[rank : rank + 2].tolist()
        return first, last

    def pads(self, rank: int) -> int:
        """Return the number of pads of a rank."""
        return self.of(rank)[0] % BLOCK

    def blocks(self, rank: int) -> tuple[int, int]:
        """Return the range of blocks that a rank reduces: the first block, and the last block plus 1."""
        first, last = self.of(rank)
        if first == last:
            return first // BLOCK, first // BLOCK
        return first // BLOCK, -(-last // BLOCK) if last == self.n else last // BLOCK

    def padded(self, rank: int) -> tuple[int, int]:
        """Return the vertices of other ranks that a rank needs to reduce its first block; (0, 0) if there are none."""
        first, last = self.of(rank)
        low, high = self.blocks(rank)
        return (first - first % BLOCK, first) if last > first and high > low and first % BLOCK else (0, 0)

    def owners(self, vertices: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the rank that owns each vertex."""
        return np.searchsorted(self.bounds, vertices, side="right") - 1


def cut_ranges(work: NDArray[np.integer], size: int, step: int = 1) -> Ranges:
    """Cut the vertices into `size` ranges with about equal work.

    Args:
        work: the work of each vertex, such as its number of edges: integers, [n].
        size: the number of ranks.
        step: each range begins at a multiple of this number. The number divides BLOCK.
    """
    n = len(work)
    before = np.zeros(n + 1, np.int64)
    np.cumsum(work, out=before[1:])
    total = int(before[-1])
    wanted = np.arange(1, size, dtype=np.int64) * total // size
    cuts = np.searchsorted(before, wanted, side="left")
    cuts -= (cuts > 0) & (np.abs(before[cuts - 1] - wanted) <= np.abs(before[cuts] - wanted))
    round_cuts = np.minimum((cuts + BLOCK // 2) // BLOCK * BLOCK, n)
    near = np.abs(before[round_cuts] - wanted) <= _ALIGNED * total / size
    cuts = np.where(near & (round_cuts < n), round_cuts, np.minimum((cuts + step // 2) // step * step, n))
    bounds = np.concatenate([[0], np.maximum.accumulate(cuts), [n]]).astype(np.int64)
    return Ranges(bounds)
