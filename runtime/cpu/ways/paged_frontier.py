"""Frontiers as bitmaps over pages on disk: the pages that they need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cpu.paged.source import Columns, Streamed
from vlang.runtime.cpu.paged.work import Tasks, by_page, tasks_of
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.kernels import paged_frontier_kernels
from vlang.runtime.storage.memory import empty

__all__ = ["Frontiers", "bits_set", "set_bits"]


def bits_set(bits: NDArray[np.uint64], n: int) -> NDArray[np.uint8]:
    """A bitmap as flags, uint8[n]."""
    return np.unpackbits(bits.view(np.uint8), bitorder="little")[:n]


def set_bits(bits: NDArray[np.uint64], flags: NDArray[np.uint8]) -> None:
    """Fill a bitmap by bit 0 of flags, uint8[n]."""
    packed = np.packbits(flags & 1, bitorder="little")
    bits[:] = 0
    bits.view(np.uint8)[: len(packed)] = packed


class Frontiers:
    """The pages of one adjacency direction that the vertices of a bitmap need.

    Args:
        passes: has the pages.
        kind: the direction.
        columns: the edge columns that are read with the pages.
    """

    def __init__(self, passes: Passes, kind: str, columns: Columns = ()) -> None:
        assert isinstance(passes.source, Streamed)
        self.kind, self.columns = kind, columns
        self.pages, self.table = passes.source.pages(kind), passes.source.table(kind, columns)
        self.degrees: NDArray[np.uint32] = passes.degrees(kind)
        self._source, self._n = passes.source, passes.graph.n
        self._linked = empty(-(-self._n // 64), np.uint64)
        paged_frontier_kernels()["linked"](self.degrees, self._n, self._linked)

    def batches(self, wanted: NDArray[np.uint8]) -> Iterable[Sequence[Tasks]]:
        """The tasks over rows and over segments of the wanted pages, as their pages arrive."""
        rows, segments = (tasks_of(tasks, wanted) for tasks in (self.pages.tasks, self.pages.segment_tasks))
        return by_page(self._source, self.kind, self.columns, self.table, rows, segments)

    @property
    def weight(self) -> int:
        """The edges of a page, about."""
        return self.pages.edges // self.pages.count

    def wanted(self, bits: NDArray[np.uint64]) -> NDArray[np.uint8]:
        """Which pages hold edges of the vertices whose bits are set: uint8[P], 1 for these pages."""
        pages, kernels = self.pages, paged_frontier_kernels()
        found = np.zeros(pages.count, np.uint8)
        kernels["pages_of"](bits, self._linked, pages.firsts, pages.count, self._n, found)
        kernels["pages_of_longs"](bits, pages.longs, len(pages.longs), pages.segment_pages, found)
        return found

    def missing(self, wanted: NDArray[np.uint8]) -> int:
        """Bytes of pages that are not in memory."""
        return self._source.missing(self.kind, np.flatnonzero(wanted).tolist())

    def edges(self, bits: NDArray[np.uint64]) -> int:
        """Edges of the vertices in a bitmap."""
        return int(paged_frontier_kernels()["edges_of"](bits, self._n, self.degrees))
