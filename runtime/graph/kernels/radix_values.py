"""The loops of `radix.py` for entries with values, which are the columns of an edge in one word of 8 to 64 bits.

The value of the entry pool[at] is values[at + shift]. The shift is the same for all entries of a block. `spans`,
i64[3 * SPANS], has for each array of blocks its first index, its end, and its shift. `shifts`, i64, has the shift of
the block that each bucket is writing to. All other arguments are those of `radix.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "scatter_edges": "void(u32*, u32*, key*, i64, i64, u16*, i64, i64, i64*, i64*, i64*, i64*, u64*, i64*, i64*, key*)",
    "sort_bucket": "void(u64*, key*, i64*, i64*, i64*, i64, u32*, i64, i64, u32*, u32*, key*)",
    "scatter_rows": "void(u32*, key*, u32*, i64, i64, u16*, i64, i64, i64*, i64*, i64*, i64*, u64*, i64*, i64*, key*)",
}

MIRROR, NO_LOOPS = 1, 2  # bits of `flags`, the same as in radix.py
FINE = 1 << 15  # the same as in radix.py
SPANS = 3


@njit(inline="always")
def _shift(at: Any, spans: Any) -> Any:
    found = np.int64(0)
    for i in range(SPANS):
        if spans[3 * i] <= at and at < spans[3 * i + 1]:
            found = spans[3 * i + 2]
    return found


@njit(inline="always")
def _put(row: Any, other: Any, value: Any, buckets: Any, grain: Any, mask: Any, cursors: Any, free: Any, log: Any,
         counts: Any, pool: Any, spans: Any, shifts: Any, values: Any) -> None:  # fmt: skip
    b = np.int64(buckets[min(row, FINE + (row >> grain))])
    at = cursors[b]
    if at & mask == 0:
        counts[0] -= 1
        at = free[counts[0]]
        log[2 * counts[1]] = b
        log[2 * counts[1] + 1] = at
        counts[1] += 1
        shifts[b] = _shift(at, spans)
    pool[at] = np.uint64((row << 32) | other)
    values[at + shifts[b]] = value
    cursors[b] = at + 1


def scatter_edges(sources: Any, targets: Any, given: Any, count: Any, flags: Any, buckets: Any, grain: Any, mask: Any,
                  cursors: Any, free: Any, log: Any, counts: Any, pool: Any, spans: Any, shifts: Any, values: Any
                  ) -> None:  # fmt: skip
    """Write an entry for each edge to the bucket of its source; `given` has the values of the edges."""
    for e in range(count):
        a = np.int64(sources[e])
        b = np.int64(targets[e])
        if a == b and flags & NO_LOOPS != 0:
            continue
        _put(a, b, given[e], buckets, grain, mask, cursors, free, log, counts, pool, spans, shifts, values)
        if flags & MIRROR != 0 and a != b:
            _put(b, a, given[e], buckets, grain, mask, cursors, free, log, counts, pool, spans, shifts, values)


def sort_bucket(pool: Any, values: Any, spans: Any, blocks: Any, lengths: Any, count: Any, degrees: Any, low: Any,
                high: Any, ends: Any, out: Any, sorted_values: Any) -> None:  # fmt: skip
    """Sort the entries of a bucket by row; `sorted_values` receives their values."""
    total = np.uint32(0)
    for row in range(low, high):
        ends[row - low] = total
        total += degrees[row]
    for i in range(count):
        shift = _shift(blocks[i], spans)
        for k in range(blocks[i], blocks[i] + lengths[i]):
            word = pool[k]
            row = np.int64(word >> np.uint64(32)) - low
            at = ends[row]
            ends[row] = at + np.uint32(1)
            out[np.int64(at)] = np.uint32(word & np.uint64(0xFFFFFFFF))
            sorted_values[np.int64(at)] = values[k + shift]


def scatter_rows(targets: Any, given: Any, ends: Any, low: Any, high: Any, buckets: Any, grain: Any, mask: Any,
                 cursors: Any, free: Any, log: Any, counts: Any, pool: Any, spans: Any, shifts: Any, values: Any
                 ) -> None:  # fmt: skip
    """Write the reverse of each edge to the bucket of its neighbour; `given` has the values of the edges."""
    e = np.int64(0)
    for row in range(low, high):
        end = np.int64(ends[row - low])
        while e < end:
            _put(np.int64(targets[e]), row, given[e], buckets, grain, mask, cursors, free, log, counts, pool, spans,
                 shifts, values)
            e += 1
