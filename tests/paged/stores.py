"""A source of pages for tests. The source serves the pages of a graph in memory late, in any order, or with errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vlang import Graph
from vlang.errors import DiskError
from vlang.options import Options
from vlang.runtime.cpu import placement
from vlang.runtime.cpu.placement import Placement, directions, page_sizes
from vlang.runtime.gpu import gpu_placement
from vlang.runtime.graph.edges.columns import Column
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.pages import PageCuts, Pages
from vlang.runtime.plan.plan import Plan
from vlang.runtime.storage.memory import PAGE, Empty, empty

__all__ = ["MemoryStore", "Views", "opened", "store_of", "streaming"]


@dataclass(frozen=True)
class Views:
    """A page in a buffer."""

    offsets: NDArray[np.uint32]
    targets: NDArray[np.uint32]
    columns: Mapping[str, NDArray[Any]]


class MemoryStore:
    """A `StoredEdges` that serves the pages of a graph in memory as if they were on disk.

    A page is copied into the buffer, and the rest of the buffer is filled with ones. A kernel that reads a page too
    early, or out of bounds, therefore gets wrong values.

    Args:
        graph: the graph.
        page_size: bytes of the neighbours of a page.
        late: the longest random delay of a read in seconds, which lets reads end in any order.
        broken: the kind and number of the page whose read fails.

    Attributes:
        reads: the pages read so far, in order.
    """

    def __init__(self, graph: Graph, page_size: int, late: float = 0.0, broken: tuple[str, int] | None = None) -> None:
        self._graph, self._size, self._late, self._broken = graph, page_size, late, broken
        self.path = self.seal = ""  # empty, as there is no file
        self.name, self.n, self.m, self.directed = graph.name, graph.n, graph.m, graph.directed
        self.columns = {name: Column(dtype, *graph.column_range(name)) for name, dtype in graph.columns.items()}
        self.note = ""
        self.reads: list[tuple[str, int]] = []
        self._rng = np.random.default_rng(7)
        self._lock = threading.Lock()

    def coded(self, columns: Mapping[str, Column]) -> MemoryStore:
        """Return the same pages with other encodings of columns."""
        other = copy(self)
        other.columns = dict(columns)
        return other

    def cuts(self, kind: str) -> PageCuts:
        """Return the page boundaries of an adjacency direction, without the edges."""
        pages = self._pages(kind)
        return PageCuts(**{spec.name: getattr(pages, spec.name) for spec in fields(PageCuts)})

    def kinds(self) -> Sequence[str]:
        """Return the stored adjacency directions."""
        return ("in", "out") if self.directed else ("in",)

    def degrees(self, kind: str, empty: Empty = empty) -> NDArray[np.uint32]:
        """Return the lengths of the rows."""
        return np.array(self._graph.in_degree if kind == "in" else self._graph.out_degree)

    def nbytes(self, kind: str, page: int) -> int:
        """Return the bytes of a page."""
        used = sum(_stored(array) for array in self._arrays(kind, page).values())
        return max(1, -(-used // PAGE)) * PAGE

    def read(self, kind: str, page: int, buffer: NDArray[np.uint8]) -> tuple[Callable[[], Views], int]:
        """Copy a page into the buffer, after a random delay of up to `late` seconds."""
        assert buffer.ctypes.data % PAGE == 0
        assert len(buffer) == self.nbytes(kind, page)
        with self._lock:
            self.reads.append((kind, page))
            late = self._late * float(self._rng.random())
        if late:
            time.sleep(late)
        if self._broken == (kind, page):
            raise DiskError(f"{self.name}: page {page} cannot be read: input/output error")
        buffer[:] = 255
        found, at = {}, 0
        for name, array in self._arrays(kind, page).items():
            found[name] = buffer[at : at + array.nbytes].view(array.dtype)
            found[name][:] = array
            at += _stored(array)
        views = Views(found.pop(" offsets"), found.pop(" targets"), found)
        return lambda: views, len(buffer)

    def spare(self, kind: str) -> int:
        """Return the bytes of memory that reads need in addition to the buffer."""
        return 0

    def random_cost(self) -> float:
        """Return the cost of a random read relative to a sequential read; the value is typical of a disk."""
        return 4.7

    def rate(self, most: int) -> float:
        """Return the rate of page reads, in bytes per second; the value is typical of a disk."""
        return 1e9

    def rows(self) -> Rows:
        """Return all in-edges."""
        base = self._graph.adjacency("in", tuple(self.columns))
        return Rows(base.offsets, base.targets, {name: base.stored(name) for name in self.columns})

    def _pages(self, kind: str) -> Pages:
        adjacency = self._graph.adjacency(kind)
        pages: Pages = adjacency.derived(("pages", self._size), lambda: Pages.cut(adjacency, self._size))
        return pages

    def _arrays(self, kind: str, page: int) -> dict[str, NDArray[Any]]:
        pages = self._pages(kind)
        low, high = pages.starts[page : page + 2].tolist()
        begin = int(pages.offset_starts[page])
        end = int(pages.offset_starts[page + 1]) if page + 1 < pages.count else len(pages.offsets)
        columns = {name: pages.adjacency.stored(name)[low:high] for name in self.columns}
        return {" offsets": pages.offsets[begin:end], " targets": pages.adjacency.targets[low:high], **columns}


def _stored(array: NDArray[Any]) -> int:
    return -(-array.nbytes // 64) * 64


def store_of(graph: Graph) -> MemoryStore:
    """Return the store of a graph from `opened`."""
    assert isinstance(graph.stored, MemoryStore)
    return graph.stored


def opened(graph: Graph, page_size: int, late: float = 0.0, broken: tuple[str, int] | None = None) -> Graph:
    """Return the graph with its edges in a `MemoryStore`."""
    return Graph.on_pages(MemoryStore(graph, page_size, late, broken), graph.ids)


@contextmanager
def streaming(buffers: int, kept: float = 0.0, windows: Path | None = None) -> Iterator[None]:
    """Return a context manager in which runs stream every graph on disk.

    Args:
        buffers: the number of buffers of the ring.
        kept: the share of the pages that fit into memory in addition to the ring.
        windows: the folder for a file with the vertex arrays that are not read at random; None keeps them in memory.
    """

    def place(plan: Plan, graph: Graph, options: Options, beside: int = 0) -> Placement:
        assert graph.stored is not None
        sizes = page_sizes(graph.stored, directions(plan, graph.stored, graph.shape(), options))
        return Placement(True, buffers * max(sizes) + int(kept * sum(sizes)), max(sizes), 0, 0, "streamed", buffers,
                         windows)

    def place_on_gpu(plan: Plan, graph: Graph, options: Options, _pushed: Sequence[str]) -> Placement:
        assert graph.stored is not None
        both = any(stage.domain == "both" for stage in plan.stages) and graph.directed
        sizes = [0, *(graph.stored.nbytes(kind, page) for kind in (*graph.stored.kinds(), *(("both",) if both else ()))
                      for page in range(graph.stored.cuts(kind).count))]
        return Placement(True, buffers * max(sizes) + int(kept * sum(sizes)), max(sizes), 0, 0, "streamed", buffers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "place", place)
        patch.setattr(gpu_placement, "place_on_gpu", place_on_gpu)
        yield
