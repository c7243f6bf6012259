"""Common neighbours of the ends of every edge, over adjacency lists without directions, loops and repetitions."""

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
    """Where `wanted` stands in the increasing targets[low:high], which hold it."""
    while high - low > 1:
        middle = (low + high) >> 1
        if targets[middle] <= wanted:
            low = middle
        else:
            high = middle
    return low


def common_of_edges(offsets: Any, targets: Any, first: Any, last: Any, bits: Any, out: Any) -> None:
    """out[e] and out[e'] for both entries e, e' of each edge of which vertex a in first..last is the end of higher
    degree (of two equal ones the larger). bits: one a vertex, all 0, which they are again in the end."""
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
    """The values of edges in the order of lists with loops and repetitions, for rows first..last. A vertex has all its
    neighbours in common with itself."""
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
