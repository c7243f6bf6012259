"""Divides an adjacency for a GPU into pages, segments of long vertices, row blocks and shards.

Edges are numbered over the whole adjacency, so that kernels do not depend on the ends of pages. All edges of a short
vertex are in one page. The edges of a long vertex may be in several pages, which are cut between segments.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.gpu.kernels.entries import row_block_count
from vlang.runtime.gpu.topology.sides import DiskSide, Side
from vlang.runtime.graph.topology.pages import cut_segments, first_vertices, page_starts
from vlang.runtime.graph.topology.slotted import slotted_starts

__all__ = ["Cut", "LongRows", "Part", "Sharding", "Shards", "long_rows"]

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class LongRows:
    """The vertices with more than SEGMENT edges.

    Attributes:
        longs: int64[L, 3]: vertex, first segment, end segment.
        segments: int64[S, 3]: vertex, first edge, end edge.
    """

    longs: Int64s
    segments: Int64s


def long_rows(side: Side) -> LongRows:
    """Return the long vertices of an adjacency direction, cached in `side`."""

    def find() -> LongRows:
        offsets = side.offsets.view(np.int64)
        return LongRows(*cut_segments(offsets, np.diff(offsets)))

    found: LongRows = side.derived("long rows", find)
    return found


@dataclass(frozen=True)
class Part:
    """A page.

    Attributes:
        page: the number of the page.
        low, high: the range of short vertices in the page, low to high - 1.
        first_segment, end_segment: the range of segments in the page, first_segment to end_segment - 1.
        begin, end: the range of edges in the page, begin to end - 1.
        row_blocks: the number of row blocks in the page, for pull_stream.
    """

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
        """The number of edges in the page."""
        return self.end - self.begin


@dataclass(frozen=True)
class Cut:
    """The boundaries of P pages.

    Attributes:
        starts: int64[P + 1], the first edge of each page; the last entry is the number of edges.
        lows: int64[P + 1], the first vertex of each page among the vertices over which passes run; the last entry is
            the end of these vertices.
        segment_ends: int64[P + 1], the first segment of each page; the last entry is the number of segments.
        row_blocks: int64[P], number of row blocks in each page.
    """

    starts: Int64s
    lows: Int64s
    segment_ends: Int64s
    row_blocks: Int64s

    @property
    def pages(self) -> int:
        """The number of pages."""
        return len(self.row_blocks)

    @property
    def key(self) -> bytes:
        """Identifies the cut among all cuts of the same adjacency direction."""
        return self.starts.tobytes()

    @property
    def largest(self) -> int:
        """The number of edges of the largest page."""
        return int(np.diff(self.starts).max())

    def parts(self) -> list[Part]:
        """Return the pages in order."""
        columns = (self.lows[:-1], self.lows[1:], self.segment_ends[:-1], self.segment_ends[1:], self.starts[:-1],
                   self.starts[1:], self.row_blocks)
        return [Part(page, *numbers) for page, numbers in enumerate(zip(*(c.tolist() for c in columns)))]

    @staticmethod
    def of(side: Side, edges: int | None, slotted: bool = False) -> Cut:
        """Cut an adjacency into pages of at most `edges` edges.

        A vertex or segment with more edges has a page of its own.

        If `edges` is None, there is one page. If the edges are on disk and `edges` is not None, the pages are the pages
        of the file. With `slotted`, a vertex with more edges than a page has pages of its own. The result is cached in
        `side`.
        """
        found: Cut = side.derived(("cut", edges, slotted), lambda: Cut._made(side, edges, slotted))
        return found

    @staticmethod
    def _made(side: Side, edges: int | None, slotted: bool) -> Cut:
        offsets = side.offsets.view(np.int64)
        n, segments = len(offsets) - 1, long_rows(side).segments
        if edges is None:
            starts, firsts = np.array([0, offsets[-1]], dtype=np.int64), np.zeros(1, np.int64)
        elif isinstance(side, DiskSide):
            starts, firsts = side.starts, side.firsts
        else:
            starts = slotted_starts(offsets, segments, max(1, edges)) if slotted else \
                page_starts(offsets, segments[:, 2], max(1, edges))
            firsts = first_vertices(offsets, starts[:-1])
        lows = np.clip(np.append(firsts, n), *side.span)
        inside = offsets[lows]
        blocks = [row_block_count(e, v) for e, v in zip(np.diff(inside).tolist(), np.diff(lows).tolist())]
        return Cut(starts, lows, np.searchsorted(segments[:, 1], starts), np.array(blocks, dtype=np.int64))


@dataclass(frozen=True)
class Sharding:
    """The rule that divides pages into shards for pull_shards.

    Attributes:
        vertices: maps the density of a page (edges per vertex) to the number of vertices of a shard, at most 65536.
        replicas: maps the numbers of vertices and of edges of each shard (int64) to its replication factor (uint8).
        key: identifies the rule, under which the shards are cached with the graph; None if shards are not cached.
    """

    vertices: Callable[[float], int]
    replicas: Callable[[Int64s, Int64s], NDArray[np.uint8]]
    key: Hashable = None


@dataclass(frozen=True)
class Shards:
    """The shards of all pages.

    Attributes:
        starts: int64[P], index in `bounds` where the bounds of each page begin.
        counts: int64[P], number of shards in each page.
        bounds: uint32, for each page the first vertex of each of its shards, followed by the end of the last shard.
        replicas: uint8, aligned with `bounds`.
    """

    starts: Int64s
    counts: Int64s
    bounds: NDArray[np.uint32]
    replicas: NDArray[np.uint8]

    def most_cells(self) -> Int64s:
        """Return, for each page, the maximum of vertices x replicas over the shards of the page, int64[P]."""
        cells = (np.diff(self.bounds.astype(np.int64), append=0) * self.replicas).clip(0)
        return np.array([cells[s : s + c].max(initial=0) for s, c in zip(self.starts, self.counts)], dtype=np.int64)

    @staticmethod
    def of(side: Side, cut: Cut, rule: Sharding) -> Shards:
        """Cut each page into shards with equal numbers of vertices."""
        offsets, rows = side.offsets.view(np.int64), long_rows(side)
        longs = rows.longs[:, 0]
        bounds, replicas, counts = [], [], []
        for low, high in zip(cut.lows[:-1].tolist(), cut.lows[1:].tolist()):
            density = float(offsets[high] - offsets[low]) / max(1, high - low)
            inner = np.append(np.arange(low, high, max(1, rule.vertices(density))), high)
            edges = np.diff(offsets[inner])
            mine = longs[np.searchsorted(longs, low) : np.searchsorted(longs, high)]  # other kernels pull long vertices
            np.subtract.at(edges, np.searchsorted(inner, mine, side="right") - 1, offsets[mine + 1] - offsets[mine])
            bounds.append(inner)
            counts.append(len(edges))
            replicas.append(np.append(rule.replicas(np.diff(inner), edges), np.uint8(1)))
        sizes = np.array([len(b) for b in bounds], dtype=np.int64)
        return Shards(np.cumsum(sizes) - sizes, np.array(counts, dtype=np.int64),
                      np.concatenate(bounds).astype(np.uint32), np.concatenate(replicas).astype(np.uint8))
