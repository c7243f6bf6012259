"""Estimates the cost of each transfer of a page, by the formulas of HyTGraph or by measured rates.

HyTGraph (Wang et al., ICDE 2023, section V-A) has three transfer engines. Filter copies a whole page. Compaction
gathers the active rows of a page on the CPU, and copies the gathered rows. With zero-copy, kernels read the rows in
host memory. The kernels of vlang/emit/cuda/skeletons/engines.cuh make the same choices on the device.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.gpu.topology.transfers import HOST_PAGE, ROW_ENDS, Link, Marks, Packing, Transfer

__all__ = ["choose_on_device", "choose_transfer"]

Float64s = NDArray[np.float64]

_LINE, _REQUESTS = 128, 256  # bytes of a request of memory, and requests in a packet of PCIe 3 (m and MR)
_GAMMA = 0.625  # the fixed part of the round trip of a packet in reads in place
_ALPHA, _BETA = 0.8, 0.4  # factors by which compaction must be cheaper than a copy, and than reads in place
_INDEX = 4  # bytes of the place of a packed row (d2)


def choose_transfer(
    marks: Marks, page_edges: NDArray[np.int64], edge_bytes: int, cached: NDArray[np.bool_], link: Link,
    readable: bool, packing: Packing | None = None, asked: str = "auto", published: bool = False,
) -> Transfer:
    """Choose the transfer of every page with active edges.

    Pages on the device need no transfer, and are listed as whole pages.

    Args:
        marks: the active edges.
        page_edges: int64[P], the number of edges of each page.
        edge_bytes: bytes per edge in the arrays to be read.
        cached: bool[P], whether each page is on the device.
        link: the rates of the link.
        readable: whether kernels can read the arrays in host memory.
        packing: the speed at which the CPU gathers rows; None if it cannot gather rows.
        asked: the option `transfer`. If the requested transfer is impossible, whole pages are copied.
        published: whether to choose by the formulas of HyTGraph.
    """
    needed = marks.edges > 0
    missing, none = needed & ~cached, np.zeros(len(needed), dtype=bool)
    if asked == "pages":
        direct, packed = none, none
    elif asked in ("direct", "compact"):
        direct, packed = (missing, none) if asked == "direct" else (none, missing)
    elif marks.engines is not None:
        direct, packed = marks.engines == 1, marks.engines == 2
    elif published:
        direct, packed = _published_choice(marks, page_edges, edge_bytes)
    else:
        whole, in_place, gathered = _measured_costs(marks, page_edges, edge_bytes, link, packing)
        in_place = in_place if readable else np.full(len(needed), np.inf)
        packed = (gathered < whole) & (gathered < in_place)
        direct = (in_place < whole) & ~packed
    direct = missing & direct if readable else none
    packed = missing & packed if packing is not None else none
    copied, read, filled = (tuple(np.flatnonzero(chosen).tolist())
                            for chosen in (needed & ~direct & ~packed, direct, packed))
    return Transfer(copied, read, filled)


def choose_on_device(
    edge_bytes: int, link: Link, readable: bool, packing: Packing | None, published: bool
) -> tuple[str, tuple[int, ...]]:
    """Return the kernel that chooses the transfer of each page, and its arguments after the marks and the starts of
    pages.

    The kernel does not know which pages are cached.

    Args:
        edge_bytes: bytes per edge in the arrays to be read.
        link: the rates of the link.
        readable: whether kernels can read the arrays in host memory.
        packing: the speed at which the CPU gathers rows; None if it cannot gather rows.
        published: whether to choose by the formulas of HyTGraph.
    """
    if published:
        return "choose_published", (edge_bytes,)
    row, byte = (np.inf, np.inf) if packing is None else (packing.row, packing.byte)
    rates = np.array([link.start, link.copied, link.direct, link.touched if readable else 0.0, row, byte, link.page])
    return "choose_measured", (edge_bytes, *rates.view(np.uint64).tolist())


def _measured_costs(
    marks: Marks, page_edges: NDArray[np.int64], edge_bytes: int, link: Link, packing: Packing | None
) -> tuple[Float64s, Float64s, Float64s]:
    """Return the seconds of each engine for the active edges of each page: whole, in place and packed; float64[P] each.

    The CPU gathers rows while earlier rows are being copied.

    Args:
        marks: the active edges.
        page_edges: int64[P], the edges of each page.
        edge_bytes: bytes per edge.
        link: the rates of the link.
        packing: the speed at which the CPU gathers rows; None if it does not gather rows.
    """
    nbytes = page_edges * edge_bytes
    active = marks.edges * edge_bytes
    touched = np.minimum(marks.vertices, nbytes // HOST_PAGE + 1)
    direct = touched / link.touched + (active + marks.vertices * ROW_ENDS) / link.direct
    packed = np.full(len(nbytes), np.inf)
    if packing is not None:
        gathered = marks.vertices * packing.row + active * packing.byte
        packed = link.start + np.maximum(gathered, (active + _INDEX * marks.vertices) / link.copied)
    return link.whole(nbytes), direct, packed


def _published_choice(
    marks: Marks, page_edges: NDArray[np.int64], edge_bytes: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the pages to read in place and the pages to pack, bool[P] each, by formulas 1 to 3 and algorithm 1 of
    HyTGraph.

    The unit of cost is the round trip of a full packet. The count of memory requests is exact: it includes the
    additional requests for unaligned row ends.

    Args:
        marks: the active edges.
        page_edges: int64[P], the edges of each page.
        edge_bytes: bytes per edge (d1).
    """
    per_packet = _LINE * _REQUESTS
    filtered = np.ceil(page_edges * edge_bytes / per_packet)
    compacted = np.ceil((marks.edges * edge_bytes + marks.vertices * _INDEX) / per_packet)
    trip = _GAMMA + (1 - _GAMMA) * marks.edges / np.maximum(1, page_edges)
    in_place = np.ceil(marks.lines * edge_bytes / 4 / _REQUESTS) * trip
    packs = (compacted < _ALPHA * filtered) & (compacted < _BETA * in_place)
    return ~packs & (in_place <= filtered), packs
