"""The local vertex numbers of a rank, which have the order of the numbers in the whole graph.

The mirrors of lower vertices come first, then unused numbers up to a multiple of BLOCK, then pads, then the owned
vertices, and last the mirrors of higher vertices. Therefore the neighbours in a row have the same order by local number
as by number in the graph. This order lets full passes read the row from cache blocks
(vlang.runtime.graph.topology.blocks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cluster.ranges import Ranges
from vlang.runtime.cluster.transports.transport import Transport
from vlang.runtime.plan.plan import BLOCK

__all__ = ["LocalNumbers", "mirrors_of", "number_all", "number_vertices"]


_CHUNK = 1 << 20  # neighbours that are translated at a time


@dataclass(frozen=True)
class LocalNumbers:
    """The local vertex numbers of one rank (see `Ranges` for pads).

    Attributes:
        ranges: the ranges of all ranks.
        rank: this rank.
        mirrors: the neighbours of owned vertices that other ranks own, by their numbers in the graph, in increasing
            order: uint32, or uint64 if the numbers are wider (`Ranges.numbers`). Local numbers always have 32 bits.
        starts: int64[ranks + 1], the index in `mirrors` at which the vertices of each rank begin.
        wanted: for each rank, the local numbers of the owned vertices that this other rank mirrors, uint32, in
            increasing order.
        lower: the number of mirrors of vertices that are lower than the owned vertices.
        low: the local number of the first owned vertex.
        high: the local number of the last owned vertex plus 1.
        n: the number of local vertices.
    """

    ranges: Ranges
    rank: int
    mirrors: NDArray[Any]
    starts: NDArray[np.int64]
    wanted: Sequence[NDArray[np.uint32]]
    lower: int = field(init=False)
    low: int = field(init=False)
    high: int = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        lower, (first, last) = int(self.starts[self.rank]), self.ranges.of(self.rank)
        low = _first_owned(lower, self.ranges, self.rank)
        high = low + last - first
        for name, value in {"lower": lower, "low": low, "high": high, "n": high + len(self.mirrors) - lower}.items():
            object.__setattr__(self, name, value)  # computed once, since every exchange reads them

    def mirrors_of(self, rank: int) -> tuple[int, int]:
        """Return the range of local numbers of the vertices that another rank owns: the first number, and the last plus
        1.
        """
        first, last = self.starts[rank : rank + 2].tolist()
        shift = 0 if rank < self.rank else self.high - self.lower
        return first + shift, last + shift

    def own(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return a view of the entries of the owned vertices, in an array [n k] with k entries for each local vertex.
        """
        width = len(array) // self.n if self.n else 1
        return array[self.low * width : self.high * width]

    def local(self, array: NDArray[Any]) -> NDArray[Any]:
        """Copy the entries of the local vertices from an array [n k] of the whole graph; 0 for unused numbers."""
        width = len(array) // self.ranges.n if self.ranges.n else 1
        first, last = self.ranges.of(self.rank)
        rows, mirrors = array.reshape(-1, width), self.mirrors - self.ranges.cuts[0]
        found: NDArray[Any] = np.zeros((self.n, width), array.dtype)
        found[: self.lower] = rows[mirrors[: self.lower]]
        found[self.low - self.ranges.pads(self.rank) : self.high] = rows[first - self.ranges.pads(self.rank) : last]
        found[self.high :] = rows[mirrors[self.lower :]]
        return found.reshape(-1)

    def translate(self, vertices: NDArray[Any], table: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return the local numbers of some vertices that are owned or mirrored, given by their numbers in the graph.

        `table`, uint32[n of the graph], is overwritten. The table is not used, and may be empty, if the numbers are
        wide.
        """
        if self.ranges.numbers == np.uint64:
            return self._searched(vertices)
        first, last = self.ranges.of(self.rank)
        table[first:last] = np.arange(self.low, self.high, dtype=np.uint32)
        table[self.mirrors[: self.lower]] = np.arange(self.lower, dtype=np.uint32)
        table[self.mirrors[self.lower :]] = np.arange(self.high, self.n, dtype=np.uint32)
        found: NDArray[np.uint32] = table[vertices]
        return found

    def _searched(self, vertices: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """Translate vertex numbers as `translate` does, but by binary search, because a table of all vertices would be
        too large.
        """
        found: NDArray[np.uint32] = np.empty(len(vertices), np.uint32)
        low, high = self.ranges.cuts[self.rank : self.rank + 2]
        for begin in range(0, len(vertices), _CHUNK):
            part = vertices[begin : begin + _CHUNK]
            places = np.searchsorted(self.mirrors, part)
            places += (places >= self.lower) * (self.high - self.lower)
            own = (part >= low) & (part < high)
            found[begin : begin + _CHUNK] = np.where(own, (part - low).astype(np.int64) + self.low, places)
        return found


def number_vertices(
    ranges: Ranges, transport: Transport, neighbours: Sequence[NDArray[Any]]
) -> LocalNumbers:
    """Number the vertices of a rank, and send to each owner the list of the vertices that this rank mirrors.

    Args:
        ranges: the ranges of all ranks.
        transport: the transport of the rank.
        neighbours: all neighbours of the owned vertices, by their numbers in the graph (`Ranges.numbers`).
    """
    rank = transport.rank
    mirrors = mirrors_of(ranges, rank, neighbours)
    parts = [part.view(np.uint8) for part in _by_owner(ranges, mirrors)]
    found = transport.exchange(parts, "the lists of mirrors")
    return _numbers(ranges, rank, mirrors, [part.view(ranges.numbers) for part in found])


def number_all(ranges: Ranges, mirrors: Sequence[NDArray[Any]]) -> list[LocalNumbers]:
    """Number the vertices of all ranks in one process. `mirrors[r]` is the result of `mirrors_of` for rank r."""
    parts = [_by_owner(ranges, some) for some in mirrors]
    return [_numbers(ranges, rank, some, [part[rank] for part in parts]) for rank, some in enumerate(mirrors)]


def mirrors_of(ranges: Ranges, rank: int, neighbours: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the neighbours that other ranks own, in increasing order.

    Args:
        neighbours: see `number_vertices`.
    """
    first, last = ranges.of(rank)
    if ranges.numbers == np.uint64:
        low, high = ranges.cuts[rank : rank + 2]
        parts = [some[(some < low) | (some >= high)] for some in neighbours]
        return np.unique(np.concatenate([np.zeros(0, np.uint64), *parts]))
    seen = np.zeros(ranges.n, np.bool_)
    for some in neighbours:
        seen[some] = True
    seen[first:last] = False
    return np.flatnonzero(seen).astype(np.uint32)


def _by_owner(ranges: Ranges, mirrors: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the mirrors that each rank owns."""
    starts = np.searchsorted(mirrors, ranges.cuts)
    return [mirrors[starts[r] : starts[r + 1]] for r in range(ranges.size)]


def _numbers(ranges: Ranges, rank: int, mirrors: NDArray[Any], asked: Sequence[NDArray[Any]]) -> LocalNumbers:
    """Return the local numbers of the vertices of a rank.

    Args:
        ranges: the ranges of all ranks.
        rank: the number of the rank.
        mirrors: the vertices that the rank mirrors.
        asked: for each rank r, the vertices that `rank` owns and that rank r mirrors.
    """
    starts = np.searchsorted(mirrors, ranges.cuts)
    low = _first_owned(int(starts[rank]), ranges, rank)
    wanted = [((part - ranges.cuts[rank]).astype(np.int64) + low).astype(np.uint32) for part in asked]
    return LocalNumbers(ranges, rank, mirrors, starts, wanted)


def _first_owned(lower: int, ranges: Ranges, rank: int) -> int:
    """Return the local number of the first owned vertex of a rank that has mirrors of `lower` lower vertices."""
    return -(-lower // BLOCK) * BLOCK + ranges.pads(rank)
