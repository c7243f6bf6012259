"""Distributes the edges of a graph to buckets of rows, and the entries of a bucket to its rows.

An entry is a u64 word, `row << 32 | neighbour`. Entries are kept in blocks. A block has `mask + 1` entries, a power of
two, of one bucket. A block is identified by the index of its first entry, relative to the pointer `pool`. The index is
a multiple of the block size, and may be negative, because blocks are in several arrays. Each thread writes to blocks of
its own:

- `cursors`: i64, for each bucket, the index of its next entry; a multiple of the block size if its block is full.
- `free`: i64, the free blocks; the last one is used first.
- `log`: i64, the bucket and the first index, for each block that was used, in the order of use.
- `counts`: i64[2], the numbers of blocks in `free` and in `log`.

The bucket of a row is buckets[min(row, FINE + (row >> grain))], where `buckets` is u16. So rows of low numbers, which
have the most entries in many graphs, are in buckets of their own, and the table still fits into a cache.

With VALUED, an entry has a value: the columns of its edge in one word of 8 to 64 bits. The value of the entry pool[at]
is values[at + shift]. The shift is the same for all entries of a block. `spans`, i64[3 * SPANS], has for each array of
blocks its first index, its end, and its shift. `shifts`, i64, has the shift of the block that each bucket is writing
to. Without VALUED, none of these arrays is read or written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "scatter_edges": "void(u32*, u32*, key*, i64, i64, u16*, i64, i64, i64*, i64*, i64*, i64*, u64*, i64*, i64*, key*)",
    "sort_bucket": "void(u64*, key*, i64*, i64, i64*, i64*, i64, u32*, i64, i64, u32*, u32*, key*)",
    "scatter_rows":
        "void(u32*, key*, i64, u32*, i64, i64, u16*, i64, i64, i64*, i64*, i64*, i64*, u64*, i64*, i64*, key*)",
    "order_degrees": "void(u32*, i64, i64*, u32*)",
}

MIRROR, NO_LOOPS, VALUED = 1, 2, 4  # bits of `flags`
FINE = 1 << 15
SPANS = 3


@njit(inline="always")
def _shift(at: Any, spans: Any) -> Any:
    found = np.int64(0)
    for i in range(SPANS):
        if spans[3 * i] <= at and at < spans[3 * i + 1]:
            found = spans[3 * i + 2]
    return found


@njit(inline="always")
def _put(row: Any, other: Any, e: Any, given: Any, flags: Any, buckets: Any, grain: Any, mask: Any, cursors: Any,
         free: Any, log: Any, counts: Any, pool: Any, spans: Any, shifts: Any, values: Any) -> None:  # fmt: skip
    b = np.int64(buckets[min(row, FINE + (row >> grain))])
    at = cursors[b]
    if at & mask == 0:
        counts[0] -= 1
        at = free[counts[0]]
        log[2 * counts[1]] = b
        log[2 * counts[1] + 1] = at
        counts[1] += 1
        if flags & VALUED != 0:
            shifts[b] = _shift(at, spans)
    pool[at] = np.uint64((row << 32) | other)
    if flags & VALUED != 0:
        values[at + shifts[b]] = given[e]
    cursors[b] = at + 1


def scatter_edges(sources: Any, targets: Any, given: Any, count: Any, flags: Any, buckets: Any, grain: Any, mask: Any,
                  cursors: Any, free: Any, log: Any, counts: Any, pool: Any, spans: Any, shifts: Any, values: Any
                  ) -> None:  # fmt: skip
    """Write an entry for each edge to the bucket of its source.

    Args:
        sources, targets: u32[count], the two ends of each edge.
        given: [count], the value of each edge.
        count: the number of edges.
        flags: a bit mask: with MIRROR, an edge that is not a self-loop also has an entry in the bucket of its target;
            with NO_LOOPS, self-loops have no entry; with VALUED, entries have values.
        buckets, grain, mask, cursors, free, log, counts, pool, spans, shifts, values: see the beginning of this file.
    """
    for e in range(count):
        a = np.int64(sources[e])
        b = np.int64(targets[e])
        if a == b and flags & NO_LOOPS != 0:
            continue
        _put(a, b, e, given, flags, buckets, grain, mask, cursors, free, log, counts, pool, spans, shifts, values)
        if flags & MIRROR != 0 and a != b:
            _put(b, a, e, given, flags, buckets, grain, mask, cursors, free, log, counts, pool, spans, shifts, values)


def sort_bucket(pool: Any, values: Any, spans: Any, flags: Any, blocks: Any, lengths: Any, count: Any, degrees: Any,
                low: Any, high: Any, ends: Any, out: Any, sorted_values: Any) -> None:  # fmt: skip
    """Sort the entries of a bucket by row. The neighbours of a row keep the order of the entries.

    Args:
        pool: u64, the entries.
        values, spans: see the beginning of this file.
        flags: VALUED or 0.
        blocks, lengths: i64[count], the blocks of the bucket in order, and the number of entries of each block.
        count: the number of blocks.
        degrees: u32, the length of each row.
        low, high: the bucket has the rows low..high-1.
        ends: output, u32[high - low], the end of each row in `out`.
        out: output, u32, the neighbours.
        sorted_values: output, the values of the entries.
    """
    total = np.uint32(0)
    for row in range(low, high):
        ends[row - low] = total
        total += degrees[row]
    for i in range(count):
        shift = _shift(blocks[i], spans) if flags & VALUED != 0 else np.int64(0)
        for k in range(blocks[i], blocks[i] + lengths[i]):
            word = pool[k]
            row = np.int64(word >> np.uint64(32)) - low
            at = ends[row]
            ends[row] = at + np.uint32(1)
            out[np.int64(at)] = np.uint32(word & np.uint64(0xFFFFFFFF))
            if flags & VALUED != 0:
                sorted_values[np.int64(at)] = values[k + shift]


def scatter_rows(targets: Any, given: Any, flags: Any, ends: Any, low: Any, high: Any, buckets: Any, grain: Any,
                 mask: Any, cursors: Any, free: Any, log: Any, counts: Any, pool: Any, spans: Any, shifts: Any,
                 values: Any) -> None:  # fmt: skip
    """Write the reverse of each edge to the bucket of its neighbour, in the order of the rows.

    Args:
        targets, ends: u32, the neighbours of the rows low..high-1, and the end of each row, from `sort_bucket`.
        given: the values of the entries, from `sort_bucket`.
        flags: VALUED or 0.
        low, high: the range of rows.
        buckets, grain, mask, cursors, free, log, counts, pool, spans, shifts, values: see the beginning of this file.
    """
    e = np.int64(0)
    for row in range(low, high):
        end = np.int64(ends[row - low])
        while e < end:
            _put(np.int64(targets[e]), row, e, given, flags, buckets, grain, mask, cursors, free, log, counts, pool,
                 spans, shifts, values)  # fmt: skip
            e += 1


def order_degrees(degrees: Any, n: Any, counts: Any, order: Any) -> None:
    """Sort the vertices by decreasing degree, and by increasing number if degrees are equal.

    Args:
        degrees: u32[n]. All degrees of 65535 or more count as equal.
        n: the number of vertices.
        counts: i64[65536], zeros; on return, the end in `order` of the vertices of each degree.
        order: output, u32[n].
    """
    for v in range(n):
        counts[min(np.int64(degrees[v]), 65535)] += 1
    at = np.int64(0)
    for i in range(65536):
        count = counts[65535 - i]
        counts[65535 - i] = at
        at += count
    for v in range(n):
        degree = min(np.int64(degrees[v]), 65535)
        order[counts[degree]] = np.uint32(v)
        counts[degree] += 1
