"""The transfer of a page's edges to a kernel: from the cache, by a copy of the page, or by direct reads of host memory.

A copy moves all edges of a page at the full rate of the link. Direct reads move only the edges of active vertices. But
direct reads move whole cache lines, and have an additional cost for each memory page of the host that they touch. The
cheaper method is chosen for each page, as in HyTGraph (ICDE 2023, section V). HyTGraph has a third method for pushes:
the CPU gathers the active rows, and the gathered rows are copied (vlang.runtime.gpu.topology.engines). The CPU gathers
rows only if an option requests the third method or selects the published formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.gpu.topology.tasks import Task
from vlang.runtime.threads.moved import NOTHING, Moved

__all__ = ["HOST_PAGE", "ROW_ENDS", "Link", "Marks", "Packing", "Traffic", "Transfer", "worth_copying"]


@dataclass(frozen=True)
class Link:
    """The cost of moving bytes from the host, as measured on PCIe 5 x16.

    Attributes:
        start: seconds until a copy starts.
        copied: bytes per second of copies.
        direct: bytes per second of direct reads of unaligned rows.
        touched: pages of host memory per second that random reads can touch.
        page: seconds of the host to queue the copies, events and launch of a page, while earlier pages are copied.
    """

    start: float = 2.6e-6
    copied: float = 55.5e9
    direct: float = 36e9
    touched: float = 61e6
    page: float = 0.0

    def whole(self, nbytes: Any) -> Any:
        """Return the seconds that a copied page of a superstep takes, by the size of the page in bytes (a number or an
        array).
        """
        return np.maximum(self.page, self.start + nbytes / self.copied)


HOST_PAGE = 4096  # bytes
_GATHER = 200e-6  # seconds: additional time of a superstep over gathered rows
_SORTING = 6.4e-3  # seconds by which the order of pages must be faster; measured: docs/internals/gpu-performance.md
ROW_ENDS = 96  # average number of surplus bytes per row, as reads move whole lines of 128 bytes


@dataclass(frozen=True)
class Marks:
    """The active vertices, by page.

    Attributes:
        vertices: int64[P], the number of active vertices with edges in each page; for a queue, the number of its
            entries.
        edges: int64[P], the number of edges of active vertices in each page.
        heavy: int64[P], how many of these vertices or entries have so many edges that a whole warp processes each.
        lines: int64[P], the number of memory lines of 128 bytes that hold the neighbours of these edges.
        rest: the number of active vertices without edges.
        engines: int64[P], the transfer that a kernel chose for each page: 0 whole, 1 in place, 2 gathered; None if no
            kernel chose.
    """

    vertices: NDArray[np.int64]
    edges: NDArray[np.int64]
    heavy: NDArray[np.int64]
    lines: NDArray[np.int64]
    rest: int = 0
    engines: NDArray[np.int64] | None = None

    @staticmethod
    def of(counts: NDArray[np.int64], chosen: bool = False) -> Marks:
        """Return the marks for the counts that kernels write, int64[P + 1, MARK_WORDS].

        The last row counts vertices without edges. `chosen` says whether a kernel has chosen the transfers.
        """
        vertices, edges, heavy, lines, engines = counts[:-1].T
        return Marks(vertices, edges, heavy, lines, int(counts[-1, 0]), engines if chosen else None)


@dataclass(frozen=True)
class Transfer:
    """The pages that a pass needs.

    Attributes:
        whole: the pages that are cached or must be copied.
        direct: the pages that kernels read directly from host memory.
        packed: the pages whose active rows the CPU gathers.
        tasks: the pages `whole`, grouped into tasks of one launch each; () if each page is a task.
        ordered: whether the tasks are processed in their order; otherwise tasks whose pages are on the device come
            first.
    """

    whole: tuple[int, ...]
    direct: tuple[int, ...] = ()
    packed: tuple[int, ...] = ()
    tasks: tuple[Task, ...] = ()
    ordered: bool = False


@dataclass
class Traffic:
    """Counters of the data that passes moved.

    Attributes:
        copied: the bytes copied.
        direct: the estimated bytes read directly.
        copies: the number of pages copied.
        hits: the number of pages found in the cache.
        skipped: the number of pages not needed.
        read: the number of pages read directly.
        packed: the number of pages whose active rows were gathered; their bytes are copied.
    """

    copied: int = 0
    direct: int = 0
    copies: int = 0
    hits: int = 0
    skipped: int = 0
    read: int = 0
    packed: int = 0

    def add(self, more: Traffic) -> None:
        """Add other counts."""
        for name, count in vars(more).items():
            setattr(self, name, getattr(self, name) + count)

    def moved(self) -> Moved:
        """Return the counts under their names in the history of a run."""
        if not (self.copied or self.direct or self.hits or self.copies or self.packed or self.read):
            return NOTHING
        return Moved(bytes_copied=self.copied, bytes_in_place=self.direct, pages_cached=self.hits,
                     pages_copied=self.copies, pages_packed=self.packed, pages_in_place=self.read)


@dataclass
class Packing:
    """The estimated speed at which the CPU gathers rows. Each gather of a run corrects the estimate.

    Attributes:
        row: seconds for each row.
        byte: seconds for each byte.
    """

    row: float
    byte: float

    @staticmethod
    def by(threads: int) -> Packing:
        """Return the speed that is assumed before the first gather: 80 ns per row, and 5 GB/s for each thread."""
        return Packing(80e-9 / threads, 1 / 5e9 / threads)

    def seconds(self, rows: float, nbytes: float) -> float:
        """Return the expected time of a gather."""
        return rows * self.row + nbytes * self.byte

    def learn(self, rows: int, nbytes: int, seconds: float) -> None:
        """Correct the estimated speed, given that a gather took `seconds`.

        One gather changes the speed at most by a factor of sqrt(2).
        """
        factor = min(2.0, max(0.5, seconds / max(1e-9, self.seconds(rows, nbytes))))
        self.row, self.byte = self.row * factor ** 0.5, self.byte * factor ** 0.5


def worth_copying(
    edges: int, vertices: int, edge_bytes: int, link: Link, packing: Packing | None = None, pages: int = 0
) -> int:
    """Return the smallest number of active edges for which it saves time to find the needed pages and to sort the queue
    by page.

    In the order of the queue, rows are at random places, and the first access to each row misses the device's
    translation caches. In the order of pages, this first access rarely misses, or whole pages are copied. Active
    vertices are assumed to have the average degree.

    Args:
        edges: edges of the adjacency.
        vertices: vertices of the adjacency.
        edge_bytes: bytes per edge.
        link: the cost of the link.
        packing: the speed at which the CPU gathers rows; None if the CPU does not gather rows.
        pages: the number of pages, for each of which a copy takes time of the host.
    """
    degree = max(1.0, edges / max(1, vertices))
    row = 1 / link.touched + (degree * edge_bytes + ROW_ENDS) / link.direct
    copying = max(edges * edge_bytes / link.copied, pages * link.page)
    rows = min(copying / row, _SORTING * link.touched)
    size = degree * edge_bytes
    packed = np.inf if packing is None else max(packing.seconds(1, size), size / link.copied)
    if packed < row:
        rows = min(rows, _GATHER / (row - packed))
    return int(rows * degree) + 1
