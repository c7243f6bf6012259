"""The local numbers of a rank: its pads, then its own vertices, then its mirrors in the order of the whole graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cluster.ranges import Ranges
from vlang.runtime.cluster.transport import Transport

__all__ = ["LocalNumbers", "mirrors_of", "number_all", "number_vertices"]


@dataclass(frozen=True)
class LocalNumbers:
    """Which vertices a rank has, by local number (see `Ranges` for pads).

    Attributes:
        ranges: the ranges of all ranks.
        rank: this rank.
        mirrors: uint32, the vertices of other ranks that are neighbours of owned ones, in increasing order.
        starts: int64[ranks + 1], where the mirrors of each rank begin in `mirrors`.
        wanted: for each rank the local numbers of the owned vertices that it mirrors, uint32, in increasing order.
    """

    ranges: Ranges
    rank: int
    mirrors: NDArray[np.uint32]
    starts: NDArray[np.int64]
    wanted: Sequence[NDArray[np.uint32]]

    @property
    def low(self) -> int:
        """The local number of the first owned vertex, which is the number of pads."""
        return self.ranges.pads(self.rank)

    @property
    def high(self) -> int:
        """The local number behind the last owned vertex."""
        first, last = self.ranges.of(self.rank)
        return self.low + last - first

    @property
    def n(self) -> int:
        """The number of local vertices."""
        return self.high + len(self.mirrors)

    def mirrors_of(self, rank: int) -> tuple[int, int]:
        """The local numbers of the mirrors of a rank: the first, and the one behind the last."""
        first, last = self.starts[rank : rank + 2].tolist()
        return self.high + first, self.high + last

    def own(self, array: NDArray[Any]) -> NDArray[Any]:
        """The owned part of an array over the local vertices, as a view; [n k], k entries for each vertex."""
        width = len(array) // self.n if self.n else 1
        return array[self.low * width : self.high * width]

    def local(self, array: NDArray[Any]) -> NDArray[Any]:
        """The entries of an array over all vertices, [n k], for the local vertices."""
        width = len(array) // self.ranges.n if self.ranges.n else 1
        first, last = self.ranges.of(self.rank)
        rows = array.reshape(-1, width)
        parts = [rows[first - self.low : last], rows[self.mirrors]]
        found: NDArray[Any] = np.concatenate(parts).reshape(-1)
        return found

    def translate(self, vertices: NDArray[np.uint32], table: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The local numbers of owned vertices and mirrors. `table`, uint32[n of the graph], is overwritten."""
        first, last = self.ranges.of(self.rank)
        table[first:last] = np.arange(self.low, self.high, dtype=np.uint32)
        table[self.mirrors] = np.arange(self.high, self.n, dtype=np.uint32)
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
    """The local numbers of all ranks of a process; `mirrors` has those of each rank, as `mirrors_of` returns them."""
    parts = [_by_owner(ranges, some) for some in mirrors]
    return [_numbers(ranges, rank, some, [part[rank] for part in parts]) for rank, some in enumerate(mirrors)]


def mirrors_of(ranges: Ranges, rank: int, neighbours: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """The neighbours that other ranks own, uint32, in increasing order; `neighbours` as for `number_vertices`."""
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
    """The local numbers of a rank, whose owned vertices `asked[r]` are mirrored by rank r."""
    shift = ranges.of(rank)[0] - ranges.pads(rank)
    wanted = [(part - np.uint32(shift)).astype(np.uint32) for part in asked]
    return LocalNumbers(ranges, rank, mirrors, np.searchsorted(mirrors, ranges.bounds), wanted)
