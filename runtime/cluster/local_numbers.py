"""The local vertex numbers of a rank, which have the order of the numbers in the whole graph.

The mirrors of lower vertices come first, then unused numbers up to a multiple of BLOCK, then pads, then the owned
vertices, and last the mirrors of higher vertices. So the neighbours in a row have the same order by local number as by
number in the graph. Full passes may therefore read the row from cache blocks (vlang.runtime.graph.topology.blocks).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cluster.ranges import Ranges
from vlang.runtime.cluster.transports.transport import Transport
from vlang.runtime.plan.plan import BLOCK

__all__ = ["LocalNumbers", "mirrors_of", "number_all", "number_vertices"]


@dataclass(frozen=True)
class LocalNumbers:
    """The local vertex numbers of one rank (see `Ranges` for pads).

    Attributes:
        ranges: the ranges of all ranks.
        rank: this rank.
        mirrors: uint32, the neighbours of owned vertices that other ranks own, in increasing order.
        starts: int64[ranks + 1], the index in `mirrors` at which the vertices of each rank begin.
        wanted: for each rank, the local numbers of the owned vertices that it mirrors, uint32, in increasing order.
    """

    ranges: Ranges
    rank: int
    mirrors: NDArray[np.uint32]
    starts: NDArray[np.int64]
    wanted: Sequence[NDArray[np.uint32]]

    @property
    def lower(self) -> int:
        """The number of mirrors of vertices that are lower than the owned vertices."""
        return int(self.starts[self.rank])

    @property
    def low(self) -> int:
        """The local number of the first owned vertex."""
        return _first_owned(self.lower, self.ranges, self.rank)

    @property
    def high(self) -> int:
        """The local number of the last owned vertex plus 1."""
        first, last = self.ranges.of(self.rank)
        return self.low + last - first

    @property
    def n(self) -> int:
        """The number of local vertices."""
        return self.high + len(self.mirrors) - self.lower

    def mirrors_of(self, rank: int) -> tuple[int, int]:
        """The range of local numbers of the vertices that another rank owns: the first number, and the last plus 1."""
        first, last = self.starts[rank : rank + 2].tolist()
        shift = 0 if rank < self.rank else self.high - self.lower
        return first + shift, last + shift

    def own(self, array: NDArray[Any]) -> NDArray[Any]:
        """A view of the entries of the owned vertices, in an array [n k] with k entries for each local vertex."""
        width = len(array) // self.n if self.n else 1
        return array[self.low * width : self.high * width]

    def local(self, array: NDArray[Any]) -> NDArray[Any]:
        """Copy the entries of the local vertices from an array [n k] of the whole graph; 0 for unused numbers."""
        width = len(array) // self.ranges.n if self.ranges.n else 1
        first, last = self.ranges.of(self.rank)
        rows = array.reshape(-1, width)
        found: NDArray[Any] = np.zeros((self.n, width), array.dtype)
        found[: self.lower] = rows[self.mirrors[: self.lower]]
        found[self.low - self.ranges.pads(self.rank) : self.high] = rows[first - self.ranges.pads(self.rank) : last]
        found[self.high :] = rows[self.mirrors[self.lower :]]
        return found.reshape(-1)

    def translate(self, vertices: NDArray[np.uint32], table: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The local numbers of some vertices that are owned or mirrored.

        `table`, uint32[n of the graph], is overwritten.
        """
        first, last = self.ranges.of(self.rank)
        table[first:last] = np.arange(self.low, self.high, dtype=np.uint32)
        table[self.mirrors[: self.lower]] = np.arange(self.lower, dtype=np.uint32)
        table[self.mirrors[self.lower :]] = np.arange(self.high, self.n, dtype=np.uint32)
        return table[vertices]


def number_vertices(
    ranges: Ranges, transport: Transport, neighbours: Sequence[NDArray[np.uint32]]
) -> LocalNumbers:
    """Number the vertices of a rank, and send the lists of its mirrors to their owners.

    Args:
        ranges: the ranges of all ranks.
        transport: the transport of the rank.
        neighbours: all neighbours of the owned vertices, by their numbers in the whole graph.
    """
    rank = transport.rank
    mirrors = mirrors_of(ranges, rank, neighbours)
    parts = [part.view(np.uint8) for part in _by_owner(ranges, mirrors)]
    found = transport.exchange(parts, "the lists of mirrors")
    return _numbers(ranges, rank, mirrors, [part.view(np.uint32) for part in found])


def number_all(ranges: Ranges, mirrors: Sequence[NDArray[np.uint32]]) -> list[LocalNumbers]:
    """Number the vertices of all ranks in one process. `mirrors[r]` is the result of `mirrors_of` for rank r."""
    parts = [_by_owner(ranges, some) for some in mirrors]
    return [_numbers(ranges, rank, some, [part[rank] for part in parts]) for rank, some in enumerate(mirrors)]


def mirrors_of(ranges: Ranges, rank: int, neighbours: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """The neighbours that other ranks own, uint32, in increasing order. `neighbours` is as for `number_vertices`."""
    first, last = ranges.of(rank)
    seen = np.zeros(ranges.n, np.bool_)
    for some in neighbours:
        seen[some] = True
    seen[first:last] = False
    return np.flatnonzero(seen).astype(np.uint32)


def _by_owner(ranges: Ranges, mirrors: NDArray[np.uint32]) -> list[NDArray[np.uint32]]:
    """The mirrors that each rank owns."""
    starts = np.searchsorted(mirrors, ranges.bounds)
    return [mirrors[starts[r] : starts[r + 1]] for r in range(ranges.size)]


def _numbers(
    ranges: Ranges, rank: int, mirrors: NDArray[np.uint32], asked: Sequence[NDArray[np.uint32]]
) -> LocalNumbers:
    """The local numbers of a rank. Rank r mirrors its owned vertices `asked[r]`."""
    starts = np.searchsorted(mirrors, ranges.bounds)
    shift = _first_owned(int(starts[rank]), ranges, rank) - ranges.of(rank)[0]
    wanted = [(part.astype(np.int64) + shift).astype(np.uint32) for part in asked]
    return LocalNumbers(ranges, rank, mirrors, starts, wanted)


def _first_owned(lower: int, ranges: Ranges, rank: int) -> int:
    """The local number of the first owned vertex of a rank that has mirrors of `lower` lower vertices."""
    return -(-lower // BLOCK) * BLOCK + ranges.pads(rank)
