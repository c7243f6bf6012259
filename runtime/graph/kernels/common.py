"""Kernels that count the common neighbours of the two ends of every edge, on simple undirected adjacency lists."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "common_of_edges": "void(u64*, u32*, i64, i64, u32*, u32*)",
    "spread": "void(u64*, u32*, u32*, u64*, u32*, i64, i64, u32*)",
}


@njit
def _place(targets: Any, low: Any, high: Any, wanted: Any) -> Any:
    """The index of `wanted` in targets[low:high], which is sorted and contains `wanted`."""
    while high - low > 1:
        middle = (low + high) >> 1
        if targets[middle] <= wanted:
            low = middle
        else:
            high = middle
    return low


def common_of_edges(offsets: Any, targets: Any, first: Any, last: Any, bits: Any, out: Any) -> None:
    """Count the common neighbours of the ends of edges, and write the count to both entries of each edge.

    A call handles the edges whose end of higher degree is in first..last-1. If degrees are equal, the vertex with the
    larger number is taken as the end of higher degree.

    Args:
        offsets, targets: adjacency lists, each row increasing.
        first, last: the range of vertices.
        bits: scratch, one bit per vertex, all 0 before and after the call.
        out: output, u32[entries].
    """
    for a in range(first, last):
        begin, end = np.int64(offsets[a]), np.int64(offsets[a + 1])
        degree = end - begin
        for e in range(begin, end):
            u = np.int64(targets[e])
            bits[u >> 5] = bits[u >> 5] | (np.uint32(1) << np.uint32(u & 31))
        for e in range(begin, end):
            u = np.int64(targets[e])
            low, high = np.int64(offsets[u]), np.int64(offsets[u + 1])
            if high - low < degree or (high - low == degree and u < a):
                count = np.uint32(0)
                for k in range(low, high):
                    w = targets[k]
                    count += (bits[np.int64(w >> np.uint32(5))] >> (w & np.uint32(31))) & np.uint32(1)
                out[e] = count
                out[_place(targets, low, high, np.uint32(a))] = count
        for e in range(begin, end):
            bits[np.int64(targets[e]) >> 5] = np.uint32(0)


def spread(
    offsets: Any, targets: Any, values: Any, all_offsets: Any, all_targets: Any, first: Any, last: Any, out: Any
) -> None:
    """Copy the values of edges from simple lists to lists that also have self-loops and parallel edges.

    The value of a self-loop is the number of neighbours of the vertex.

    Args:
        offsets, targets, values: the simple lists, and one value per entry.
        all_offsets, all_targets: the lists with self-loops and parallel edges.
        first, last: the range of rows.
        out: output, u32, one value per entry of `all_targets`.
    """
    for row in range(first, last):
        at, end = np.int64(offsets[row]), np.int64(offsets[row + 1])
        degree = np.uint32(end - at)
        for e in range(np.int64(all_offsets[row]), np.int64(all_offsets[row + 1])):
            u = all_targets[e]
            if np.int64(u) == row:
                out[e] = degree
                continue
            while targets[at] < u:
                at += 1
            out[e] = values[at]
