"""For each vertex, the list of vertices whose field points at it, built by the same counting sort as rows of edges."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.edges.order import Order
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.build import EdgeScan, Rows, build_rows, bytes_in_flight
from vlang.runtime.plan.plan import SEGMENT

__all__ = ["bytes_of_pointers", "most_segments", "pointed_lists"]

_NONE = 0xFFFFFFFF


def most_segments(n: int) -> int:
    """The largest number of segments that n pointers can have: a row of more than SEGMENT entries is cut."""
    return 2 * (n // SEGMENT)


def bytes_of_pointers(n: int) -> tuple[int, int]:
    """The bytes of the lists of one field, and the bytes of temporary memory while these lists are built."""
    return (8 + 4 + 4 + 4) * n, 4 * 4 * n + bytes_in_flight(n, n, False)


def pointed_lists(values: NDArray[Any], order: Order | None, threads: int) -> Adjacency:
    """The vertices that point at each vertex, in increasing order of their numbers.

    Args:
        values: uint32[n], the vertex at which each vertex points, 2^32 - 1 for `none`.
        order: the order in which the graph stores its vertices; None for the order of the vertex numbers.
        threads: the number of threads that build the lists.
    """
    return Adjacency("in", _rows(values, order, threads), {}, lambda name: np.zeros(0), threading.RLock())


def _rows(values: NDArray[Any], order: Order | None, threads: int) -> Rows:
    n = len(values)
    if order is None:
        pointing = np.flatnonzero(values != _NONE).astype(np.uint32)
        return build_rows(EdgeScan(values[pointing], pointing, mirror=False), n, {}, threads)
    ordered = values[order.internal]  # in the order of the vertex numbers
    pointing = np.flatnonzero(ordered != _NONE).astype(np.uint32)
    rows = build_rows(EdgeScan(order.internal[ordered[pointing]], pointing, mirror=False), n, {}, threads)
    return Rows(rows.offsets, order.internal[rows.targets], {})
