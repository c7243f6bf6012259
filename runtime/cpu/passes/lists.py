"""Lists of the vertices that a pass runs over, and tasks over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cpu.paged.work import Tasks
from vlang.runtime.engine.state import whole_words
from vlang.runtime.graph.topology.pages import PageCuts, Pages
from vlang.runtime.kernels import frontier_kernels
from vlang.runtime.plan.plan import SEGMENT
from vlang.runtime.storage.memory import empty

__all__ = ["Lists", "long_tasks", "one_each", "short_tasks", "split_flags"]


@dataclass
class Lists:
    """The vertices that a pass processes, in increasing order. A vertex is long if its row is cut into segments.

    Attributes:
        short: uint32, the numbers of the short vertices.
        long: uint32, the indices of the long vertices in the table of long vertices.
        long_vertices: uint32, the numbers of the same vertices.
        shorts: the number of entries of `short` that are in use.
        longs: the number of entries of `long` and `long_vertices` that are in use.
    """

    short: NDArray[np.uint32]
    long: NDArray[np.uint32]
    long_vertices: NDArray[np.uint32]
    shorts: int = 0
    longs: int = 0

    @staticmethod
    def room(n: int, longs: int) -> Lists:
        """Empty lists with capacity for n short vertices and `longs` long vertices."""
        return Lists(empty(n, np.uint32), np.empty(longs, np.uint32), np.empty(longs, np.uint32))


def one_each(pages: PageCuts, vertices: NDArray[np.int64]) -> Tasks:
    """Tasks with one vertex each, for short vertices."""
    page = np.searchsorted(pages.firsts, vertices, side="right") - 1
    at = np.arange(len(vertices), dtype=np.int64)
    tasks = np.stack([page, at, at + 1], axis=1)
    return np.ascontiguousarray(tasks[np.argsort(page, kind="stable")])


def short_tasks(
    pages: PageCuts, lists: Lists, lengths: Callable[[], NDArray[Any]], total: NDArray[np.int64]
) -> tuple[Tasks, int]:
    """Tasks over the listed vertices with short rows, and the number of their edges.

    Args:
        pages: the pages.
        lists: the vertices.
        lengths: returns the length of each row; called only if the pages are not in memory.
        total: scratch memory for a sum, int64[1].
    """
    tasks = np.empty((lists.shorts + 1, 3), dtype=np.int64)
    if isinstance(pages, Pages):
        name, rows = "list_tasks", pages.adjacency.offsets
    else:
        name, rows = "list_tasks_by_degree", lengths()
    made = frontier_kernels()[name](
        lists.short, lists.shorts, rows, pages.firsts, pages.count, pages.cost, tasks, total)
    return tasks[:made], int(total[0])


def long_tasks(pages: PageCuts, lists: Lists) -> tuple[Tasks, int]:
    """Tasks over the segments of the listed vertices with long rows, and the number of their edges."""
    if not lists.longs:
        return np.zeros((0, 3), np.int64), 0
    tasks, total = np.empty((len(pages.segments), 3), dtype=np.int64), np.zeros(1, np.int64)
    made = frontier_kernels()["long_tasks"](
        lists.long, lists.longs, pages.longs, pages.segments, pages.segment_pages, max(1, pages.cost // SEGMENT),
        tasks, total)
    return tasks[:made], int(total[0])


def split_flags(
    flags: NDArray[np.uint8], bit: int, pages: PageCuts, lists: Lists, marks: NDArray[np.uint8]
) -> None:
    """Write flagged vertices to lists, clear all flags, and mark those vertices that must themselves run again.

    Args:
        flags: uint8[n]; cleared.
        bit: the mask of the flag bit that selects a vertex for the lists.
        pages: the pages, which define the long vertices.
        lists: overwritten with the selected vertices.
        marks: uint8[n]; set to 1 for vertices with bit 1 in their flags.
    """
    counts = np.zeros(2, dtype=np.int64)
    kernels = frontier_kernels()
    words = whole_words(flags)
    kernels["split_flags"](words, len(words), bit, pages.longs, len(pages.longs), lists.short, lists.long, counts,
                           marks)
    lists.shorts, lists.longs = counts.tolist()
    kernels["long_vertices"](lists.long, lists.longs, pages.longs, lists.long_vertices)
