"""Pages of kind "both" of a directed page file, merged from pages of in-edges and out-edges when they are read.

A merged page holds whole rows, so it is at least as large as its longest row. Long rows have the same segments as in
the merged adjacency in memory. Consecutive merged pages may need edges of the same page of the file. The last few pages
of the file are therefore kept in memory, so that a pass in order reads each page of the file about once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.paged.cut import cut_directory
from vlang.runtime.storage.memory import empty
from vlang.runtime.storage.page_file import PageFile, PageView
from vlang.runtime.storage.page_file.directory import page_rows
from vlang.runtime.storage.page_file.form import PAGE_ALIGN, page_layout

__all__ = ["MergedPages"]

_RECENT = 4  # pages of the file that are kept in memory: about two per direction
_READERS = 2  # approximate number of threads that merge at the same time

Read = Callable[[str, int, NDArray[np.uint8]], PageView]


class MergedPages:
    """The pages of kind "both" of a directed page file.

    Args:
        file: the page file.
        read: a function that reads and checks a page of the file.

    Attributes:
        directory: the directory of the merged pages, without checksums.

    The constructor temporarily uses memory for the degrees of all vertices. Reads use `spare` bytes of memory.
    """

    def __init__(self, file: PageFile, read: Read) -> None:
        self._file, self._read = file, read
        self._columns = [(name, info.dtype) for name, info in file.columns.items()]
        self._widths = [dtype.itemsize for _, dtype in self._columns]
        degrees = {kind: file.degrees(kind) for kind in ("in", "out")}
        both = degrees["in"] + degrees["out"]
        if (both < degrees["in"]).any():
            raise GraphError("a vertex has 2^32 edges or more; degrees go up to 4294967295")
        self.directory = cut_directory(both, file.page_bytes, 4 + sum(self._widths), whole=True)
        self._rows = page_rows(self.directory.firsts, file.n)
        self._edges = {kind: _edges_before(degrees[kind], self.directory.firsts) for kind in degrees}
        self._lock = threading.Lock()
        self._recent: OrderedDict[tuple[str, int], PageView] = OrderedDict()
        self._buffers: list[NDArray[np.uint8]] = []

    def nbytes(self, page: int) -> int:
        """The size of a merged page in bytes."""
        return self._size(page)

    @property
    def spare(self) -> int:
        """Bytes of memory that reads use in addition to the buffer of the caller."""
        largest = max(self._size(page) for page in range(self.directory.count))
        offsets = 8 * (int(self._rows.max(initial=0)) + 1)
        return _RECENT * (self._file.largest_page + PAGE_ALIGN) + 2 * _READERS * (largest + 2 * offsets)

    def read(self, page: int, buffer: NDArray[np.uint8]) -> tuple[PageView, int]:
        """Merge a page into `buffer`.

        Returns views of the page and the number of bytes read. Raises DiskError, GraphError.
        """
        rows, edges = int(self._rows[page]), int(np.diff(self.directory.starts[page : page + 2])[0])
        layout = page_layout(rows, edges, self._widths)
        parts, nbytes = [], 0
        for kind in ("in", "out"):
            part, read = self._part(kind, page)
            parts.append(part)
            nbytes += read
        (in_offsets, in_arrays), (out_offsets, out_arrays) = parts
        offsets = buffer[: 4 * (rows + 1)].view(np.uint32)
        np.add(in_offsets, out_offsets, out=offsets, casting="unsafe")
        places = [layout.targets, *layout.columns]
        found = []
        for at, one, other in zip(places, in_arrays, out_arrays):
            size = one.dtype.itemsize
            values = buffer[at : at + size * edges].view(one.dtype)
            unsigned = f"u{size}"
            kernels("merge")[f"merge{8 * size}"](
                in_offsets, in_arrays[0], out_offsets, out_arrays[0], 0, rows, one.view(unsigned), other.view(unsigned),
                values.view(unsigned))
            found.append(values)
        return PageView(offsets, found[0], dict(zip((name for name, _ in self._columns), found[1:]))), nbytes

    def _size(self, page: int) -> int:
        edges = int(self.directory.starts[page + 1] - self.directory.starts[page])
        return page_layout(int(self._rows[page]), edges, self._widths).nbytes

    def _part(self, kind: str, page: int) -> tuple[tuple[NDArray[np.uint64], list[NDArray[np.generic]]], int]:
        """Copy the rows of one direction that belong to a merged page. Returns the copies and the number of bytes read.

        The copies are the offsets, uint64[rows + 1], and a list of the neighbours and the columns.
        """
        first, rows = int(self.directory.firsts[page]), int(self._rows[page])
        last = first + rows - (page + 1 < self.directory.count)  # the end of the vertices that have edges in the page
        low, high = self._edges[kind][page : page + 2].tolist()
        arrays = [empty(high - low, dtype) for dtype in (np.dtype(np.uint32), *(dtype for _, dtype in self._columns))]
        offsets = np.zeros(rows + 1, np.uint64)
        lengths = offsets[1:]
        nbytes, d = 0, self._file.directory(kind)
        begin, end = (np.searchsorted(d.starts[:-1], (low, high - 1), side="right") - 1).tolist()
        for number in range(begin, end + 1) if high > low else ():
            start = int(d.starts[number])
            with self._lock:
                view, read = self._page(kind, number)
                nbytes += read
                a, b = max(low, start), min(high, start + len(view.targets))
                for array, values in zip(arrays, (view.targets, *view.columns.values())):
                    array[a - low : b - low] = values[a - start : b - start]
                here = int(d.firsts[number])
                v, w = max(first, here), min(last, here + len(view.offsets) - 1)
                if v < w:
                    lengths[v - first : w - first] += view.offsets[v - here + 1 : w - here + 1]
                    lengths[v - first : w - first] -= view.offsets[v - here : w - here]
        np.cumsum(lengths, out=lengths)
        if int(offsets[-1]) != high - low:
            raise self._file.page_error(kind, begin, "its rows have other lengths than the table of degrees")
        return (offsets, arrays), nbytes

    def _page(self, kind: str, page: int) -> tuple[PageView, int]:
        """A page of the file, which stays in memory until its buffer is reused, and the number of bytes read."""
        known = self._recent.get((kind, page))
        if known is not None:
            self._recent.move_to_end((kind, page))
            return known, 0
        if len(self._buffers) < _RECENT:
            room = empty(self._file.largest_page + PAGE_ALIGN, np.uint8)
            room = room[-room.ctypes.data % PAGE_ALIGN :]
            self._buffers.append(room)
        else:
            _, old = self._recent.popitem(last=False)
            room = next(buffer for buffer in self._buffers if np.may_share_memory(buffer, old.offsets))
        nbytes = self._file.page_nbytes(kind, page)
        try:
            view = self._recent[kind, page] = self._read(kind, page, room[:nbytes])
        except BaseException:
            self._recent.clear()
            self._buffers.clear()
            raise
        return view, nbytes


def _edges_before(degrees: NDArray[np.uint32], firsts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of edges of the vertices before each page, and of all vertices, int64[P + 1]."""
    if not len(degrees):
        return np.zeros(len(firsts) + 1, np.int64)
    return np.append(0, np.cumsum(np.add.reduceat(degrees, firsts, dtype=np.int64)))
