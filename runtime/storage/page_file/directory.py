"""The directory of the pages of one adjacency direction: their bounds, their checksums, and the tasks that cover them.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.plan.plan import SEGMENT

__all__ = ["Directory", "page_rows"]

Int64s = NDArray[np.int64]

_HEAD = 8  # words before the arrays
_SHAPES = {
    "starts": (0, 1), "firsts": (0, 1), "longs": (1, 3), "segments": (2, 3), "segment_pages": (2, 1), "tasks": (3, 3),
    "segment_tasks": (4, 3), "sums": (0, 1),
}  # fmt: skip
"""For each array, the index of the count in the head that is its length, and its number of columns.

`starts` has one entry more than its count.
"""


@dataclass(frozen=True)
class Directory:
    """The bounds, segments, tasks and checksums of the P pages of one direction, known before any page is read.

    See `graph.topology.pages.Pages`.

    Attributes:
        starts: int64[P + 1], the first edge of each page, and the number of edges.
        firsts: int64[P], the first vertex of each page. Page p has the rows of the vertices firsts[p] to
            firsts[p + 1], inclusive. The last row of a page is empty, unless the end of the page cuts this row.
        longs: int64[L, 3]: vertex, first and end segment of each row that is cut into segments.
        segments: int64[S, 3]: vertex, first and end edge relative to the page.
        segment_pages: int64[S], the page of each segment.
        tasks: int64[T, 3]: page, first and end vertex. Together the tasks cover all vertices that are not in `longs`.
        segment_tasks: int64[T, 3]: page, first and end segment. Together the tasks cover all segments.
        sums: uint64[P], the checksum of each page.
        cost: the number of edges and vertices in a task.
    """

    starts: Int64s
    firsts: Int64s
    longs: Int64s
    segments: Int64s
    segment_pages: Int64s
    tasks: Int64s
    segment_tasks: Int64s
    sums: NDArray[np.uint64]
    cost: int

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self.firsts)

    @cached_property
    def segments_before(self) -> Int64s:
        """The number of segments in the pages before each page, int64[P + 1]."""
        return np.searchsorted(self.segment_pages, np.arange(self.count + 1)).astype(np.int64)

    def to_words(self) -> Int64s:
        """The directory as int64 words, as it is stored in a file."""
        counts = [len(self.firsts), len(self.longs), len(self.segments), len(self.tasks), len(self.segment_tasks)]
        head = np.array([*counts, self.cost, 0, 0], dtype=np.int64)
        arrays = (getattr(self, field.name) for field in fields(self) if field.name in _SHAPES)
        words: Int64s = np.concatenate([head, *(array.reshape(-1).view(np.int64) for array in arrays)])
        return words

    @staticmethod
    def from_words(words: Int64s, n: int, m: int) -> Directory:
        """Read a directory from the words of a file, and check it, so that kernels may use its values as indices.

        Args:
            words: int64, as `to_words` returns them.
            n, m: the number of vertices, and of edges in this direction.

        Raises:
            ValueError: the words are not the directory of a graph with n vertices and m edges. The message gives the
                reason.
        """
        _need(len(words) >= _HEAD, "the directory is cut off")
        counts = words[:5].tolist()
        _need(all(0 <= count <= len(words) for count in counts) and not words[6:_HEAD].any(), "counts of the directory")
        parts, at = {}, _HEAD
        for name, (which, columns) in _SHAPES.items():
            length = counts[which] + (name == "starts")
            part = words[at : at + length * columns]
            _need(len(part) == length * columns, "the directory is cut off")
            parts[name] = part.reshape(length, columns) if columns > 1 else part
            at += length * columns
        _need(at == len(words), "the length of the directory")
        sums = parts.pop("sums").view(np.uint64)
        found = Directory(**parts, sums=sums, cost=int(words[5]))
        _check_pages(found, n, m)
        _check_segments(found, n)
        _check_tasks(found, n)
        return found


def page_rows(firsts: Int64s, n: int) -> Int64s:
    """The number of rows in each page, int64[P], from the first vertex of each page and the number of vertices."""
    rows: Int64s = np.minimum(np.append(firsts[1:] + 1, n), n) - firsts
    return rows


def _need(fine: object, what: str) -> None:
    if not fine:
        raise ValueError(what)


def _rising(values: Int64s, strict: bool = False) -> bool:
    steps = values[1:] - values[:-1]
    return bool((steps > 0).all() if strict else (steps >= 0).all())


def _check_pages(d: Directory, n: int, m: int) -> None:
    _need(d.count >= 1 and d.cost >= 1, "it lists no page")
    _need(d.starts[0] == 0 and d.starts[-1] == m and _rising(d.starts), "the first edges of the pages")
    _need(d.firsts[0] == 0 and d.firsts[-1] < max(n, 1) and _rising(d.firsts), "the first vertices of the pages")
    _need((d.starts[1:] - d.starts[:-1] < 2**32).all(), "a page of more than 2^32 edges")


def _check_segments(d: Directory, n: int) -> None:
    longs, segments, pages = d.longs, d.segments, d.segment_pages
    ends = np.append(longs[:, 2][-1:], 0)[0]
    _need(ends == len(segments) and (longs[:1, 1] == 0).all() and (longs[1:, 1] == longs[:-1, 2]).all()
          and (longs[:, 1] < longs[:, 2]).all(), "the segments of the long vertices")
    _need(_rising(longs[:, 0], True) and (longs[:, 0] >= 0).all() and (longs[:, 0] < n).all(), "the long vertices")
    if not len(segments):
        return
    _need(np.array_equal(np.repeat(longs[:, 0], longs[:, 2] - longs[:, 1]), segments[:, 0]), "a vertex of a segment")
    _need((pages >= 0).all() and (pages < d.count).all() and _rising(pages), "the pages of the segments")
    begin, end = segments[:, 1] + d.starts[pages], segments[:, 2] + d.starts[pages]
    _need((segments[:, 1] >= 0).all() and (begin < end).all() and (end - begin <= SEGMENT).all()
          and (end <= d.starts[pages + 1]).all(), "a segment outside of its page")
    same = segments[1:, 0] == segments[:-1, 0]
    _need((begin[1:] >= end[:-1]).all() and (begin[1:][same] == end[:-1][same]).all(), "the order of the segments")
    row = segments[:, 0] - d.firsts[pages]
    _need((row >= 0).all() and (row < page_rows(d.firsts, n)[pages]).all(), "the page of a segment")
    lengths = np.add.reduceat(end - begin, longs[:, 1])
    _need((lengths > SEGMENT).all(), "a long vertex with few edges")


def _check_tasks(d: Directory, n: int) -> None:
    pages, low, high = d.tasks.T
    _need((low < high).all() and (low[1:] >= high[:-1]).all() and (low[:1] >= 0).all() and (high <= n).all(),
          "the vertices of the tasks")  # fmt: skip
    _need(int((high - low).sum()) + len(d.longs) == n and not _inside(d.longs[:, 0], low, high).any(),
          "the tasks do not cover the vertices")  # fmt: skip
    _need((pages >= 0).all() and (pages < d.count).all(), "the page of a task")
    ends = np.append(d.firsts[1:], n)
    _need((low >= d.firsts[pages]).all() and (high <= ends[pages]).all(), "a task outside of its page")
    pages, low, high = d.segment_tasks.T
    _need((low < high).all() and np.array_equal(low[1:], high[:-1]) and (low[:1] == 0).all()
          and int((high - low).sum()) == len(d.segments), "the tasks do not cover the segments")  # fmt: skip
    if len(pages):
        one, other = d.segment_pages[low], d.segment_pages[high - 1]
        _need((pages == one).all() and (pages == other).all(), "the page of a task")


def _inside(values: Int64s, low: Int64s, high: Int64s) -> NDArray[np.bool_]:
    """Return whether each value lies in one of the ranges low[i]..high[i]-1; the ranges are sorted and disjoint."""
    at = np.searchsorted(low, values, side="right") - 1
    return (at >= 0) & (values < np.append(high, 0)[at])
