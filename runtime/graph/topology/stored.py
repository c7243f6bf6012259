"""The interface of edges on disk, and the replacement of adjacency lists in a graph whose edges are on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.columns import Column
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.storage.memory import Empty, empty, page_aligned
from vlang.runtime.storage.reading.page_reader import PageReader

__all__ = ["StoredEdges", "StoredAdjacencies"]


class StoredEdges(PageReader, Protocol):
    """The edges of a graph in pages that are read on demand. Several threads may call the methods at the same time.

    Attributes:
        name: name of the file, for messages.
        path: absolute path, by which another process can open the file.
        n, m: the numbers of vertices and of stored directed edges.
        directed: False if every edge is stored in both directions; then "in" is the only kind.
        columns: name -> dtype and range of every edge column.
        note: a sentence that says why reads go through the page cache of the system; "" if reads bypass the page cache.
        seal: checksum that identifies edges, columns and ids; it is known without reading pages.
    """

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def n(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def directed(self) -> bool: ...
    @property
    def columns(self) -> Mapping[str, Column]: ...
    @property
    def note(self) -> str: ...
    @property
    def seal(self) -> str: ...

    def coded(self, columns: Mapping[str, Column]) -> StoredEdges:
        """An object for these pages that reads columns as `columns` describes."""

    def cuts(self, kind: str) -> PageCuts:
        """Return the directory of the pages into which the adjacency of a kind is cut."""

    def kinds(self) -> Sequence[str]:
        """The kinds of adjacency that are stored: "in" and "out", or "in" alone for an undirected graph."""

    def degrees(self, kind: str, empty: Empty = empty) -> NDArray[np.uint32]:
        """The lengths of the rows of the adjacency `kind`, uint32[n].

        `empty` allocates this array and a temporary array of half the size.
        """

    def spare(self, kind: str) -> int:
        """The memory that a read of adjacency `kind` takes besides the buffer of the caller, in bytes."""

    def random_cost(self) -> float:
        """The time of a random read of 4096 bytes divided by the time of a sequential read; measured once."""

    def rate(self, most: int) -> float:
        """Bytes per second of large sequential reads, inf if the rate cannot be measured; measured once.

        `most` is the number of bytes of memory that the measurement may use. Raises DiskError.
        """

    def rows(self) -> Rows:
        """All in-edges with their columns, read into memory. Raises DiskError, GraphError."""


class StoredAdjacencies:
    """Replaces `Adjacencies` in a graph whose edges are on disk. Methods that need adjacency lists raise GraphError.

    `stored` has the edges, and `threads` is the number of threads that build adjacency lists in derived graphs.
    """

    rule = None
    listed = 0
    built: frozenset[str] = frozenset()

    def __init__(self, stored: StoredEdges, threads: int) -> None:
        self.n, self.directed, self.threads = stored.n, stored.directed, threads
        self.columns = dict(stored.columns)
        self._stored = stored
        self._degrees: dict[str, NDArray[np.uint32]] = {}
        self._excess: tuple[int, int] | None = None

    def degree(self, kind: str) -> NDArray[np.uint32]:
        """Lengths of the rows of an adjacency, uint32[n]. Raises GraphError for a row of 2^32 entries or more."""
        kind = kind if self.directed else "in"
        if kind not in self._degrees:
            self._degrees[kind] = self._counted(kind)
            self._degrees[kind].flags.writeable = False
        return self._degrees[kind]

    def _counted(self, kind: str) -> NDArray[np.uint32]:
        if kind != "both":
            return self._stored.degrees(kind)
        one, other = self.degree("in"), self.degree("out")
        total = one + other
        if (total < one).any():
            raise GraphError("a vertex has 2^32 edges or more; degrees go up to 4294967295")
        return total

    def excess(self) -> tuple[int, int]:
        """The numbers of self-loops and parallel edges; an undirected edge is counted once.

        The first call reads all in-edges.
        """
        if self._excess is None:
            self._excess = self._counted_excess()
        return self._excess

    def _counted_excess(self) -> tuple[int, int]:
        cuts, stored = self._stored.cuts("in"), self._stored
        room = page_aligned(max((stored.nbytes("in", page) for page in range(cuts.count)), default=0))
        found = np.array([0, 0, -1, -1])
        for page, first in enumerate(cuts.firsts.tolist()):
            check, _ = stored.read("in", page, room[: stored.nbytes("in", page)])
            view = check()
            kernels("rows")["count_excess_of_page"](view.offsets, view.targets, len(view.offsets) - 1, first,
                                                    self.directed, found)
        loops, parallel = found[:2].tolist()
        return loops, parallel

    def source(self) -> NoReturn:
        """Raise GraphError, because the adjacency lists are not in memory."""
        self._refuse()

    def adjacency(self, kind: str, columns: tuple[str, ...] = ()) -> NoReturn:
        """Raise GraphError, because the adjacency lists are not in memory."""
        self._refuse()

    def listing(self) -> NoReturn:
        """Raise GraphError, because the edges are not in memory."""
        self._refuse()

    def any(self) -> NoReturn:
        """Raise GraphError, because the adjacency lists are not in memory."""
        self._refuse()

    def neighbours(self) -> NoReturn:
        """Raise GraphError, because the adjacency lists are not in memory."""
        self._refuse()

    def between(self, way: str, name: str, dtype: object) -> NoReturn:
        """Raise GraphError, because the adjacency lists are not in memory."""
        self._refuse()

    def thinned(self, loops: bool, parallel: bool) -> NoReturn:
        """Raise GraphError, because the adjacency lists are not in memory."""
        self._refuse()

    def with_rule(self, rule: object) -> NoReturn:
        """Raise GraphError, because the columns are stored in the file."""
        self._refuse()

    def changed(self, *args: Any) -> NoReturn:
        """Raise GraphError, because the adjacency lists are not in memory."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise GraphError(f"the edges of {self._stored.name} are on disk, and this needs them in memory: read the graph "
                         "with Graph.read instead of Graph.open")
