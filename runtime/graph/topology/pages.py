"""Cuts an adjacency into pages, the units of planning and streaming, and into tasks.

A page is a run of consecutive edges of about the page size. A page holds whole rows, with one exception: a row of more
than SEGMENT edges is cut into segments of SEGMENT edges, and a page may end between two segments. Vertices of at most
SEGMENT edges are *short*, and all other vertices are *long*. Neither pages nor tasks change a result: the partial
results of the segments of a long vertex are always merged in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.plan import PAGE_COLUMNS, PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, PAGE_WORDS, SEGMENT

__all__ = [
    "DEFAULT_PAGE_SIZE", "PageCuts", "Pages", "cut_segments", "distinct", "first_vertices", "page_starts",
    "row_tasks", "segment_tasks", "vertex_tasks",
]

DEFAULT_PAGE_SIZE = 32 << 20
_TASKS = 256  # approximate number of tasks in a pass over all edges
_MOST_EDGES = (1 << 32) - 1  # maximum edges of a page, as page-relative offsets have 32 bits
_LEAST_COST = 8192  # minimum edges plus vertices of a task; smaller tasks cost more than they gain

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class PageCuts:
    """The division of an adjacency into pages, without the edges. The pages need not be in memory.

    Attributes:
        n: the number of vertices.
        starts: int64[P + 1], the first edge of each page, and the end.
        firsts: int64[P], the first vertex of each page.
        longs: int64[L, 3], for each long vertex: vertex, first segment, end segment.
        segments: int64[S, 3], for each segment: vertex, first edge and end edge relative to the page.
        segment_pages: int64[S], the page of each segment.
        cost: number of edges plus vertices in a task.
        tasks: int64[T, 3], by increasing page: page, first and end vertex. The tasks cover all short vertices.
        segment_tasks: int64[T, 3], by increasing page: page, first and end segment. The tasks cover all segments.
    """

    n: int
    starts: Int64s
    firsts: Int64s
    longs: Int64s
    segments: Int64s
    segment_pages: Int64s
    cost: int
    tasks: Int64s
    segment_tasks: Int64s

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self.firsts)

    @cached_property
    def edges(self) -> int:
        """The number of edges in all pages."""
        return int(self.starts[-1])


@dataclass(frozen=True)
class Pages(PageCuts):
    """The pages of one adjacency in memory.

    Attributes:
        adjacency: the edges.
        offsets: uint32, the page-relative offsets of all pages, concatenated.
        offset_starts: int64[P], the index in `offsets` at which the offsets of each page begin.
    """

    adjacency: Adjacency
    offsets: NDArray[np.uint32]
    offset_starts: Int64s

    def table(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
        """The table of pages that kernels read (see runtime/plan/page_words.py), uint64[P, PAGE_WORDS]."""
        rows = np.zeros((self.count, PAGE_WORDS), dtype=np.uint64)
        begins = self.starts[:-1]
        rows[:, PAGE_OFFSETS] = _addresses(self.offsets, self.offset_starts)
        rows[:, PAGE_TARGETS] = _addresses(self.adjacency.targets, begins)
        rows[:, PAGE_FIRST] = self.firsts.astype(np.uint64)
        for number, column in enumerate(columns):
            rows[:, PAGE_COLUMNS + number] = _addresses(column, begins)
        return rows

    @staticmethod
    def cut(adjacency: Adjacency, page_size: int) -> Pages:
        """Cut an adjacency into pages of about `page_size` bytes of neighbours.

        The function temporarily uses 8 bytes of memory per vertex, in addition to the result.
        """
        offsets = adjacency.offsets.view(np.int64)
        n = len(offsets) - 1
        degrees = np.diff(offsets)
        longs, segments = cut_segments(offsets, degrees)
        starts = page_starts(offsets, segments[:, 2], min(max(1, page_size // 4), _MOST_EDGES))
        firsts = first_vertices(offsets, starts[:-1])
        page = np.searchsorted(starts[:-1], segments[:, 1], side="right") - 1
        segments[:, 1:] -= starts[page, None]
        local, local_starts = _local_offsets(offsets, starts, firsts)
        cost = max(_LEAST_COST, (int(offsets[-1]) + n) // _TASKS)
        return Pages(
            n, starts, firsts, longs, segments, page, cost,
            _short_tasks(offsets, degrees, longs[:, 0], firsts, cost),
            segment_tasks(page, max(1, cost // SEGMENT)),
            adjacency, local, local_starts,
        )


def _addresses(array: NDArray[Any], starts: Int64s) -> NDArray[np.uint64]:
    return np.uint64(array.ctypes.data) + starts.astype(np.uint64) * np.uint64(array.itemsize)


def cut_segments(offsets: Int64s, degrees: Int64s) -> tuple[Int64s, Int64s]:
    """The long vertices and their segments.

    Returns:
        The long vertices, int64[L, 3]: vertex, first and end segment. The segments, int64[S, 3]: vertex, first and end
        edge in the adjacency.
    """
    vertices = np.flatnonzero(degrees > SEGMENT).astype(np.int64)
    per_long = -(-degrees[vertices] // SEGMENT)
    ends = np.cumsum(per_long)
    longs = np.stack([vertices, ends - per_long, ends], axis=1)
    owner = np.repeat(np.arange(len(vertices)), per_long)
    begin = offsets[vertices[owner]] + (np.arange(len(owner)) - longs[owner, 1]) * SEGMENT
    end = np.minimum(begin + SEGMENT, offsets[vertices[owner] + 1])
    return longs, np.ascontiguousarray(np.stack([vertices[owner], begin, end], axis=1))


def page_starts(offsets: Int64s, end: Int64s, edges: int) -> Int64s:
    """The first edge of every page, followed by the number of edges.

    Pages are filled greedily with whole rows and segments.
    """
    total = int(offsets[-1])
    starts = [0]
    while starts[-1] < total:
        starts.append(_stop(offsets[1:], end, starts[-1], starts[-1] + edges))
    return np.array(starts if len(starts) > 1 else [0, 0], dtype=np.int64)


def _stop(ends: Int64s, inner: Int64s, start: int, most: int) -> int:
    """The end of the page that begins at `start`: the last permitted end up to `most`, else the first permitted end.

    A page may end at the end of a row (`ends`) or of a segment (`inner`); both arrays increase.
    """
    first, last = int(ends[-1]), 0
    for stops in (ends, inner):
        after, at = np.searchsorted(stops, (start, most), side="right").tolist()
        first = min(first, int(stops[after])) if after < len(stops) else first
        last = max(last, int(stops[at - 1])) if at else last
    return max(first, last)


def first_vertices(offsets: Int64s, starts: Int64s) -> Int64s:
    """The vertex of the first edge of each page. Vertices without edges before that vertex belong to the previous page.
    """
    firsts = np.searchsorted(offsets, starts, side="right") - 1
    if len(firsts):
        firsts[0] = 0
    return firsts.astype(np.int64)


def _local_offsets(offsets: Int64s, starts: Int64s, firsts: Int64s) -> tuple[NDArray[np.uint32], Int64s]:
    """The page-relative offsets of the vertices of each page, concatenated, and the index where each page begins."""
    n = len(offsets) - 1
    lasts = np.append(firsts[1:] + 1, n)  # a row that is cut by the end of a page is listed in both pages
    sizes = np.minimum(lasts, n) - firsts + 1
    where = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    local = np.empty(int(where[-1]), dtype=np.uint32)
    for page, (first, size) in enumerate(zip(firsts.tolist(), sizes.tolist())):
        begin, stop = starts[page], starts[page + 1]
        mine = local[where[page] : where[page + 1]]
        np.subtract(offsets[first : first + size], begin, casting="unsafe", out=mine)
        # Only the edges of the first and of the last vertex may extend beyond the page.
        mine[0], mine[-1] = 0, min(offsets[first + size - 1], stop) - begin
    return local, where[:-1]


def _short_tasks(offsets: Int64s, degrees: Int64s, longs: Int64s, firsts: Int64s, cost: int) -> Int64s:
    """Tasks over the short vertices.

    Tasks end at the end of a page, before and after a long vertex, and when they reach `cost`.

    Overwrites `degrees`.
    """
    n = len(degrees)
    if n == 0:
        return np.zeros((0, 3), dtype=np.int64)
    work = degrees
    work[longs] = 0
    work += 1
    np.cumsum(work, out=work)
    even = np.searchsorted(work, np.arange(cost, int(work[-1]), cost)) + 1
    cuts = distinct(np.concatenate([[0], even, firsts, longs, longs + 1, [n]]))
    cuts = cuts[cuts <= n]
    low, high = cuts[:-1], cuts[1:]
    short = offsets[low + 1] - offsets[low] <= SEGMENT
    low, high = low[short], high[short]
    page = np.searchsorted(firsts, low, side="right") - 1
    return np.ascontiguousarray(np.stack([page, low, high], axis=1))


def row_tasks(pages: Pages, low: int, high: int, cost: int) -> Int64s:
    """Tasks over the short vertices of a range, int64[T, 3]. Each task is in one page, and contains no long vertex.

    Args:
        pages: the pages.
        low: the first vertex.
        high: the last vertex plus 1.
        cost: the approximate number of edges and vertices of a task.
    """
    if high <= low:
        return np.zeros((0, 3), dtype=np.int64)
    offsets = pages.adjacency.offsets.view(np.int64)[low : high + 1]
    page = int(np.searchsorted(pages.firsts, low, side="right")) - 1
    firsts = pages.firsts[page + 1 : int(np.searchsorted(pages.firsts, high))] - low
    longs = pages.longs[slice(*np.searchsorted(pages.longs[:, 0], (low, high))), 0] - low
    tasks = _short_tasks(offsets, np.diff(offsets), longs, firsts, cost)
    tasks += np.array([page + 1, low, low])
    return tasks


def distinct(values: Int64s) -> Int64s:
    """The distinct values in increasing order. NumPy's `unique` would import masked arrays and slow down start-up."""
    values = np.sort(values)
    new = np.ones(len(values), dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return np.compress(new, values)


def segment_tasks(pages: Int64s, per_task: int) -> Int64s:
    """Tasks over all segments: a task ends at the end of a page, or after `per_task` segments."""
    total = len(pages)
    if total == 0:
        return np.zeros((0, 3), dtype=np.int64)
    changes = np.flatnonzero(np.diff(pages)) + 1
    cuts = distinct(np.concatenate([np.arange(0, total, per_task), changes, [total]]))
    return np.ascontiguousarray(np.stack([pages[cuts[:-1]], cuts[:-1], cuts[1:]], axis=1))


@lru_cache(maxsize=16)
def vertex_tasks(n: int, size: int) -> Int64s:
    """Tasks over all vertices, with `size` vertices each: int64[T, 3] with page 0, first and end vertex.

    The result is kept for later calls, so it must not be changed.
    """
    low = np.arange(0, n, size, dtype=np.int64)
    tasks = np.zeros((len(low), 3), np.int64)
    tasks[:, 1] = low
    np.minimum(low + size, n, out=tasks[:, 2])
    return tasks
