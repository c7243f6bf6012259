"""How the edges of a page reach a kernel: cached, copied as a whole, or read directly from host memory.

A whole copy moves every edge of a page at the full rate of the link. Direct reads move only the edges of the active
vertices, but in whole cache lines, and each page of host memory touched adds a cost. The cheaper method is taken for
each page. This is the idea of HyTGraph (ICDE 2023, section 4); its third method, compaction by the CPU, does not pay
off on a link as fast as this one.
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
_ENDS = 96  # surplus bytes per row: reads move whole lines of 128 bytes; an average


@dataclass(frozen=True)
class Marks:
    """The active vertices. vertices, edges: int64[P], for each page the vertices with edges in it, and those edges."""

    vertices: NDArray[np.int64]
    edges: NDArray[np.int64]


@dataclass(frozen=True)
class Transfer:
    """whole: pages to copy, or cached; direct: pages to read directly. No other page holds an edge that is needed."""

    whole: tuple[int, ...]
    direct: tuple[int, ...] = ()


@dataclass
class Traffic:
    """Data that passes moved.

    Attributes:
        copied: bytes copied.
        direct: bytes read directly, as estimated from marks.
        copies: pages copied.
        hits: pages found in the cache.
        skipped: pages not needed.
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
        page_edges: int64[P], edges of each page.
        edge_bytes: bytes per edge in the arrays to be read.
        cached: bool[P], pages on the device.
        link: the cost of the link.
        readable: whether kernels can read the host's arrays.
    """
    needed = marks.edges > 0
    whole = link.start + page_edges * edge_bytes / link.copied
    touched = np.minimum(marks.vertices, page_edges * edge_bytes // _HOST_PAGE + 1)
    direct = touched / link.touched + (marks.edges * edge_bytes + marks.vertices * _ENDS) / link.direct
    directly = needed & ~cached & (direct < whole) if readable else np.zeros(len(needed), dtype=bool)
    return Transfer(tuple(np.flatnonzero(needed & ~directly).tolist()), tuple(np.flatnonzero(directly).tolist()))


def worth_copying(edges: int, vertices: int, edge_bytes: int, link: Link) -> int:
    """The number of active edges from which copying all pages takes no longer than reading their rows directly.

    From there on, finding out which pages are needed pays off. Active vertices are assumed to have the average degree.

    Args:
        edges: edges of the adjacency.
        vertices: vertices of the adjacency.
        edge_bytes: bytes per edge.
        link: the cost of the link.
    """
    degree = max(1.0, edges / max(1, vertices))
    row = 1 / link.touched + (degree * edge_bytes + _ENDS) / link.direct
    return int(edges * edge_bytes / link.copied / row * degree) + 1
