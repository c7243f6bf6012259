"""Kernels for page files: the checksum of bytes, and the validation of a page before any other kernel reads it.

The checksum is XXH64 with seed 0 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md), as `xxhsum -H64` prints it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

EXPORTS = {
    "sum_bytes": "i64(u64*, u8*, i64)",
    "check_page": "i64(u32*, u64*, u8*, i64, u64, i64, i64, i64, u32)",
    "same_offsets": "i64(u32*, i64, u64*, i64, i64)",
    "cut_offsets": "void(u32*, i64, i64, i64, u32*)",
    "cut_pages": "i64(u32*, i64, i64, i64, i64, i64, i64*, i64*, i64)",
    "cut_tasks": "void(u32*, i64, i64, i64, i64*, i64*, i64*)",
}

P1 = np.uint64(0x9E3779B185EBCA87)
P2 = np.uint64(0xC2B2AE3D27D4EB4F)
P3 = np.uint64(0x165667B19E3779F9)
P4 = np.uint64(0x85EBCA77C2B2AE63)
P5 = np.uint64(0x27D4EB2F165667C5)

# Return values of `check_page`: no error, or what is wrong.
FINE, BEGIN, ORDER, END, TARGET, SUM = 0, 1, 2, 3, 4, 5


@njit(inline="always")
def _turned(x: Any, bits: Any) -> Any:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@njit(inline="always")
def _round(lane: Any, word: Any) -> Any:
    return _turned(lane + word * P2, 31) * P1


@njit(inline="always")
def _merged(total: Any, lane: Any) -> Any:
    return (total ^ _round(np.uint64(0), lane)) * P1 + P4


@njit(inline="always")
def _sum(words: Any, tail: Any, length: Any) -> Any:
    """XXH64 of `length` bytes.

    Args:
        words: the bytes as u64; only whole words are read.
        tail: the same bytes as u8.
        length: the number of bytes.
    """
    count = length >> 3
    total = P5
    i = np.int64(0)
    if length >= 32:
        a = P1 + P2
        b = P2
        c = np.uint64(0)
        d = np.uint64(0) - P1
        while i + 4 <= count:
            a = _round(a, words[i])
            b = _round(b, words[i + 1])
            c = _round(c, words[i + 2])
            d = _round(d, words[i + 3])
            i += 4
        total = _turned(a, 1) + _turned(b, 7) + _turned(c, 12) + _turned(d, 18)
        total = _merged(_merged(_merged(_merged(total, a), b), c), d)
    total += np.uint64(length)
    while i < count:
        total = _turned(total ^ _round(np.uint64(0), words[i]), 27) * P1 + P4
        i += 1
    at = count << 3
    if length - at >= 4:
        half = (np.uint64(tail[at]) | np.uint64(tail[at + 1]) << np.uint64(8)
                | np.uint64(tail[at + 2]) << np.uint64(16) | np.uint64(tail[at + 3]) << np.uint64(24))
        total = _turned(total ^ half * P1, 23) * P2 + P3
        at += 4
    while at < length:
        total = _turned(total ^ np.uint64(tail[at]) * P5, 11) * P1
        at += 1
    total = (total ^ (total >> np.uint64(33))) * P2
    total = (total ^ (total >> np.uint64(29))) * P3
    return total ^ (total >> np.uint64(32))


def sum_bytes(words: Any, tail: Any, length: Any) -> Any:
    """The checksum of bytes; arguments as for `_sum`."""
    return np.int64(_sum(words, tail, length))


def check_page(offsets: Any, words: Any, tail: Any, length: Any, total: Any, rows: Any, edges: Any, skipped: Any,
               n: Any) -> Any:  # fmt: skip
    """Check the sum of a page, that its offsets increase from 0 to `edges`, and that its neighbours are below n.

    Returns FINE, or the code of the first violation.

    Args:
        offsets, words, tail: the bytes of the page as u32, u64 and u8; the page begins with u32[rows + 1] offsets.
        length: the number of bytes.
        total: the expected checksum.
        rows, edges: the numbers of rows and edges of the page.
        skipped: the number of u32 before the neighbours, which are u32[edges].
        n: the number of vertices.
    """
    if _sum(words, tail, length) != total:
        return SUM
    if offsets[0] != 0:
        return BEGIN
    falls = np.int64(0)
    for i in range(rows):
        falls += offsets[i + 1] < offsets[i]
    if falls != 0:
        return ORDER
    if np.int64(offsets[rows]) != edges:
        return END
    greatest = np.uint32(0)  # 32 bits, so that a vector register compares as many numbers as it has
    for e in range(edges):
        greatest = max(greatest, offsets[skipped + e])
    return TARGET if edges != 0 and greatest >= n else FINE


def same_offsets(local: Any, rows: Any, whole: Any, begin: Any, edges: Any) -> Any:
    """Return whether the offsets of a page match the offsets of the whole adjacency, clipped to the page.

    Args:
        local: u32[rows + 1], the offsets in the page, relative to its first edge.
        rows: the number of rows of the page.
        whole: u64[rows + 1], the offsets of the adjacency, from the first row of the page on.
        begin: the first edge of the page in the adjacency.
        edges: the number of edges of the page.
    """
    other = np.int64(0)
    for i in range(rows + 1):
        other += min(max(np.int64(whole[i]) - begin, np.int64(0)), edges) != np.int64(local[i])
    return np.int64(other == 0)


def cut_offsets(degrees: Any, rows: Any, inside: Any, edges: Any, offsets: Any) -> None:
    """Compute the offsets of a page. The first `inside` edges of its first vertex lie in earlier pages.

    Args:
        degrees: u32[rows], from the first vertex of the page on.
        rows, edges: the numbers of rows and edges of the page.
        inside: the number of edges of the first vertex that lie in earlier pages.
        offsets: output, u32[rows + 1].
    """
    at = -inside
    offsets[0] = np.uint32(0)
    for i in range(rows):
        at += np.int64(degrees[i])
        offsets[i + 1] = np.uint32(min(at, edges))


def cut_pages(degrees: Any, n: Any, total: Any, segment: Any, room: Any, edge_bytes: Any, starts: Any, firsts: Any,
              most: Any) -> Any:  # fmt: skip
    """Divide the rows into pages; returns the number of pages.

    Args:
        degrees: u32[n].
        n, total: the numbers of rows and of edges.
        segment: rows of more than `segment` edges may be cut, after a multiple of `segment` edges; 0 if no row may be.
        room: bytes of the rows and edges of a page.
        edge_bytes: bytes of an edge.
        starts, firsts: output, i64[most], the first edge and the first row of each page.
        most: further pages are counted, but not written.
    """
    count = np.int64(1)
    row_of_page = np.int64(0)
    edge_of_page = np.int64(0)
    end = np.int64(0)
    if most > 0:
        starts[0] = 0
        firsts[0] = 0
    for row in range(n):
        begin = end
        end += np.int64(degrees[row])
        while 4 * (row + 1) + edge_bytes * end > 4 * row_of_page + edge_bytes * edge_of_page + room:
            spare = 4 * row_of_page + edge_bytes * edge_of_page + room - 4 * (row + 1)
            stop = max(begin, edge_of_page)
            alone = row_of_page == row and edge_of_page == stop
            following = row
            if segment > 0 and end - begin > segment:
                if alone:  # at least one segment
                    spare = max(spare, edge_bytes * (stop + segment))
                while edge_bytes * (stop + segment) <= spare:
                    stop += segment
                if stop >= end:
                    stop = end
                    following = row + 1
            elif alone:
                stop = end
                following = row + 1
            if following == n and stop == total:
                break
            row_of_page = np.int64(following)
            edge_of_page = stop
            if count < most:
                starts[count] = stop
                firsts[count] = following
            count += 1
            if following > row:
                break
    return count


def cut_tasks(degrees: Any, n: Any, segment: Any, cost: Any, longs: Any, breaks: Any, counts: Any) -> None:
    """Find the long rows, and divide the short rows into tasks of equal cost, which is edges plus rows.

    Args:
        degrees: u32[n].
        n: the number of rows.
        segment: rows of more edges are long.
        cost: the cost of a task.
        longs: output, i64, two words for each long row: the row and its first edge.
        breaks: output, i64, the end of each task.
        counts: output, i64[2], the numbers of long rows and of tasks.
    """
    work = np.int64(0)
    edge = np.int64(0)
    following = cost
    counts[0] = 0
    counts[1] = 0
    for row in range(n):
        degree = np.int64(degrees[row])
        if degree > segment:
            longs[2 * counts[0]] = row
            longs[2 * counts[0] + 1] = edge
            counts[0] += 1
            work += 1
        else:
            work += degree + 1
        edge += degree
        while work >= following:
            breaks[counts[1]] = row + 1
            counts[1] += 1
            following += cost
