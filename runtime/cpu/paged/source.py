"""The sources of pages for a pass: pages in memory, or pages on disk, which a ring of buffers delivers in batches."""

from __future__ import annotations

from collections.abc import Container, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.edges.columns import cast, converts
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.pages import PageCuts, Pages
from vlang.runtime.plan.plan import PAGE_COLUMNS, PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, PAGE_WORDS

if TYPE_CHECKING:
    from vlang.runtime.graph.topology.stored import StoredEdges
    from vlang.runtime.storage.reading.page_reader import PageViews
    from vlang.runtime.storage.reading.ring import Ring

__all__ = ["CONVERTED", "Columns", "Groups", "InMemory", "PageSource", "Streamed", "converted", "source_of"]

CONVERTED = 4
"""The number of pages whose columns are converted at a time. It is small, as converted columns take extra memory."""

Columns = tuple[tuple[str, str], ...]
"""The edge columns of a pass: pairs of name and type."""

Groups = Sequence[Sequence[int]]
"""Lists of page numbers. All pages of a group must be in memory at the same time."""


class PageSource(Protocol):
    """The pages of one graph."""

    def pages(self, kind: str) -> PageCuts:
        """The boundaries of the pages of an adjacency direction."""

    def table(self, kind: str, columns: Columns) -> NDArray[np.uint64]:
        """The page table of a pass, uint64[P, PAGE_WORDS], with the addresses of each page's arrays."""


class InMemory:
    """The pages of a graph in memory."""

    def __init__(self, graph: Graph, page_size: int) -> None:
        self._graph, self._size = graph, page_size
        self._known: dict[str, Pages] = {}

    def pages(self, kind: str) -> Pages:
        """The pages of an adjacency direction. The direction is cut into pages once per graph."""
        if kind not in self._known:
            adjacency = self._graph.adjacency(kind)
            self._known[kind] = adjacency.derived(("pages", self._size), lambda: Pages.cut(adjacency, self._size))
        return self._known[kind]

    def table(self, kind: str, columns: Columns) -> NDArray[np.uint64]:
        """The page table of a pass, made once per graph. The graph keeps all arrays to which the table points."""
        adjacency = self._graph.adjacency(kind, tuple(name for name, _ in columns))

        def made() -> NDArray[np.uint64]:
            return self.pages(kind).table([adjacency.column(name, DTYPES[dtype]) for name, dtype in columns])

        found: NDArray[np.uint64] = adjacency.derived(("table", self._size, *columns, *dict(columns)), made)
        return found


class Streamed:
    """The pages of a graph on disk, delivered by a ring.

    Args:
        stored: the stored edges.
        ring: the ring that reads the pages of these edges.
    """

    def __init__(self, stored: StoredEdges, ring: Ring) -> None:
        self.ring = ring
        self._stored = stored
        self._known: dict[str, PageCuts] = {}

    def pages(self, kind: str) -> PageCuts:
        """The boundaries of the pages of an adjacency direction."""
        kind = self._kind(kind)
        if kind not in self._known:
            self._known[kind] = self._stored.cuts(kind)
        return self._known[kind]

    def table(self, kind: str, columns: Columns) -> NDArray[np.uint64]:
        """The page table of a pass.

        Initially only the first vertex of each page is set; `batches` writes the addresses.
        """
        pages = self.pages(kind)
        rows = np.zeros((pages.count, PAGE_WORDS), np.uint64)
        rows[:, PAGE_FIRST] = pages.firsts.astype(np.uint64)
        return rows

    def batches(
        self, kind: str, columns: Columns, table: NDArray[np.uint64], groups: Groups, ahead: bool = False
    ) -> Generator[NDArray[np.int64]]:
        """Read pages, and yield the page numbers of each batch that has arrived.

        The rows of the table for a batch are valid until the next batch is requested, or as `Ring.stream` says.

        Args:
            kind: the adjacency direction.
            columns: the edge columns of the pass.
            table: the page table of the pass; each batch writes the addresses of its pages into it.
            groups: the pages to read.
            ahead: as for `Ring.stream`; the columns of the pass are not converted.

        Raises DiskError, GraphError and OutOfMemory.
        """
        ends = {group[-1] for group in groups} if converted(self._stored, columns) else None
        with closing(self.ring.stream(self._kind(kind), groups, ahead)) as stream:
            for batch in stream:
                for part in (batch,) if ends is None else _few(batch, ends):
                    alive = [self._aim(table[page], views, columns) for page, views in part]
                    yield np.array([page for page, _ in part], np.int64)
                    del alive

    @property
    def random_cost(self) -> float:
        """The time of a random read of this disk divided by the time of a sequential read: k in Garaph's rule."""
        return self._stored.random_cost()

    def converts(self, columns: Columns) -> bool:
        """Whether a pass must convert one of its edge columns, so that pages are valid for a part of a batch only."""
        return converted(self._stored, columns) > 0

    def missing(self, kind: str, pages: Iterable[int]) -> int:
        """The total size in bytes of those `pages` that are not in memory."""
        return self.ring.missing(self._kind(kind), pages)

    def _aim(self, row: NDArray[np.uint64], views: PageViews, columns: Columns) -> list[NDArray[np.generic]]:
        """Write the addresses of a page's arrays into its row of the table.

        Returns the arrays of the page's columns, which the caller must keep alive.
        """
        row[PAGE_OFFSETS], row[PAGE_TARGETS] = address_of(views.offsets), address_of(views.targets)
        arrays = [cast(name, views.columns[name], self._stored.columns[name], DTYPES[dtype]) for name, dtype in columns]
        for number, array in enumerate(arrays):
            row[PAGE_COLUMNS + number] = address_of(array)
        return arrays

    def _kind(self, kind: str) -> str:
        return kind if self._stored.directed else "in"


def converted(stored: StoredEdges, columns: Columns) -> int:
    """The bytes per edge of the columns that a pass must convert because its kernels do not read the stored type."""
    types = [(stored.columns[name], DTYPES[dtype]) for name, dtype in columns if name in stored.columns]
    return sum(wanted.itemsize for kept, wanted in types if converts(kept.dtype, wanted) or kept.coding is not None)


def _few(batch: list[tuple[int, PageViews]], ends: Container[int]) -> Iterator[list[tuple[int, PageViews]]]:
    """Cut a batch into parts of about CONVERTED pages without cutting groups.

    `ends` has the last page of each group.
    """
    part: list[tuple[int, PageViews]] = []
    for page, views in batch:
        part.append((page, views))
        if len(part) >= CONVERTED and page in ends:
            yield part
            part = []
    if part:
        yield part


def source_of(graph: Graph, page_size: int, ring: Ring | None) -> PageSource:
    """Return the source of the pages of a graph. `ring` is required if the edges are on disk."""
    if graph.stored is None:
        return InMemory(graph, page_size)
    assert ring is not None
    return Streamed(graph.stored, ring)
