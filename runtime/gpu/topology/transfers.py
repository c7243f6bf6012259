"""How the edges of a page reach a kernel: cached, copied whole, or read from host memory as they are needed.

Whole copies move every edge of a page at the full rate of the link; direct reads move only the edges of the vertices
at work, but whole lines of them, and pay for every page of host memory that they touch. The cheaper one is taken for
each page (the idea of HyTGraph, ICDE 2023, section 4, whose third way, compaction by the CPU, does not pay on links as
fast as this one).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Link", "Marks", "Traffic", "Transfer", "choose_transfer", "worth_copying"]


@dataclass(frozen=True)
class Link:
    """What moving bytes from the host costs, as measured on PCIe 5 x16.

    start: seconds that a copy takes to start. copied: bytes a second of copies. direct: of direct reads of rows that
    are not aligned. touched: pages of host memory that reads in no order can touch in a second.
    """

    start: float = 2.6e-6
    copied: float = 55.5e9
    direct: float = 36e9
    touched: float = 61e6


_HOST_PAGE = 4096  # bytes
_ENDS = 96  # bytes of lines of 128 that a row reads beside its own, on average


@dataclass(frozen=True)
class Marks:
    """The vertices at work. vertices, edges: int64[P], how many of them have edges in each page, and those edges."""

    vertices: NDArray[np.int64]
    edges: NDArray[np.int64]


@dataclass(frozen=True)
class Transfer:
    """The pages to copy (or that are cached) and those to read directly; others hold no edge that is needed."""

    whole: tuple[int, ...]
    direct: tuple[int, ...] = ()


@dataclass
class Traffic:
    """What passes moved. copied, direct: bytes (direct ones as estimated from marks); copies, hits, skipped: pages that
    were copied, found in the cache, and not needed."""

    copied: int = 0
    direct: int = 0
    copies: int = 0
    hits: int = 0
    skipped: int = 0


def choose_transfer(
    marks: Marks, page_edges: NDArray[np.int64], edge_bytes: int, cached: NDArray[np.bool_], link: Link,
    readable: bool,
) -> Transfer:
    """The cheapest way for every page. page_edges: int64[P]; edge_bytes: of the arrays to be read; cached: bool[P];
    readable: whether kernels can read the host's arrays."""
    needed = marks.edges > 0
    whole = link.start + page_edges * edge_bytes / link.copied
    touched = np.minimum(marks.vertices, page_edges * edge_bytes // _HOST_PAGE + 1)
    direct = touched / link.touched + (marks.edges * edge_bytes + marks.vertices * _ENDS) / link.direct
    directly = needed & ~cached & (direct < whole) if readable else np.zeros(len(needed), dtype=bool)
    return Transfer(tuple(np.flatnonzero(needed & ~directly).tolist()), tuple(np.flatnonzero(directly).tolist()))


def worth_copying(edges: int, vertices: int, edge_bytes: int, link: Link) -> int:
    """Edges of vertices at work from which copying all pages takes no longer than reading their rows directly, if the
    vertices are as large as others: from there on it pays to ask which pages are needed. edges, vertices: of the whole
    orientation."""
    degree = max(1.0, edges / max(1, vertices))
    row = 1 / link.touched + (degree * edge_bytes + _ENDS) / link.direct
    return int(edges * edge_bytes / link.copied / row * degree) + 1
