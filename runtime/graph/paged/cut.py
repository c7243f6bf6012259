"""Cuts the adjacency of one direction into the pages of a page file, given only the degrees.

A page ends before the row that would make it larger than the page size. The size includes the offsets, so rows without
edges take space, too. A page is never much larger than the page size, unless a single row or segment is larger. As in
runtime/graph/topology/pages.py, the end of a page cuts only rows of more than SEGMENT edges, and only between two
segments.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.topology.pages import distinct, segment_tasks
from vlang.runtime.plan.plan import SEGMENT
from vlang.runtime.storage.page_file.directory import Directory

__all__ = ["TASK_COST", "cut_directory"]

TASK_COST = 1 << 16
"""Number of edges plus vertices in a task.

It does not depend on the size of the graph, so that even a few pages have tasks for all threads.
"""

Int64s = NDArray[np.int64]


def cut_directory(degrees: NDArray[np.uint32], page_bytes: int, edge_bytes: int, whole: bool = False) -> Directory:
    """The directory of the pages for rows with these degrees. The checksums in the directory are 0.

    Args:
        degrees: uint32[n].
        page_bytes: the size in bytes at which a page ends and the next one begins.
        edge_bytes: bytes of an edge with its columns.
        whole: True if the end of a page must not cut a row; a page may then be as large as the longest row.

    The function uses memory for the result only.
    """
    starts, firsts = _cut_pages(degrees, page_bytes, edge_bytes, whole)
    longs, segments, breaks = _scan(degrees, int(starts[-1]))
    pages = np.searchsorted(starts[:-1], segments[:, 1], side="right") - 1
    segments[:, 1:] -= starts[pages, None]
    return Directory(
        starts, firsts, longs, segments, pages.astype(np.int64), _tasks(len(degrees), longs[:, 0], firsts, breaks),
        segment_tasks(pages, max(1, TASK_COST // SEGMENT)), np.zeros(len(firsts), dtype=np.uint64), TASK_COST,
    )  # fmt: skip


def _cut_pages(
    degrees: NDArray[np.uint32], page_bytes: int, edge_bytes: int, whole: bool
) -> tuple[Int64s, Int64s]:
    """Two arrays: the first edge of each page, followed by the number of all edges; and the first vertex of each
    page.
    """
    n, total = len(degrees), int(degrees.sum(dtype=np.int64))
    room = page_bytes - 256  # 256 bytes are reserved for the alignment of the arrays in a page
    count = 2 * (4 * n + edge_bytes * total) // room + 16
    while True:
        most = count
        starts, firsts = np.empty((2, most), np.int64)
        count = kernels("page_file")["cut_pages"](degrees, n, total, 0 if whole else SEGMENT, room, edge_bytes, starts,
                                                  firsts, most)  # fmt: skip
        if count <= most:
            return np.append(starts[:count], total), firsts[:count].copy()


def _scan(degrees: NDArray[np.uint32], total: int) -> tuple[Int64s, Int64s, Int64s]:
    """The long vertices, their segments (by edge numbers of the whole adjacency), and the ends of equal-cost tasks."""
    n = len(degrees)
    found, breaks = np.empty((total // SEGMENT + 1, 2), np.int64), np.empty((n + total) // TASK_COST + 1, np.int64)
    counts = np.zeros(2, np.int64)
    kernels("page_file")["cut_tasks"](degrees, n, SEGMENT, TASK_COST, found, breaks, counts)
    vertex, begin = found[: counts[0]].T
    length = degrees[vertex].astype(np.int64)
    per_long = -(-length // SEGMENT)
    ends = np.cumsum(per_long)
    longs = np.stack([vertex, ends - per_long, ends], axis=1)
    owner = np.repeat(np.arange(len(vertex)), per_long)
    low_edge = begin[owner] + (np.arange(len(owner)) - longs[owner, 1]) * SEGMENT
    high_edge = np.minimum(low_edge + SEGMENT, (begin + length)[owner])
    segments = np.ascontiguousarray(np.stack([vertex[owner], low_edge, high_edge], axis=1))
    return longs, segments, breaks[: counts[1]]


def _tasks(n: int, longs: Int64s, firsts: Int64s, breaks: Int64s) -> Int64s:
    """Tasks over the short vertices.

    Tasks end at the end of a page, before and after a long vertex, and at `breaks`.
    """
    cuts = distinct(np.concatenate([[0, n], breaks, firsts, longs, longs + 1]))
    cuts = cuts[cuts <= n]
    low, high = cuts[:-1], cuts[1:]
    at = np.searchsorted(longs, low)
    short = np.append(longs, -1)[at] != low
    low, high = low[short], high[short]
    page = np.searchsorted(firsts, low, side="right") - 1
    return np.ascontiguousarray(np.stack([page, low, high], axis=1).astype(np.int64))
