"""Cuts the adjacency of one direction into the pages of a page file, given only the degrees.

A page ends before the row that would make it larger than the page size. The size includes the offsets, so rows without
edges take space, too. A page is never much larger than the page size, unless a single row or segment is larger. As in
runtime/graph/topology/pages.py, the end of a page cuts only rows of more than SEGMENT edges, and only between two
segments.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.topology.pages import distinct, segment_tasks
from vlang.runtime.plan.plan import SEGMENT
from vlang.runtime.storage.page_file.directory import Directory

__all__ = ["TASK_COST", "cut_directory"]

TASK_COST = 1 << 16
"""Number of edges plus vertices in a task.

It does not depend on the size of the graph, so that even a few pages have tasks for all threads.
"""

_BLOCK = 1 << 16  # vertices that are processed at a time

Int64s = NDArray[np.int64]


def cut_directory(degrees: NDArray[np.uint32], page_bytes: int, edge_bytes: int, whole: bool = False) -> Directory:
    """The directory of the pages for rows with these degrees. The checksums in the directory are 0.

    Args:
        degrees: uint32[n].
        page_bytes: the size in bytes at which a page ends and the next one begins.
        edge_bytes: bytes of an edge with its columns.
        whole: True if the end of a page must not cut a row; a page may then be as large as the longest row.

    The function uses memory for the result, and for a few arrays of 65536 vertices.
    """
    starts, firsts = _cut_pages(degrees, page_bytes, edge_bytes, whole)
    longs, segments, breaks = _scan(degrees)
    pages = np.searchsorted(starts[:-1], segments[:, 1], side="right") - 1
    segments[:, 1:] -= starts[pages, None]
    return Directory(
        starts, firsts, longs, segments, pages.astype(np.int64), _tasks(len(degrees), longs[:, 0], firsts, breaks),
        segment_tasks(pages, max(1, TASK_COST // SEGMENT)), np.zeros(len(firsts), dtype=np.uint64), TASK_COST,
    )  # fmt: skip


def _blocks(degrees: NDArray[np.uint32]) -> Iterator[tuple[int, int, Int64s]]:
    """Yield (first vertex, edges of all earlier vertices, degrees) for blocks of vertices."""
    before = 0
    for first in range(0, len(degrees), _BLOCK):
        block = degrees[first : first + _BLOCK].astype(np.int64)
        edges = int(block.sum())  # computed before `yield`, as the caller may change the block
        yield first, before, block
        before += edges


def _cut_pages(
    degrees: NDArray[np.uint32], page_bytes: int, edge_bytes: int, whole: bool
) -> tuple[Int64s, Int64s]:
    """Two arrays: the first edge of each page, followed by the number of all edges; and the first vertex of each
    page.
    """
    room = page_bytes - 256  # 256 bytes are reserved for the alignment of the arrays in a page
    starts, firsts = [0], [0]
    vertex = edge = 0  # vertex and edge at which the current page begins
    ends = np.zeros(1, dtype=np.int64)
    for low, before, block in _blocks(degrees):
        ends = before + np.cumsum(block)
        size = 4 * np.arange(low + 1, low + len(block) + 1) + edge_bytes * ends  # bytes of all rows up to each vertex
        done = low  # rows before `done` are in finished pages or in the current page
        while done < low + len(block):
            most = 4 * vertex + edge_bytes * edge + room
            done = max(done, low + int(np.searchsorted(size, most, side="right")))
            if done == low + len(block):
                break
            begin = int(ends[done - low]) - int(block[done - low])  # row `done` does not fit into the page as a whole
            at = max(begin, edge)
            if block[done - low] > SEGMENT and not whole:
                fit = (most - 4 * (done + 1) - edge_bytes * at) // (edge_bytes * SEGMENT)
                if fit <= 0 and (vertex, edge) == (done, at):
                    fit = 1
                stop = at + max(0, fit) * SEGMENT
                if stop >= int(ends[done - low]):
                    done, stop = done + 1, int(ends[done - low])
            elif (vertex, edge) == (done, at):
                done, stop = done + 1, int(ends[done - low])
            else:
                stop = at
            if (done, stop) == (len(degrees), int(ends[-1])):
                break
            vertex, edge = done, stop
            starts.append(edge)
            firsts.append(vertex)
    starts.append(int(ends[-1]))
    return np.array(starts, dtype=np.int64), np.array(firsts, dtype=np.int64)


def _scan(degrees: NDArray[np.uint32]) -> tuple[Int64s, Int64s, Int64s]:
    """The long vertices, their segments (by edge numbers of the whole adjacency), and the ends of equal-cost tasks."""
    vertices, begins, lengths, breaks = [], [], [], [np.zeros(0, dtype=np.int64)]
    work = 0
    for low, before, block in _blocks(degrees):
        here = np.flatnonzero(block > SEGMENT)
        vertices.append(low + here)
        begins.append(before + np.cumsum(block)[here] - block[here])
        lengths.append(block[here])
        block[here] = 0
        cost = work + np.cumsum(block + 1)
        first = work // TASK_COST + 1
        work = int(cost[-1])
        even = np.arange(first * TASK_COST, work + 1, TASK_COST)
        breaks.append(low + np.searchsorted(cost, even) + 1)
    none = np.zeros(0, dtype=np.int64)
    vertex, begin, length = (np.concatenate([none, *parts]) for parts in (vertices, begins, lengths))
    per_long = -(-length // SEGMENT)
    ends = np.cumsum(per_long)
    longs = np.stack([vertex, ends - per_long, ends], axis=1)
    owner = np.repeat(np.arange(len(vertex)), per_long)
    low_edge = begin[owner] + (np.arange(len(owner)) - longs[owner, 1]) * SEGMENT
    high_edge = np.minimum(low_edge + SEGMENT, (begin + length)[owner])
    return longs, np.ascontiguousarray(np.stack([vertex[owner], low_edge, high_edge], axis=1)), np.concatenate(breaks)


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
