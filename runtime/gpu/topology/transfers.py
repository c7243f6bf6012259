"""The transfer of a page's edges to a kernel: from the cache, by a copy of the page, or by direct reads of host memory.

A copy moves all edges of a page at the full rate of the link. Direct reads move only the edges of active vertices, but
in whole cache lines, and with an additional cost for each page of host memory that they touch. The cheaper method is
chosen for each page, as in HyTGraph (ICDE 2023, section 4). Its third method, compaction by the CPU, does not pay off
on a link as fast as PCIe 5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Link", "Marks", "Traffic", "Transfer", "choose_transfer", "worth_copying"]


@dataclass(frozen=True)
class Link:
    """The cost of moving bytes from the host, as measured on PCIe 5 x16.

    Attributes:
        start: seconds until a copy starts.
        copied: bytes per second of copies.
        direct: bytes per second of direct reads of unaligned rows.
        touched: pages of host memory per second that random reads can touch.
    """

    start: float = 2.6e-6
    copied: float = 55.5e9
    direct: float = 36e9
    touched: float = 61e6


_HOST_PAGE = 4096  # bytes
_ENDS = 96  # average number of surplus bytes per row, as reads move whole lines of 128 bytes


@dataclass(frozen=True)
class Marks:
    """The active vertices, by page.

    Attributes:
        vertices: int64[P], the number of active vertices with edges in each page.
        edges: int64[P], the number of edges of active vertices in each page.
    """

    vertices: NDArray[np.int64]
    edges: NDArray[np.int64]


@dataclass(frozen=True)
class Transfer:
    """The pages that a pass needs.

    Attributes:
        whole: the pages that are cached or must be copied.
        direct: the pages that kernels read directly from host memory.
    """

    whole: tuple[int, ...]
    direct: tuple[int, ...] = ()


@dataclass
class Traffic:
    """Counters of the data that passes moved.

    Attributes:
        copied: the bytes copied.
        direct: the estimated bytes read directly.
        copies: the number of pages copied.
        hits: the number of pages found in the cache.
        skipped: the number of pages not needed.
    """

    copied: int = 0
    direct: int = 0
    copies: int = 0
    hits: int = 0
    skipped: int = 0


def choose_transfer(
    marks: Marks, page_edges: NDArray[np.int64], edge_bytes: int, cached: NDArray[np.bool_], link: Link,
    readable: bool,
) -> Transfer:
    """The cheapest transfer of every page.

    Args:
        marks: the active vertices.
        page_edges: int64[P], the number of edges of each page.
        edge_bytes: bytes per edge in the arrays to be read.
        cached: bool[P], whether each page is on the device.
        link: the cost of the link.
        readable: whether kernels can read the arrays in host memory.
    """
    needed = marks.edges > 0
    whole = link.start + page_edges * edge_bytes / link.copied
    touched = np.minimum(marks.vertices, page_edges * edge_bytes // _HOST_PAGE + 1)
    direct = touched / link.touched + (marks.edges * edge_bytes + marks.vertices * _ENDS) / link.direct
    directly = needed & ~cached & (direct < whole) if readable else np.zeros(len(needed), dtype=bool)
    return Transfer(tuple(np.flatnonzero(needed & ~directly).tolist()), tuple(np.flatnonzero(directly).tolist()))


def worth_copying(edges: int, vertices: int, edge_bytes: int, link: Link) -> int:
    """The number of active edges from which a copy of all pages takes no longer than direct reads of the active rows.

    From this number on, it pays off to determine which pages are needed. Active vertices are assumed to have the
    average degree.

    Args:
        edges: edges of the adjacency.
        vertices: vertices of the adjacency.
        edge_bytes: bytes per edge.
        link: the cost of the link.
    """
    degree = max(1.0, edges / max(1, vertices))
    row = 1 / link.touched + (degree * edge_bytes + _ENDS) / link.direct
    return int(edges * edge_bytes / link.copied / row * degree) + 1
