"""Kernels that lay out a strip of cache blocks (runtime/graph/topology/blocks.py).

A *pair* is a row and a range of senders from which the row has edges; these edges are consecutive in the row. A range
has 2^shift senders, at most 2^16. A pair with k edges is of class k - 1 if k is at most BLOCK_SINGLE. A pair with more
edges is of class BLOCK_SINGLE, and is a batch of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from vlang.runtime.plan.page_words import BLOCK_SINGLE

EXPORTS = {
    "pairs": "void(u64*, u32*, i64, i64, i64, i64, i64*)",
    "batches": "i64(i64*, i64, i64, u32*)",
    "begins": "void(u32*, i64, i64, i64*, i64*, i64*)",
    "place": "void(u64*, u32*, i64, i64, i64, i64, i64*, i64*, i64*, u32*, u16*, u16*)",
    "lay": "void(u64*, u32*, key*, i64, i64, i64, i64, i64*, key*)",
}

_CLASSES = BLOCK_SINGLE + 1
_COUNTS = BLOCK_SINGLE + 2  # one count for each class, then the edges of class BLOCK_SINGLE


@njit(inline="always")
def _pair_end(targets: Any, begin: Any, end: Any, shift: Any) -> Any:
    """The end of the pair that begins with the edge `begin` of a row that ends before `end`."""
    part = np.int64(targets[begin]) >> shift
    e = begin + 1
    while e < end and np.int64(targets[e]) >> shift == part:
        e += 1
    return e


def pairs(offsets: Any, targets: Any, low: Any, high: Any, longest: Any, shift: Any, counts: Any) -> None:
    """Count the pairs of a strip.

    Args:
        offsets: offsets of the adjacency, u64[n + 1].
        targets: neighbours, increasing in each row.
        low, high: the first row of the strip, and the end.
        longest: the maximum number of edges of a row in blocks; rows with more edges are left out.
        shift: the bits of a sender's number in its range.
        counts: output, zero at the call: for each range of senders, the pairs of each class, and the edges of the last
            class.
    """
    e = np.int64(offsets[low])
    for v in range(low, high):
        end = np.int64(offsets[v + 1])
        while e < end and end - np.int64(offsets[v]) <= longest:
            begin, part = e, np.int64(targets[e]) >> shift
            e = _pair_end(targets, begin, end, shift)
            if e - begin > BLOCK_SINGLE:
                counts[part * _COUNTS + BLOCK_SINGLE] += 1
                counts[part * _COUNTS + BLOCK_SINGLE + 1] += e - begin
            else:
                counts[part * _COUNTS + e - begin - 1] += 1
        e = end


def batches(counts: Any, parts: Any, shift: Any, out: Any) -> Any:
    """Write the batches of a strip by range of senders; in each range, batches with more edges per row come first.

    The kernel `place` writes the numbers of edges of the batches of class BLOCK_SINGLE. Until then, the first of these
    batches in a range has the edges of all these batches.

    Args:
        counts: as written by `pairs`.
        parts: the number of ranges of senders.
        shift: the bits of a sender's number in its range.
        out: output, three numbers for each batch: first sender of the range, rows, edges of each row.

    Returns:
        The number of batches.
    """
    made = np.int64(0)
    for part in range(parts):
        edges = counts[part * _COUNTS + BLOCK_SINGLE + 1]
        for _ in range(counts[part * _COUNTS + BLOCK_SINGLE]):
            out[3 * made], out[3 * made + 1], out[3 * made + 2] = part << shift, 1, edges
            edges = np.int64(0)
            made += 1
        for length in range(BLOCK_SINGLE, 0, -1):
            rows = counts[part * _COUNTS + length - 1]
            if rows:
                out[3 * made], out[3 * made + 1], out[3 * made + 2] = part << shift, rows, length
                made += 1
    return made


def begins(batches: Any, made: Any, shift: Any, places: Any, edges: Any, singles: Any) -> None:
    """Compute the positions at which the pairs of each range of senders and of each class begin.

    Args:
        batches: as written by `batches`.
        made: the number of batches.
        shift: the bits of a sender's number in its range.
        places: output, the first place of each range and class.
        edges: output, the first edge of each range and class.
        singles: output, for each range, the first batch of class BLOCK_SINGLE.
    """
    place, edge, before = np.int64(0), np.int64(0), np.int64(-1)
    for r in range(made):
        part = np.int64(batches[3 * r]) >> shift
        rows, length = np.int64(batches[3 * r + 1]), np.int64(batches[3 * r + 2])
        if part != before:
            singles[part] = r
            places[part * _CLASSES + BLOCK_SINGLE], edges[part * _CLASSES + BLOCK_SINGLE] = place, edge
            before = part
        if 0 < length <= BLOCK_SINGLE:
            places[part * _CLASSES + length - 1], edges[part * _CLASSES + length - 1] = place, edge
        place += rows
        edge += rows * length


def place(
    offsets: Any, targets: Any, low: Any, high: Any, longest: Any, shift: Any, places: Any, edges: Any, singles: Any,
    batches: Any, rows: Any, senders: Any,
) -> None:
    """Write the rows and senders of a strip, and the edges of the batches of class BLOCK_SINGLE.

    Args:
        offsets, targets, low, high, longest, shift: as for `pairs`.
        places, edges, singles: as written by `begins`; overwritten.
        batches: as written by `batches`.
        rows: output, the row of each place, minus `low`.
        senders: output, the number of each neighbour in its range.
    """
    low_bits = (np.int64(1) << shift) - 1
    e = np.int64(offsets[low])
    for v in range(low, high):
        end = np.int64(offsets[v + 1])
        while e < end and end - np.int64(offsets[v]) <= longest:
            begin, part = e, np.int64(targets[e]) >> shift
            e = _pair_end(targets, begin, end, shift)
            at = part * _CLASSES + min(e - begin - 1, BLOCK_SINGLE)
            if e - begin > BLOCK_SINGLE:
                batches[3 * singles[part] + 2] = e - begin
                singles[part] += 1
            rows[places[at]] = v - low
            places[at] += 1
            k = edges[at] - begin
            for j in range(begin, e):
                senders[k + j] = np.int64(targets[j]) & low_bits
            edges[at] = k + e
        e = end


def lay(
    offsets: Any, targets: Any, values: Any, low: Any, high: Any, longest: Any, shift: Any, edges: Any, out: Any,
) -> None:
    """Copy the edge values of a strip into the order of its batches.

    Args:
        offsets, targets, low, high, longest, shift: as for `pairs`.
        values: one value per edge of the adjacency.
        edges: as written by `begins`; overwritten.
        out: output, one value per edge of the strip.
    """
    e = np.int64(offsets[low])
    for v in range(low, high):
        end = np.int64(offsets[v + 1])
        while e < end and end - np.int64(offsets[v]) <= longest:
            begin, part = e, np.int64(targets[e]) >> shift
            e = _pair_end(targets, begin, end, shift)
            at = part * _CLASSES + min(e - begin - 1, BLOCK_SINGLE)
            k = edges[at] - begin
            for j in range(begin, e):
                out[k + j] = values[j]
            edges[at] = k + e
        e = end
