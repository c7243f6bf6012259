"""Fills the pages of one direction of a page file, with edges from one or more threads."""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.storage.memory import page_aligned
from vlang.runtime.storage.page_file.directory import Directory
from vlang.runtime.storage.page_file.form import page_layout, page_sizes
from vlang.runtime.threads.tasks import Task

__all__ = ["Close", "Filling"]

Array = NDArray[Any]
Close = Callable[[int, Sequence[Array], NDArray[np.uint8]], None]
"""Receives a finished page: its number, its neighbours and columns, and its bytes."""


@dataclass
class _Open:
    """A page that is being filled.

    Attributes:
        page: the number of the page.
        whole: the buffer of the page, which may be longer than the page.
        views: the neighbours and the columns in the buffer.
        left: the number of edges that are missing.
    """

    page: int
    whole: NDArray[np.uint8]
    views: list[Array]
    left: int


class Filling:
    """The pages of one direction.

    Attributes:
        written: the number of edges so far.
    """

    def __init__(
        self, degrees: NDArray[np.uint32], directory: Directory, rows: NDArray[np.int64],
        columns: Sequence[np.dtype[Any]], close: Close, buffers: int,
    ) -> None:  # fmt: skip
        """Allocate the buffers of pages, and pass on the pages that have no edges.

        Args:
            degrees: uint32[n].
            directory: where pages begin.
            rows: int64[P], the number of rows of each page.
            columns: the dtype of each column.
            close: receives the pages, in any order, but only one at a time.
            buffers: the number of page buffers. With more than one, a thread of its own calls `close`.
        """
        self._degrees, self._directory, self._rows, self._columns = degrees, directory, rows, columns
        self._widths = [dtype.itemsize for dtype in columns]
        self._receive = close
        self._lock, self._closing = allocate_lock(), allocate_lock()
        self._open: dict[int, _Open] = {}
        self._idle: SimpleQueue[NDArray[np.uint8]] = SimpleQueue()
        self._full: SimpleQueue[_Open | None] = SimpleQueue()
        self._failed: BaseException | None = None
        self.written = 0
        largest = int(page_sizes(rows, np.diff(directory.starts), self._widths).max())
        for _ in range(buffers):
            self._idle.put(page_aligned(largest))
        for page in np.flatnonzero(np.diff(directory.starts) == 0).tolist():
            self._close(self._opened(page))
        self._task: Task[None] | None = Task(self._serve) if buffers > 1 else None
        if self._task is not None and not self._task.begin():
            self._task = None

    def put(self, at: int, targets: NDArray[np.uint32], columns: Sequence[Array]) -> None:
        """Write edges. Several threads may call this method at a time.

        Args:
            at: the number of the first edge, in the order of the rows.
            targets: uint32[k], the neighbours.
            columns: the values of each edge column, shape [k] each.
        """
        done, starts = 0, self._directory.starts
        while done < len(targets):
            page = int(np.searchsorted(starts, at + done, side="right")) - 1
            with self._lock:
                if page not in self._open:
                    self._open[page] = self._opened(page)
                opened = self._open[page]
            low = at + done - int(starts[page])
            count = min(len(opened.views[0]) - low, len(targets) - done)
            for view, values in zip(opened.views, (targets, *columns)):
                view[low : low + count] = values[done : done + count]
            done += count
            with self._lock:
                self.written += count
                opened.left -= count
                if opened.left:
                    continue
                del self._open[page]
            if self._task is None:
                with self._closing:
                    self._close(opened)
            else:
                self._full.put(opened)
            if self._failed is not None:
                raise self._failed

    def end(self) -> None:
        """Wait until all pages have been passed on. Raises the first exception of `close`."""
        self.stop()
        if self._failed is not None:
            raise self._failed

    def stop(self) -> None:
        """End the thread that passes on pages."""
        if self._task is not None:
            self._full.put(None)
            self._task.wait()
            self._task = None

    def _serve(self) -> None:
        """Pass on pages until `stop` is called. After an exception, buffers only become idle, so that no thread waits
        for one.
        """
        while (opened := self._full.get()) is not None:
            try:
                if self._failed is None:
                    self._close(opened)
                else:
                    self._idle.put(opened.whole)
            except BaseException as error:
                self._failed = error
                self._idle.put(opened.whole)

    def _opened(self, page: int) -> _Open:
        """Lay out a page in an idle buffer."""
        d = self._directory
        edges = int(d.starts[page + 1] - d.starts[page])
        layout = page_layout(int(self._rows[page]), edges, self._widths)
        whole = self._idle.get()
        buffer = whole[: layout.nbytes]
        buffer[:] = 0
        views = [buffer[layout.targets : layout.targets + 4 * edges].view(np.uint32)]
        for dtype, at in zip(self._columns, layout.columns):
            views.append(buffer[at : at + dtype.itemsize * edges].view(dtype))
        return _Open(page, whole, views, edges)

    def _close(self, opened: _Open) -> None:
        """Write the offsets of a page, and pass it on."""
        d, page = self._directory, opened.page
        rows, first = int(self._rows[page]), int(d.firsts[page])
        edges = int(d.starts[page + 1] - d.starts[page])
        buffer = opened.whole[: page_layout(rows, edges, self._widths).nbytes]
        offsets = buffer[: 4 * (rows + 1)].view(np.uint32)
        kernels("page_file")["cut_offsets"](self._degrees[first : first + rows], rows, self._inside(page), edges,
                                            offsets)  # fmt: skip
        self._receive(page, opened.views, buffer)
        self._idle.put(opened.whole)

    def _inside(self, page: int) -> int:
        """The number of edges that the first vertex of a page has in earlier pages."""
        d, first = self._directory, self._directory.firsts[page]
        at = int(np.searchsorted(d.longs[:, 0], first))
        if at == len(d.longs) or d.longs[at, 0] != first:
            return 0
        segment = d.segments[d.longs[at, 1]]
        begin = int(segment[1] + d.starts[d.segment_pages[d.longs[at, 1]]])
        return max(0, int(d.starts[page]) - begin)
