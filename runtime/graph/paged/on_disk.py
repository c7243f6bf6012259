"""`Graph.open`: a graph whose edges stay in a page file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.columns import Column
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.order import Order
from vlang.runtime.graph.edges.texts import Texts, TextVertexIds
from vlang.runtime.graph.paged.in_memory import order_of, rows_of
from vlang.runtime.graph.paged.merged import MergedPages
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.storage.disk_arrays import DiskArrays
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.memory import Empty, empty
from vlang.runtime.storage.page_file import PageFile, PageView
from vlang.runtime.storage.page_file.sections import damaged
from vlang.runtime.storage.reading.direct import DirectFiles

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["FileEdges", "open_graph"]

_ORDER = 8  # bytes per vertex of an `Order`
_TEXT = 72  # bytes per id that is a text in memory


class FileEdges:
    """The edges of a page file. Implements `StoredEdges` of runtime/graph/topology/stored.py."""

    def __init__(self, file: PageFile) -> None:
        self._file = file
        self._read = DirectFiles(file.stripes)
        self.name, self.path = file.path.name, os.path.abspath(file.path)
        self.n, self.m, self.directed = file.n, file.m, file.directed
        self.seal = file.fingerprint.hex()
        self.columns: Mapping[str, Column] = {
            name: Column(info.dtype, info.least, info.greatest) for name, info in file.columns.items()}

    def coded(self, columns: Mapping[str, Column]) -> FileEdges:
        """See `StoredEdges.coded`."""
        other = copy(self)
        other.columns = columns
        return other

    @cached_property
    def _merged(self) -> MergedPages:
        def read(kind: str, page: int, buffer: NDArray[np.uint8]) -> PageView:
            return self.read(kind, page, buffer)[0]()

        return MergedPages(self._file, read)

    @property
    def note(self) -> str:
        """A sentence that says why reads use the page cache of the system; "" if reads do not use the page cache."""
        return self._read.note

    def cuts(self, kind: str) -> PageCuts:
        """Return the directory of the pages into which the adjacency of a kind is cut."""
        d = self._merged.directory if kind == "both" else self._file.directory(kind)
        return PageCuts(self.n, d.starts, d.firsts, d.longs, d.segments, d.segment_pages, d.cost, d.tasks,
                        d.segment_tasks)

    def kinds(self) -> Sequence[str]:
        """The kinds of adjacency that are stored: "in" and "out", or "in" alone for an undirected graph."""
        return self._file.kinds

    def degrees(self, kind: str, empty: Empty = empty) -> NDArray[np.uint32]:
        """The lengths of the rows of the adjacency `kind`, uint32[n].

        `empty` allocates the array of the lengths and a temporary array of half the size.
        """
        return self._file.degrees(kind, empty)

    def nbytes(self, kind: str, page: int) -> int:
        """The size of a page in bytes."""
        return self._merged.nbytes(page) if kind == "both" else self._file.page_nbytes(kind, page)

    def read(self, kind: str, page: int, buffer: NDArray[np.uint8]) -> tuple[Callable[[], PageView], int]:
        """Read a page into an aligned buffer. Returns its check and the bytes read. Raises DiskError, GraphError."""
        if kind == "both":  # the parts are checked before they are merged
            view, nbytes = self._merged.read(page, buffer)
            return lambda: view, nbytes
        extent = self._file.extent(kind, page)
        self._read.read(extent.stripe, extent.offset, buffer)
        return partial(self._file.view, kind, page, buffer), extent.nbytes

    def spare(self, kind: str) -> int:
        """The memory that a read of adjacency `kind` takes besides the buffer of the caller, in bytes."""
        return self._merged.spare if kind == "both" else 0

    def random_cost(self) -> float:
        """The time of a random read of 4096 bytes divided by the time of a sequential read; measured once."""
        return self._read.random_cost

    def rate(self, most: int) -> float:
        """Bytes per second of large sequential reads, inf if the files are too small to measure; measured once."""
        return self._read.rate(most)

    def rows(self) -> Rows:
        """All in-edges with their columns, read into memory. Raises DiskError, GraphError."""
        return rows_of(self._file)


def open_graph(graph_type: type[Graph], path: str | os.PathLike[str], threads: int | None) -> Graph:
    """Build a graph of class `graph_type`; see `Graph.open`."""
    file = PageFile.open(Path(path))
    return graph_type.on_pages(FileEdges(file), _ids_of(file), file.description.notes, file.left_out, threads,
                               _order_of(file), file.named)


def _ids_of(file: PageFile) -> VertexIds:
    """The ids of a page file. With a small budget, texts are in a file beside the page file. Raises GraphError."""
    folder = file.path.absolute().parent
    stored = None
    if ledger.left is not None and _TEXT * file.n > ledger.left // 8 and os.access(folder, os.W_OK):
        stored = file.stored_texts(DiskArrays(folder).empty)
    if stored is None:
        return file.ids()
    ids = TextVertexIds(Texts(*stored))
    if not ids.check():
        raise GraphError(f"{file.path}: {damaged('the ids are not UTF-8, or not in increasing order')}")
    return ids


def _order_of(file: PageFile) -> Order | None:
    """The row order of a page file, in memory or, with a small budget, in a file beside the page file.

    A run reads these arrays only at its beginning and its end. See `Graph.order_to_file`.
    """
    folder = file.path.absolute().parent
    large = ledger.left is not None and _ORDER * file.n > ledger.left // 8 and os.access(folder, os.W_OK)
    return order_of(file, DiskArrays(folder).empty if large else empty, large)
