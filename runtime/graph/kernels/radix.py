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
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "scatter_edges": "void(u32*, u32*, i64, i64, u16*, i64, i64, i64*, i64*, i64*, i64*, u64*)",
    "sort_bucket": "void(u64*, i64*, i64*, i64, u32*, i64, i64, u32*, u32*)",
    "scatter_rows": "void(u32*, u32*, i64, i64, u16*, i64, i64, i64*, i64*, i64*, i64*, u64*)",
    "order_degrees": "void(u32*, i64, i64*, u32*)",
}

MIRROR, NO_LOOPS = 1, 2  # bits of `flags`
FINE = 1 << 15


@njit(inline="always")
def _put(row: Any, other: Any, buckets: Any, grain: Any, mask: Any, cursors: Any, free: Any, log: Any, counts: Any,
         pool: Any) -> None:  # fmt: skip
    b = np.int64(buckets[min(row, FINE + (row >> grain))])
    at = cursors[b]
    if at & mask == 0:
        counts[0] -= 1
        at = free[counts[0]]
        log[2 * counts[1]] = b
        log[2 * counts[1] + 1] = at
        counts[1] += 1
    pool[at] = np.uint64((row << 32) | other)
    cursors[b] = at + 1


def scatter_edges(sources: Any, targets: Any, count: Any, flags: Any, buckets: Any, grain: Any, mask: Any,
                  cursors: Any, free: Any, log: Any, counts: Any, pool: Any) -> None:  # fmt: skip
    """Write an entry for each edge to the bucket of its source.

    Args:
        sources, targets: u32[count], the two ends of each edge.
        count: the number of edges.
        flags: a bit mask: with MIRROR, an edge that is not a self-loop also has an entry in the bucket of its target;
            with NO_LOOPS, self-loops have no entry.
        buckets, grain, mask, cursors, free, log, counts, pool: see the beginning of this file.
    """
    for e in range(count):
        a = np.int64(sources[e])
        b = np.int64(targets[e])
        if a == b and flags & NO_LOOPS != 0:
            continue
        _put(a, b, buckets, grain, mask, cursors, free, log, counts, pool)
        if flags & MIRROR != 0 and a != b:
            _put(b, a, buckets, grain, mask, cursors, free, log, counts, pool)


def sort_bucket(pool: Any, blocks: Any, lengths: Any, count: Any, degrees: Any, low: Any, high: Any, ends: Any, out: Any
           ) -> None:  # fmt: skip
    """Sort the entries of a bucket by row. The neighbours of a row keep the order of the entries.

    Args:
        pool: u64, the entries.
        blocks, lengths: i64[count], the blocks of the bucket in order, and the number of entries of each block.
        count: the number of blocks.
        degrees: u32, the length of each row.
        low, high: the bucket has the rows low..high-1.
        ends: output, u32[high - low], the end of each row in `out`.
        out: output, u32, the neighbours.
    """
    total = np.uint32(0)
    for row in range(low, high):
        ends[row - low] = total
        total += degrees[row]
    for i in range(count):
        for k in range(blocks[i], blocks[i] + lengths[i]):
            word = pool[k]
            row = np.int64(word >> np.uint64(32)) - low
            at = ends[row]
            ends[row] = at + np.uint32(1)
            out[np.int64(at)] = np.uint32(word & np.uint64(0xFFFFFFFF))


def scatter_rows(targets: Any, ends: Any, low: Any, high: Any, buckets: Any, grain: Any, mask: Any, cursors: Any,
              free: Any, log: Any, counts: Any, pool: Any) -> None:  # fmt: skip
    """Write the reverse of each edge to the bucket of its neighbour, in the order of the rows.

    Args:
        targets, ends: u32, the neighbours of the rows low..high-1, and the end of each row, from `sort_bucket`.
        low, high: the range of rows.
        buckets, grain, mask, cursors, free, log, counts, pool: see the beginning of this file.
    """
    e = np.int64(0)
    for row in range(low, high):
        end = np.int64(ends[row - low])
        while e < end:
            _put(np.int64(targets[e]), row, buckets, grain, mask, cursors, free, log, counts, pool)
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
