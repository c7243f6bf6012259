"""An adjacency cut for a GPU: pages, the segments of long vertices, row blocks and shards.

All numbers of edges are those of the whole adjacency, so that a kernel does not see where pages end. A page holds the
short vertices whose edges it holds; the edges of a long vertex may lie in several pages, cut between segments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.gpu.kernels.entries import row_block_count
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.pages import cut_segments, first_vertices, page_starts

__all__ = ["Cut", "LongRows", "Part", "Sharding", "Shards", "long_rows"]

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class LongRows:
    """The vertices of more than SEGMENT edges. longs: int64[L, 3]: vertex, first segment, end segment. segments:
    int64[S, 3]: vertex, first edge, end edge."""

    longs: Int64s
    segments: Int64s


def long_rows(adjacency: Adjacency) -> LongRows:
    """The long vertices of an adjacency; found once."""

    def find() -> LongRows:
        offsets = adjacency.offsets.view(np.int64)
        return LongRows(*cut_segments(offsets, np.diff(offsets)))

    found: LongRows = adjacency.derived("long rows", find)
    return found


@dataclass(frozen=True)
class Part:
    """A page. Short vertices [low, high), segments [first_segment, end_segment), edges [begin, end), and the row blocks
    of pull_stream."""

    page: int
    low: int
    high: int
    first_segment: int
    end_segment: int
    begin: int
    end: int
    row_blocks: int

    @property
    def edges(self) -> int:
        """Edges in the page."""
        return self.end - self.begin


@dataclass(frozen=True)
class Cut:
    """Where pages begin. starts: int64[P + 1], first edges and the end; lows: int64[P + 1], first vertices and n;
    segment_ends: int64[P + 1], first segments and S; row_blocks: int64[P]."""

    starts: Int64s
    lows: Int64s
    segment_ends: Int64s
    row_blocks: Int64s

    @property
    def pages(self) -> int:
        """The number of pages."""
        return len(self.row_blocks)

    @property
    def largest(self) -> int:
        """Edges of the largest page."""
        return int(np.diff(self.starts).max())

    def parts(self) -> list[Part]:
        """The pages, one by one."""
        columns = (self.lows[:-1], self.lows[1:], self.segment_ends[:-1], self.segment_ends[1:], self.starts[:-1],
                   self.starts[1:], self.row_blocks)
        return [Part(page, *numbers) for page, numbers in enumerate(zip(*(c.tolist() for c in columns)))]

    @staticmethod
    def of(adjacency: Adjacency, edges: int | None) -> Cut:
        """Pages of at most `edges` edges (or one vertex, or one segment, if that has more); None: one page."""
        offsets = adjacency.offsets.view(np.int64)
        n, segments = len(offsets) - 1, long_rows(adjacency).segments
        if edges is None:
            starts = np.array([0, offsets[-1]], dtype=np.int64)
        else:
            starts = page_starts(offsets, segments[:, 2], max(1, edges))
        lows = np.append(first_vertices(offsets, starts[:-1]), n)
        inside = offsets[lows]
        blocks = [row_block_count(e, v) for e, v in zip(np.diff(inside).tolist(), np.diff(lows).tolist())]
        return Cut(starts, lows, np.searchsorted(segments[:, 1], starts), np.array(blocks, dtype=np.int64))


@dataclass(frozen=True)
class Sharding:
    """How pages are cut into shards for pull_shards.

    vertices: of a shard, at most 65536, for a page of so many edges a vertex. replicas: copies of the cells, u8 a
    shard, for arrays of the vertices and edges of each (i64).
    """

    vertices: Callable[[float], int]
    replicas: Callable[[Int64s, Int64s], NDArray[np.uint8]]


@dataclass(frozen=True)
class Shards:
    """The shards of all pages. starts: int64[P], where the bounds of a page begin; counts: int64[P]. bounds: uint32,
    first vertices of the shards of a page and the end, page after page; replicas: uint8, aligned with the bounds."""

    starts: Int64s
    counts: Int64s
    bounds: NDArray[np.uint32]
    replicas: NDArray[np.uint8]

    def most_cells(self) -> Int64s:
        """The largest vertices x replicas of a shard of each page, int64[P]."""
        cells = (np.diff(self.bounds.astype(np.int64), append=0) * self.replicas).clip(0)
        return np.array([cells[s : s + c].max(initial=0) for s, c in zip(self.starts, self.counts)], dtype=np.int64)

    @staticmethod
    def of(adjacency: Adjacency, cut: Cut, rule: Sharding) -> Shards:
        """Shards of equal numbers of vertices in each page."""
        offsets, rows = adjacency.offsets.view(np.int64), long_rows(adjacency)
        longs = rows.longs[:, 0]
        bounds, replicas, counts = [], [], []
        for low, high in zip(cut.lows[:-1].tolist(), cut.lows[1:].tolist()):
            density = float(offsets[high] - offsets[low]) / max(1, high - low)
            inner = np.append(np.arange(low, high, max(1, rule.vertices(density))), high)
            edges = np.diff(offsets[inner])
            mine = longs[np.searchsorted(longs, low) : np.searchsorted(longs, high)]  # not for this kernel
            np.subtract.at(edges, np.searchsorted(inner, mine, side="right") - 1, offsets[mine + 1] - offsets[mine])
            bounds.append(inner)
            counts.append(len(edges))
            replicas.append(np.append(rule.replicas(np.diff(inner), edges), np.uint8(1)))
        sizes = np.array([len(b) for b in bounds], dtype=np.int64)
        return Shards(np.cumsum(sizes) - sizes, np.array(counts, dtype=np.int64),
                      np.concatenate(bounds).astype(np.uint32), np.concatenate(replicas).astype(np.uint8))
