"""Distributes edges that exceed memory to buckets of rows, and entries of a bucket to smaller parts.

Both distributions are stable. An entry is a u64 key, `row << shift | neighbour`. The kernels also record the new place
of each entry, so that the column values can be moved there later.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "tally_edges": "i64(u32*, u32*, i64, i64, i64, u32*)",
    "renumber": "void(u32*, i64, i64, u32*, u32*)",
    "count_buckets": "void(u32*, u32*, i64, i64, i64, u32*, i64, u32*, i64*)",
    "place_edges": "void(u32*, u32*, i64, i64, i64, u32*, i64, u32*, i64*, i64, u64*, i64*, i64*)",
    "count_keys": "void(u64*, i64, i64, u64, i64, i64*)",
    "place_keys": "void(u64*, i64, i64, u64, i64, i64*, i64*, u64*, i64*)",
    "put8": "void(u8*, i64*, i64, u8*)",
    "put16": "void(u16*, i64*, i64, u16*)",
    "put32": "void(u32*, i64*, i64, u32*)",
    "put64": "void(u64*, i64*, i64, u64*)",
    "count_rows": "void(u64*, i64, i64, u32*)",
}

# Bits of `flags`.
MIRROR, NO_LOOPS, RECORDED = 1, 2, 4


def tally_edges(rows: Any, others: Any, first: Any, last: Any, flags: Any, counts: Any) -> Any:
    """Count the entries of the edges first..last-1 by row; returns the number of self-loops.

    Args:
        rows, others: u32, the two ends of each edge.
        first, last: the range of edges.
        flags: a bit mask: with MIRROR, an edge counts in both directions, and a self-loop once; with NO_LOOPS,
            self-loops do not count.
        counts: u32, one counter per row, increased by the call.
    """
    loops = np.int64(0)
    for e in range(first, last):
        row = np.int64(rows[e])
        other = np.int64(others[e])
        if row == other:
            loops += 1
            if flags & NO_LOOPS != 0:
                continue
            counts[row] += np.uint32(1)
        else:
            counts[row] += np.uint32(1)
            if flags & MIRROR != 0:
                counts[other] += np.uint32(1)
    return loops


def renumber(vertices: Any, first: Any, last: Any, ranks: Any, out: Any) -> None:
    """Set out[e] to ranks[vertices[e]] for e in first..last-1."""
    for e in range(first, last):
        out[e] = ranks[np.int64(vertices[e])]


@njit(inline="always")
def _bucket(row: Any, coarse: Any, grain: Any, bounds: Any) -> Any:
    b = np.int64(coarse[row >> grain])
    while row >= np.int64(bounds[b + 1]):
        b += 1
    return b


def count_buckets(rows: Any, others: Any, first: Any, last: Any, flags: Any, coarse: Any, grain: Any, bounds: Any,
                  counts: Any) -> None:  # fmt: skip
    """Count the entries of the edges first..last-1 by bucket.

    Args:
        rows, others: u32, the two ends of each edge.
        first, last: the range of edges.
        flags: MIRROR and NO_LOOPS.
        coarse: u32, coarse[i] is the bucket of row i << grain.
        grain: see `coarse`.
        bounds: u32, the first row of each bucket, and the end.
        counts: i64, one counter per bucket, increased by the call.
    """
    for e in range(first, last):
        row = np.int64(rows[e])
        other = np.int64(others[e])
        if row == other and flags & NO_LOOPS != 0:
            continue
        counts[_bucket(row, coarse, grain, bounds)] += 1
        if flags & MIRROR != 0 and row != other:
            counts[_bucket(other, coarse, grain, bounds)] += 1


def place_edges(rows: Any, others: Any, first: Any, last: Any, flags: Any, coarse: Any, grain: Any, bounds: Any,
                cursors: Any, shift: Any, keys: Any, places: Any, back: Any) -> None:  # fmt: skip
    """Write the keys of the edges first..last-1 at the cursors of their buckets.

    Args:
        rows, others, first, last, flags, coarse, grain, bounds: see `count_buckets`. The flag RECORDED fills `places`
            and `back`.
        cursors: i64, the next free index in `keys`, per bucket.
        shift: the number of bits for the neighbour in a key.
        keys: output, u64, the keys.
        places, back: output, i64[last - first]: the index in `keys` of the entry of each edge, and of the entry in the
            opposite direction; -1 if there is no such entry.
    """
    for e in range(first, last):
        row = np.int64(rows[e])
        other = np.int64(others[e])
        there = np.int64(-1)
        opposite = np.int64(-1)
        if row != other or flags & NO_LOOPS == 0:
            b = _bucket(row, coarse, grain, bounds)
            there = cursors[b]
            cursors[b] = there + 1
            keys[there] = np.uint64((row << shift) | other)
            if flags & MIRROR != 0 and row != other:
                b = _bucket(other, coarse, grain, bounds)
                opposite = cursors[b]
                cursors[b] = opposite + 1
                keys[opposite] = np.uint64((other << shift) | row)
        if flags & RECORDED != 0:
            places[e - first] = there
            back[e - first] = opposite


def count_keys(keys: Any, first: Any, last: Any, least: Any, shift: Any, counts: Any) -> None:
    """Add 1 to counts[(keys[i] - least) >> shift] for i in first..last-1."""
    for i in range(first, last):
        counts[np.int64((keys[i] - least) >> np.uint64(shift))] += 1


def place_keys(keys: Any, first: Any, last: Any, least: Any, shift: Any, parts: Any, cursors: Any, out: Any,
               places: Any) -> None:  # fmt: skip
    """Write keys[first:last] at the cursors of their parts.

    Args:
        keys: u64.
        first, last: the range of keys.
        least, shift: the bin of a key is (key - least) >> shift.
        parts: i64, the part of each bin.
        cursors: i64, the next free index in `out`, per part.
        out: output, the keys.
        places: output, i64[last - first], the index of each key in `out`.
    """
    for i in range(first, last):
        part = parts[np.int64((keys[i] - least) >> np.uint64(shift))]
        at = cursors[part]
        cursors[part] = at + 1
        out[at] = keys[i]
        places[i - first] = at


def count_rows(keys: Any, count: Any, shift: Any, degrees: Any) -> None:
    """Add 1 to degrees[keys[i] >> shift] for i in 0..count-1; `degrees` is u32."""
    for i in range(count):
        degrees[np.int64(keys[i] >> np.uint64(shift))] += np.uint32(1)


@njit
def _put(values: Any, places: Any, count: Any, out: Any) -> None:
    for i in range(count):
        if places[i] >= 0:
            out[places[i]] = values[i]


def put8(values: Any, places: Any, count: Any, out: Any) -> None:
    """Set out[places[i]] to values[i] for i in 0..count-1 where places[i] is not negative, for values of 8 bits."""
    _put(values, places, count, out)


def put16(values: Any, places: Any, count: Any, out: Any) -> None:
    """Like put8, for values of 16 bits."""
    _put(values, places, count, out)


def put32(values: Any, places: Any, count: Any, out: Any) -> None:
    """Like put8, for values of 32 bits."""
    _put(values, places, count, out)


def put64(values: Any, places: Any, count: Any, out: Any) -> None:
    """Like put8, for values of 64 bits."""
    _put(values, places, count, out)
