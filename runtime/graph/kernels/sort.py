"""Sorts entries (row, neighbour) stably by row and then by neighbour. There are three steps: the entries of each bucket
of rows are counted, scattered to the buckets, and sorted in each bucket, which fits in the cache.

An entry consists of a key, `(row inside its bucket) << bits | neighbour`, int64 or uint32, and of a place, the input
position of its column values. Bucket b holds the rows from b << shift to ((b + 1) << shift) - 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "count_edges": "void(u32*, u32*, i64, i64, i64, i64, i64*)",
    "scatter_edges": "void(u32*, u32*, i64, i64, i64, i64, i64, i64, i64, i64, i64*, key*, i64*)",
    "scatter_rows": "void(u64*, u32*, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64*, key*, i64*)",
    "finish_buckets":
        "void(key*, i64*, i64*, i64, i64, i64, i64, i64, i64, i64, i64, key*, i64*, i64*, u64*, u32*)",
}


def count_edges(rows: Any, others: Any, first: Any, last: Any, mirror: Any, shift: Any, counts: Any) -> None:
    """Count the entries of the edges first..last-1 by bucket.

    Args:
        rows, others: ends of the edges, u32.
        first, last: the range of edges.
        mirror: not 0 to count both directions of an edge; a self-loop is counted once.
        shift: log2 of the number of rows per bucket.
        counts: i64, one counter per bucket, increased by the call.
    """
    for e in range(first, last):
        row = np.int64(rows[e])
        counts[row >> shift] += 1
        if mirror != 0:
            other = np.int64(others[e])
            if other != row:
                counts[other >> shift] += 1


@njit(inline="always")
def _put(row: Any, other: Any, e: Any, shift: Any, bits: Any, low: Any, base: Any, cursors: Any, keys: Any,
         places: Any, placed: Any) -> None:  # fmt: skip
    bucket = row >> shift
    at = cursors[bucket]
    cursors[bucket] = at + 1
    keys[at - base] = ((row - (bucket << shift)) << bits) | other
    if placed != 0:
        places[at - base] = e


def scatter_edges(rows: Any, others: Any, first: Any, last: Any, mirror: Any, shift: Any, bits: Any, low: Any,
                  high: Any, base: Any, cursors: Any, keys: Any, places: Any) -> None:  # fmt: skip
    """Write the entries of the edges first..last-1 whose row is in low..high-1, at the cursors of their buckets.

    Args:
        rows, others: ends of the edges, u32.
        first, last: the range of edges.
        mirror: a bit mask; bit 0 stores both directions of an edge, bit 1 fills `places`.
        shift, bits: log2 of the number of rows per bucket, and the number of bits for the neighbour in a key.
        low, high: the range of rows.
        base: the index of keys[0] among all entries.
        cursors: i64, the next free index among all entries, per bucket.
        keys, places: output, the keys and the input positions of the entries.
    """
    both = mirror & 1
    placed = mirror & 2
    for e in range(first, last):
        row = np.int64(rows[e])
        other = np.int64(others[e])
        if row >= low and row < high:
            _put(row, other, e, shift, bits, low, base, cursors, keys, places, placed)
        if both != 0 and other >= low and other < high and other != row:
            _put(other, row, e, shift, bits, low, base, cursors, keys, places, placed)


def scatter_rows(offsets: Any, targets: Any, first: Any, last: Any, row: Any, placed: Any, shift: Any, bits: Any,
                 low: Any, high: Any, base: Any, cursors: Any, keys: Any, places: Any) -> None:  # fmt: skip
    """Like scatter_edges, for the transpose of adjacency lists.

    Args:
        offsets, targets: adjacency lists.
        first, last: the range of entries.
        row: a row that is not after the row of the entry `first`.
        placed: not 0 to fill `places`.
        shift, bits, low, high, base, cursors, keys, places: see `scatter_edges`.
    """
    end = np.int64(offsets[row + 1])
    for e in range(first, last):
        while e >= end:
            row += 1
            end = np.int64(offsets[row + 1])
        target = np.int64(targets[e])
        if target >= low and target < high:
            _put(target, row, e, shift, bits, low, base, cursors, keys, places, placed)


@njit
def _sorted(keys: Any, first: Any, last: Any) -> Any:
    i = first + 1
    while i < last and keys[i] >= keys[i - 1]:
        i += 1
    return i >= last


@njit
def _radix_pass(keys: Any, places: Any, at: Any, to_keys: Any, to_places: Any, to: Any, length: Any, low: Any,
                width: Any, counts: Any, placed: Any) -> None:  # fmt: skip
    mask = (np.int64(1) << width) - 1
    for d in range(mask + 1):
        counts[d] = 0
    for i in range(length):
        counts[(keys[at + i] >> low) & mask] += 1
    total = np.int64(0)
    for d in range(mask + 1):
        count = counts[d]
        counts[d] = total
        total += count
    for i in range(length):
        key = keys[at + i]
        d = (key >> low) & mask
        j = counts[d]
        counts[d] = j + 1
        to_keys[to + j] = key
        if placed != 0:
            to_places[to + j] = places[at + i]


@njit
def _sort(keys: Any, places: Any, first: Any, last: Any, spare_keys: Any, spare_places: Any, low: Any, high: Any,
          counts: Any, placed: Any) -> None:  # fmt: skip
    """Stable least-significant-digit radix sort of keys[first:last] by the bits low..high-1, at most 11 at a time."""
    length = last - first
    passes = (high - low + 10) // 11
    width = (high - low + passes - 1) // passes
    there = 0
    for p in range(passes):
        bit = low + p * width
        if there == 0:
            _radix_pass(keys, places, first, spare_keys, spare_places, 0, length, bit, width, counts, placed)
        else:
            _radix_pass(spare_keys, spare_places, 0, keys, places, first, length, bit, width, counts, placed)
        there = 1 - there
    if there == 1:
        for i in range(length):
            keys[first + i] = spare_keys[i]
            if placed != 0:
                places[first + i] = spare_places[i]


def finish_buckets(keys: Any, places: Any, starts: Any, first: Any, last: Any, base: Any, shift: Any, bits: Any,
                   n: Any, low: Any, placed: Any, spare_keys: Any, spare_places: Any, counts: Any, offsets: Any,
                   targets: Any) -> None:  # fmt: skip
    """Sort the buckets first..last-1 and write the offsets and targets of their rows.

    Args:
        keys, places: the scattered entries.
        starts: i64, the index among all entries at which each bucket begins.
        first, last: the range of buckets.
        base: the index of keys[0] among all entries.
        shift, bits: log2 of the number of rows per bucket, and the number of bits for the neighbour in a key.
        n: the number of rows.
        low: the entries are already sorted by the bits below bit `low`.
        placed: not 0 if `places` is used.
        spare_keys, spare_places, counts: scratch arrays of the sort.
        offsets: output, one element per row of the buckets.
        targets: output, one element per entry.
    """
    mask = (np.int64(1) << bits) - 1
    for b in range(first, last):
        begin = starts[b] - base
        end = starts[b + 1] - base
        if not _sorted(keys, begin, end):
            _sort(keys, places, begin, end, spare_keys, spare_places, low, bits + shift, counts, placed)
        row = b << shift
        top = min(n, (b + 1) << shift)
        for i in range(begin, end):
            key = keys[i]
            here = (b << shift) + np.int64(key >> bits)
            while row <= here:
                offsets[row] = np.uint64(base + i)
                row += 1
            targets[base + i] = np.uint32(key & mask)
        while row < top:
            offsets[row] = np.uint64(base + end)
            row += 1
