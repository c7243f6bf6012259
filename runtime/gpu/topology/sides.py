"""The edges of one adjacency direction for a topology: adjacency lists in memory, or pages on disk.

Pages are read from disk into a ring of buffers in page-locked memory. Every page is checked before the page is copied
to the device. The checks cover the checksum, offsets and vertex numbers (`StoredEdges.read`). The row lengths must
equal the lengths in the tables on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.gpu.device.device import Device, Event
from vlang.runtime.graph.edges.columns import cast
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.pages import cut_segments
from vlang.runtime.graph.topology.stored import StoredEdges
from vlang.runtime.plan.plan import SEGMENT
from vlang.runtime.storage.reading.page_reader import Check, PageReader, PageViews
from vlang.runtime.storage.reading.ring import Reading, Ring

__all__ = ["DiskPages", "DiskSide", "Side", "arriving_pages", "side_of"]

Int64s = NDArray[np.int64]
Values = Callable[[PageViews], NDArray[Any]]
"""A function that returns the values of an array over edges in a page that was read."""


class DiskPages:
    """The pages of a graph on disk, for one run on a device.

    Implements `vlang.runtime.storage.reading.ring.PageReader`.

    Args:
        device: the device that the pages are copied to.
        stored: the stored edges.
        ring: a function that creates the ring of buffers; its argument is this object, which reads the pages.
    """

    def __init__(self, device: Device, stored: StoredEdges, ring: Callable[[PageReader], Ring]) -> None:
        self.stored, self._device = stored, device
        self._sides: dict[str, DiskSide] = {}
        self._ring = ring(self)
        self._locked: NDArray[np.uint8] | None = None

    @property
    def reading(self) -> Reading:
        """The counters of the pages read so far."""
        return self._ring.reading

    def side(self, kind: str) -> DiskSide:
        """Return the edges of a direction; its offsets are computed once, from the degrees. Raises DiskError and
        GraphError.
        """
        kind = kind if self.stored.directed else "in"
        if kind not in self._sides:
            self._sides[kind] = DiskSide(self, kind)
        return self._sides[kind]

    def forget(self) -> None:
        """Forget the offsets of all directions, so that their memory becomes free."""
        self._sides.clear()

    def nbytes(self, kind: str, page: int) -> int:
        """Return the size of a page in bytes."""
        return self.stored.nbytes(kind, page)

    def read(self, kind: str, page: int, buffer: NDArray[np.uint8]) -> tuple[Check, int]:
        """Read a page into a buffer; called by reading threads. Raises DiskError and GraphError."""
        check, nbytes = self.stored.read(kind, page, buffer)
        return lambda: self._checked(kind, page, check()), nbytes

    def _checked(self, kind: str, page: int, views: PageViews) -> PageViews:
        """Check that the rows of a page have the lengths that the tables on the device have. Raises GraphError."""
        side = self._sides[kind]
        first, low, high = (int(array[page]) for array in (side.firsts, side.starts, side.starts[1:]))
        rows = len(views.offsets) - 1
        if first + rows > side.n or not kernels("page_file")["same_offsets"](
                views.offsets, rows, side.offsets[first : first + rows + 1], low, high - low):
            raise GraphError(f"{self.stored.name}: damaged: page {page:,} of the {kind}-edges: its rows have other "
                             "lengths than the table of degrees; convert the graph again")
        return views

    def stream(self, kind: str, pages: Sequence[int]) -> Generator[list[tuple[int, PageViews]]]:
        """Deliver pages in batches, in any order. The pages of a batch are valid until the next batch is requested.

        Raises the DiskError or GraphError of the first page that cannot be read.
        """
        if self._locked is None:
            self._locked = self._ring.memory()
            self._device.register(self._locked)
        return self._ring.stream(kind, [(page,) for page in pages])

    def close(self) -> None:
        """End the reads, and unlock the memory after all work of the device has ended."""
        self._ring.close()
        if self._locked is not None:
            self._device.unregister(self._locked)
            self._locked = None


class DiskSide:
    """The edges of one adjacency direction on disk: like an `Adjacency`, but with pages instead of edges in memory.

    Attributes:
        kind: the stored direction.
        n: the number of vertices.
        offsets: uint64[n + 1].
        starts: int64[P + 1], the first edge of each page; the last entry is the number of edges.
        firsts: int64[P], the first vertex of each page.
        span: the first vertex over which passes run, and the last such vertex plus 1.
    """

    def __init__(self, pages: DiskPages, kind: str) -> None:
        stored, cuts = pages.stored, pages.stored.cuts(kind)
        self.kind, self.n = kind, stored.n
        self.span = 0, stored.n
        self.starts, self.firsts = cuts.starts, cuts.firsts
        self.offsets = np.zeros(stored.n + 1, np.uint64)
        np.cumsum(_degrees(stored, kind), out=self.offsets[1:])
        self.offsets.flags.writeable = False
        self._pages = pages
        self._derived: dict[Hashable, Any] = {}
        self._check(stored)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def derived(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the object that `make` creates from the offsets on the first use of `key`."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]

    def values(self, name: str, dtype: str) -> Values:
        """Return a function that returns the values of an edge column in a page, converted to the type that kernels
        read.
        """
        return partial(_column, name, self._pages.stored, dtype)

    def batches(self, pages: Sequence[int]) -> Generator[list[tuple[int, PageViews]]]:
        """Read pages, and yield them in batches as they arrive; see `DiskPages.stream`."""
        with closing(self._pages.stream(self.kind, pages)) as stream:
            yield from stream

    def _check(self, stored: StoredEdges) -> None:
        """Raise GraphError unless each page has all edges of its short vertices and only whole segments.

        Kernels rely on this property of pages.
        """
        offsets, starts, firsts = self.offsets.view(np.int64), self.starts, self.firsts
        lasts = np.append(firsts[1:], self.n)  # the end of the vertices of each page
        some = lasts > firsts
        first, last = firsts[some], lasts[some] - 1
        low, high = starts[:-1][some], starts[1:][some]
        long_first, long_last = (offsets[v + 1] - offsets[v] > SEGMENT for v in (first, last))
        begin = np.where(long_first, low, offsets[first])
        end = np.where(long_last, high, offsets[last + 1])
        _, segments = cut_segments(offsets, np.diff(offsets))
        page = np.searchsorted(starts, segments[:, 1], side="right") - 1
        fine = int(offsets[-1]) == int(starts[-1]) and bool((begin >= low).all()) and bool((end <= high).all()) and \
            bool((segments[:, 2] <= starts[page + 1]).all())
        if not fine:
            raise GraphError(f"{stored.name}: damaged: the directory of the {self.kind}-edges does not fit the "
                             "table of degrees; convert the graph again")


Side = Adjacency | DiskSide
"""The edges of one adjacency direction, in memory or on disk."""


def side_of(graph: Graph, disk: DiskPages | None, kind: str, columns: tuple[str, ...] = ()) -> Side:
    """Return the edges of an adjacency direction.

    Args:
        graph: the graph.
        disk: the pages of the graph if they are streamed from disk; None for edges in memory.
        kind: the adjacency direction.
        columns: the edge columns that are needed.
    """
    return graph.adjacency(kind, columns) if disk is None else disk.side(kind)


def _degrees(stored: StoredEdges, kind: str) -> NDArray[np.uint32]:
    if kind != "both":
        return stored.degrees(kind)
    total = stored.degrees("in")
    total += stored.degrees("out")
    return total


def _column(name: str, stored: StoredEdges, dtype: str, views: PageViews) -> NDArray[Any]:
    return np.ascontiguousarray(cast(name, views.columns[name], stored.columns[name], DTYPES[dtype]))


def arriving_pages(device: Device, side: Side, pages: Sequence[int], copied: list[Event]
                   ) -> Generator[tuple[int, PageViews]]:
    """Read pages from disk, and yield each page when it arrives. A buffer is reused only after its page was copied.

    Args:
        device: the device to which the caller copies the pages.
        side: the edges, which are on disk if there are any pages.
        pages: the numbers of the pages.
        copied: a list to which the caller adds an event after each copy that it queues. The list is cleared after each
            batch.
    """
    if not pages:
        return
    assert isinstance(side, DiskSide)
    with closing(side.batches(pages)) as batches:
        for batch in batches:
            yield from batch
            for event in copied:
                device.reach(event)
            copied.clear()
