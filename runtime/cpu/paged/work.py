"""The tasks of a pass, divided into batches whose pages are in memory at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cpu.paged.source import Columns, PageSource, Streamed
from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.storage.state.windows import Windows

__all__ = ["Tasks", "by_page", "by_row", "in_windows", "long_groups", "release", "tasks_of", "works_ahead"]

Tasks = NDArray[np.int64]
"""int64[T, 3]: page, and first and end vertex, list index or segment. Tasks are sorted by page."""


def by_page(
    source: PageSource, kind: str, columns: Columns, table: NDArray[np.uint64], *work: Tasks, ahead: bool = False
) -> Iterable[Sequence[Tasks]]:
    """Yield batches of the tasks whose pages are in memory. A graph in memory has one batch with all tasks.

    Args:
        source: the source of the pages.
        kind: the adjacency direction.
        columns: the edge columns of the pass.
        table: the page table of the pass; each batch writes the addresses of its pages into it.
        work: lists of tasks. A batch contains a part of each list in `work`.
        ahead: whether the caller works on a batch while it requests the next one (`Ring.stream`). It must finish this
            work when it gets the next batch, which may be empty.
    """
    return _by_page(source, kind, columns, table, work, ahead) if isinstance(source, Streamed) else (work,)


def _by_page(
    source: Streamed, kind: str, columns: Columns, table: NDArray[np.uint64], work: Sequence[Tasks], ahead: bool
) -> Iterator[Sequence[Tasks]]:
    cuts = [_Cut(tasks, source.pages(kind).count) for tasks in work]
    wanted = np.flatnonzero(sum((cut.counts for cut in cuts), np.zeros(1, np.int64)))
    with closing(source.batches(kind, columns, table, [(page,) for page in wanted.tolist()],
                                ahead)) as batches:
        for pages in batches:
            yield [cut.of(pages) for cut in cuts]


def works_ahead(source: PageSource, columns: Columns, windows: Windows | None, threads: int) -> bool:
    """Return whether other threads work on a batch while the thread of the run requests and checks the next one.

    A single thread cannot. Windows are released, and converted columns are freed, when the next batch is requested.

    Args:
        source, columns: as for `by_page`.
        windows: the windows of the arrays over vertices, if they are in files.
        threads: the number of threads of the run.
    """
    return isinstance(source, Streamed) and threads > 1 and windows is None and not source.converts(columns)


def by_row(
    source: PageSource, kind: str, columns: Columns, table: NDArray[np.uint64], longs: NDArray[np.int64], tasks: Tasks
) -> Iterable[tuple[NDArray[np.int64], Tasks]]:
    """Like `by_page`, for passes that need all edges of a vertex at once. All pages with edges of a long vertex are in
    one batch.

    Args:
        source, kind, columns, table: as for `by_page`.
        longs: the indices, in increasing order, of the long vertices of the pass, whose rows are cut into segments.
        tasks: the tasks over short vertices.

    Yields the long vertices and the tasks of each batch.
    """
    return _by_row(source, kind, columns, table, longs, tasks) if isinstance(source, Streamed) else ((longs, tasks),)


def _by_row(
    source: Streamed, kind: str, columns: Columns, table: NDArray[np.uint64], longs: NDArray[np.int64], tasks: Tasks
) -> Iterator[tuple[NDArray[np.int64], Tasks]]:
    pages = source.pages(kind)
    cut = _Cut(tasks, pages.count)
    first = pages.segment_pages[pages.longs[longs, 1]]
    groups = long_groups(pages, longs, np.flatnonzero(cut.counts))
    with closing(source.batches(kind, columns, table, groups)) as batches:
        for numbers in batches:
            yield longs[np.isin(first, numbers)], cut.of(numbers)


def tasks_of(tasks: Tasks, wanted: NDArray[np.uint8]) -> Tasks:
    """The tasks of the pages p with wanted[p] = 1; `wanted` is uint8[P]."""
    chosen: Tasks = tasks[wanted[tasks[:, 0]] != 0]
    return chosen


def long_groups(pages: PageCuts, longs: NDArray[np.int64], others: NDArray[np.int64]) -> list[range]:
    """Group the pages of long vertices and the pages `others`, such that all pages of a vertex are in one group."""
    low = pages.segment_pages[pages.longs[longs, 1]]
    high = pages.segment_pages[pages.longs[longs, 2] - 1]
    low, high = np.concatenate([low, others]), np.concatenate([high, others])
    order = np.lexsort((high, low))
    groups: list[range] = []
    for begin, last in zip(low[order].tolist(), high[order].tolist()):
        if groups and begin < groups[-1].stop:
            groups[-1] = range(groups[-1].start, max(groups[-1].stop, last + 1))
        else:
            groups.append(range(begin, last + 1))
    return groups


def release(windows: Windows | None, tasks: Tasks) -> None:
    """Release the parts of windows that contain the vertices of some tasks, page by page.

    An access to a released part reads the part back from the file.
    """
    if windows is None or not len(tasks):
        return
    starts = np.flatnonzero(np.diff(tasks[:, 0], prepend=-1))
    for first, last in zip(tasks[starts, 1].tolist(), tasks[np.append(starts[1:], len(tasks)) - 1, 2].tolist()):
        windows.release(first, last)


def in_windows(windows: Windows | None, tasks: Tasks, n: int) -> Iterator[tuple[Tasks, int]]:
    """Yield tasks over all n vertices, with their cost: one window at a time or, if there are no windows, all tasks at
    once.
    """
    if windows is None:
        yield tasks, n
        return
    for first, last in windows.parts():
        low, high = np.searchsorted(tasks[:, 1], (first, last)).tolist()
        yield tasks[low:high], last - first
        windows.release(first, last)


class _Cut:
    """A list of tasks, with the first task and the number of tasks of each page."""

    def __init__(self, tasks: Tasks, pages: int) -> None:
        self._tasks = tasks
        self._starts = np.searchsorted(tasks[:, 0], np.arange(pages + 1))
        self.counts = np.diff(self._starts)

    def of(self, pages: NDArray[np.int64]) -> Tasks:
        """The tasks of some pages, in the order of the pages."""
        parts = [self._tasks[self._starts[page] : self._starts[page + 1]] for page in pages.tolist()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else self._tasks[:0]
