"""Finds and reads the pages on disk that have edges of a frontier, which is given as a bitmap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cpu.paged.source import Columns, Streamed
from vlang.runtime.cpu.paged.work import Tasks, by_page, tasks_of
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.kernels import paged_frontier_kernels
from vlang.runtime.storage.memory import empty, zeros

__all__ = ["Frontiers", "bits_set", "set_bits"]


def bits_set(bits: NDArray[np.uint64], n: int) -> NDArray[np.uint8]:
    """Convert a bitmap of n bits to flags, uint8[n]."""
    return np.unpackbits(bits.view(np.uint8), bitorder="little")[:n]


def set_bits(bits: NDArray[np.uint64], flags: NDArray[np.uint8]) -> None:
    """Set each bit of a bitmap to bit 0 of the vertex's flag; `flags` is uint8[n]."""
    packed = np.packbits(flags & 1, bitorder="little")
    bits[:] = 0
    bits.view(np.uint8)[: len(packed)] = packed


def _of_all(degrees: NDArray[Any], n: int) -> NDArray[np.uint32]:
    """The degrees of n vertices, uint32[n]. Vertices beyond the end of `degrees` get 0.

    Copies the array only if needed.
    """
    if len(degrees) == n and degrees.dtype == np.uint32:
        return degrees
    found = zeros(n, np.uint32)
    found[: len(degrees)] = degrees
    return found


class Frontiers:
    """Finds and reads the pages of one adjacency direction that have edges of the vertices in a bitmap.

    Args:
        passes: the passes of the run.
        kind: the adjacency direction.
        columns: the edge columns that kernels read.
    """

    def __init__(self, passes: Passes, kind: str, columns: Columns = ()) -> None:
        self.kind, self.columns = kind, columns
        self.pages, self.table = passes.source.pages(kind), passes.source.table(kind, columns)
        self._source, self._n = passes.source, passes.graph.n
        self.degrees = _of_all(passes.degrees(kind), self._n)
        self._linked = empty(-(-self._n // 64), np.uint64)
        paged_frontier_kernels()["linked"](self.degrees, self._n, self._linked)

    def batches(self, wanted: NDArray[np.uint8]) -> Iterable[Sequence[Tasks]]:
        """Yield the tasks over rows and over segments of the pages with wanted[p] = 1, as the pages arrive."""
        rows, segments = (tasks_of(tasks, wanted) for tasks in (self.pages.tasks, self.pages.segment_tasks))
        return by_page(self._source, self.kind, self.columns, self.table, rows, segments)

    @property
    def weight(self) -> int:
        """The average number of edges in a page."""
        return self.pages.edges // self.pages.count

    def wanted(self, bits: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """The pages with edges of the vertices whose bits are set, as uint8[P]: 1 for these pages, otherwise 0."""
        pages, kernels = self.pages, paged_frontier_kernels()
        found = np.zeros(pages.count, np.uint8)
        kernels["pages_of"](bits, self._linked, pages.firsts, pages.count, self._n, found)
        kernels["pages_of_longs"](bits, pages.longs, len(pages.longs), pages.segment_pages, found)
        return found

    def missing(self, wanted: NDArray[np.uint8]) -> int:
        """The total size in bytes of the pages with wanted[p] = 1 that are not in memory."""
        if not isinstance(self._source, Streamed):
            return 0
        return self._source.missing(self.kind, np.flatnonzero(wanted).tolist())

    def edges(self, bits: NDArray[np.uint64]) -> int:
        """The number of edges of the vertices in a bitmap."""
        return int(paged_frontier_kernels()["edges_of"](bits, self._n, self.degrees))
