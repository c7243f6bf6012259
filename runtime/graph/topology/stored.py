"""Edges on disk: what the engine asks of them, and what stands for adjacency lists in a graph that has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.columns import Column
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.storage.memory import Empty, empty, page_aligned
from vlang.runtime.storage.page_reader import PageReader

__all__ = ["StoredEdges", "StoredAdjacencies"]


class StoredEdges(PageReader, Protocol):
    """The edges of one graph in pages that are read on demand; its methods may be called by several threads.

    Attributes:
        name: for messages.
        path: by which another process opens them.
        n, m: vertices, and stored directed edges.
        directed: False if every edge is stored in both directions; then all kinds are the one kind "in".
        columns: dtype and range of every edge column.
        note: how pages are read, if not as they should be; "" otherwise.
        seal: identifies the content, edges, columns and ids; known without reading pages.
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

    def cuts(self, kind: str) -> PageCuts:
        """How the adjacency of a kind is cut into pages."""

    def kinds(self) -> Sequence[str]:
        """The kinds that are stored, one for an undirected graph."""

    def degrees(self, kind: str, empty: Empty = empty) -> NDArray[np.uint32]:
        """The lengths of the rows of a kind, uint32[n]. empty: makes the array, and one of half its size."""

    def spare(self, kind: str) -> int:
        """Bytes that reads of a kind take beside the buffers of the caller."""

    def random_cost(self) -> float:
        """How many times as long a random read of 4096 bytes takes as a sequential one; measured once."""

    def rate(self, most: int) -> float:
        """Bytes a second by large reads in order, inf where that is not known; measured once.

        most: bytes of memory for it. Raises DiskError.
        """

    def rows(self) -> Rows:
        """All in-edges with their columns, read into memory. Raises DiskError, GraphError."""


class StoredAdjacencies:
    """Stands for the adjacency lists (`Adjacencies`) of a graph whose edges are on disk: it refuses to build any.

    stored: the edges. threads: how many threads a graph that is derived from it would build with.
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
        """Lengths of the rows of an adjacency, uint32[n]. Raises GraphError beyond 2^32 - 1."""
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
        """The numbers of self-loops and of parallel edges, an undirected one counted once; reads all in-edges once."""
        if self._excess is None:
            self._excess = self._counted_excess()
        return self._excess

    def _counted_excess(self) -> tuple[int, int]:
        cuts, loops, parallel = self._stored.cuts("in"), 0, 0
        row, target = -1, -1  # of the edge before
        for page, first in enumerate(cuts.firsts.tolist()):
            view, _ = self._stored.read("in", page, page_aligned(self._stored.nbytes("in", page)))
            lengths = np.diff(view.offsets)
            rows = np.repeat(np.arange(first, first + len(lengths), dtype=np.int64), lengths)
            targets = view.targets.astype(np.int64)
            loop = targets == rows
            again = (np.append(row, rows[:-1]) == rows) & (np.append(target, targets[:-1]) == targets) & ~loop
            if not self.directed:
                again &= targets < rows
            loops, parallel = loops + int(loop.sum()), parallel + int(again.sum())
            if len(rows):
                row, target = int(rows[-1]), int(targets[-1])
        return loops, parallel

    def source(self) -> NoReturn:
        """Refused: the lists are not in memory."""
        self._refuse()

    def adjacency(self, kind: str, columns: tuple[str, ...] = ()) -> NoReturn:
        """Refused: the lists are not in memory."""
        self._refuse()

    def any(self) -> NoReturn:
        """Refused: the lists are not in memory."""
        self._refuse()

    def neighbours(self) -> NoReturn:
        """Refused: the lists are not in memory."""
        self._refuse()

    def thinned(self, loops: bool, parallel: bool) -> NoReturn:
        """Refused: the lists are not in memory."""
        self._refuse()

    def with_rule(self, rule: object) -> NoReturn:
        """Refused: the columns are those of the file."""
        self._refuse()

    def changed(self, *args: Any) -> NoReturn:
        """Refused: the lists are not in memory."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise GraphError(f"the edges of {self._stored.name} are on disk, and this needs them in memory: read the graph "
                         "with Graph.read instead of Graph.open")
