"""Kernels for frontiers that are bitmaps, over pages that are read in any order.

The kernels find the pages that a frontier needs, and the receivers of its edges. Every worker sets bits in its own
bitmap of `words` words in `marks`. taken[0] counts the workers of a launch, and so gives each of them a number.
taken[1] counts the edges that `look_...` reads. `tasks`, int64[T, 3], are the tasks of the pages: page, and first and
end vertex or segment. A vertex is long if its row is cut into segments, and short otherwise.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add, inner, lowest, pointer_u32, value_i64
from vlang.runtime.kernels.bits import DENSE, ones
from vlang.runtime.plan.plan import PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, PAGE_WORDS


@inner
def window(bits, w, low, high):
    """Word w of a bitmap, with the bits of vertices outside of low..high-1 cleared."""
    word = bits[w]
    if 64 * w < low:
        word &= ~np.uint64(0) << np.uint64(low - 64 * w)
    if 64 * w + 64 > high:
        word &= ~np.uint64(0) >> np.uint64(64 * w + 64 - high)
    return word


@inner
def has(bits, v):
    """Return whether the bit of vertex v is set."""
    return (bits[v >> 6] >> np.uint64(v & 63)) & np.uint64(1) != np.uint64(0)


def linked(degrees, n, bits):
    """Set the bits of the vertices that have edges, and clear all other bits."""
    for w in range((n + 63) >> 6):
        word = np.uint64(0)
        for v in range(64 * w, min(64 * w + 64, n)):
            word |= np.uint64(degrees[v] != 0) << np.uint64(v & 63)
        bits[w] = word


def pages_of(bits, edged, firsts, count, n, wanted):
    """Set wanted[p] if a vertex of page p, from firsts[p] to firsts[p + 1] - 1, is in both bitmaps."""
    for page in range(count):
        low = firsts[page]
        high = firsts[page + 1] if page + 1 < count else n
        for w in range(low >> 6, (high + 63) >> 6):
            if window(bits, w, low, high) & edged[w] != np.uint64(0):
                wanted[page] = 1
                break


def pages_of_longs(bits, longs, count, segment_pages, wanted):
    """Set wanted[p] for each page p that holds a segment of a long vertex whose bit in `bits` is set."""
    for i in range(count):
        if has(bits, longs[3 * i]):
            for s in range(longs[3 * i + 1], longs[3 * i + 2]):
                wanted[segment_pages[s]] = 1


def pages_of_flags(flags, firsts, count, n, longs, long_count, segment_pages, wanted):
    """Set wanted[p] for all pages with edges of the vertices with `flag & 1`."""
    for page in range(count):
        high = firsts[page + 1] if page + 1 < count else n
        for v in range(firsts[page], high):
            if flags[v] & np.uint8(1):
                wanted[page] = 1
                break
    for i in range(long_count):
        if flags[longs[3 * i]] & np.uint8(1):
            for s in range(longs[3 * i + 1], longs[3 * i + 2]):
                wanted[segment_pages[s]] = 1


def edges_of(bits, n, degrees):
    """The number of edges of the vertices in a bitmap."""
    edges = np.int64(0)
    for w in range((n + 63) >> 6):
        there = bits[w]
        if ones(there) > DENSE and 64 * w + 64 <= n:
            for i in range(64):  # vectorised, as it has no branch
                chosen = np.uint32(0) - np.uint32((there >> np.uint64(i)) & np.uint64(1))
                edges += np.int64(degrees[64 * w + i] & chosen)
            continue
        while there != np.uint64(0):
            edges += np.int64(degrees[64 * w + lowest(there)])
            there &= there - np.uint64(1)
    return edges


def mark_rows(pages, front, marks, words, tasks, count, counter, taken):
    """Mark the neighbours of the short vertices of the frontier."""
    mine = fetch_add(taken, 0, 1) * words
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = tasks[3 * task] * PAGE_WORDS
        offsets = pointer_u32(pages, row + PAGE_OFFSETS)
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        first = value_i64(pages, row + PAGE_FIRST)
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        for w in range(low >> 6, (high + 63) >> 6):
            there = window(front, w, low, high)
            while there != np.uint64(0):
                v = 64 * w + lowest(there) - first
                there &= there - np.uint64(1)
                for k in range(np.int64(offsets[v]), np.int64(offsets[v + 1])):
                    u = np.int64(targets[k])
                    marks[mine + (u >> 6)] |= np.uint64(1) << np.uint64(u & 63)


def mark_segments(pages, segments, front, marks, words, tasks, count, counter, taken):
    """Mark the neighbours of the long vertices of the frontier."""
    mine = fetch_add(taken, 0, 1) * words
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        targets = pointer_u32(pages, tasks[3 * task] * PAGE_WORDS + PAGE_TARGETS)
        for s in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            if has(front, segments[3 * s]):
                for k in range(segments[3 * s + 1], segments[3 * s + 2]):
                    u = np.int64(targets[k])
                    marks[mine + (u >> 6)] |= np.uint64(1) << np.uint64(u & 63)


def look_rows(pages, front, left, marks, words, tasks, count, counter, taken):
    """Mark the short vertices in the bitmap `left` that have a neighbour in the frontier.

    The search in a row ends at the first such neighbour.
    """
    mine, looked = fetch_add(taken, 0, 1) * words, np.int64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = tasks[3 * task] * PAGE_WORDS
        offsets = pointer_u32(pages, row + PAGE_OFFSETS)
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        first = value_i64(pages, row + PAGE_FIRST)
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        for w in range(low >> 6, (high + 63) >> 6):
            there = window(left, w, low, high)
            while there != np.uint64(0):
                v = 64 * w + lowest(there)
                there &= there - np.uint64(1)
                k, end = np.int64(offsets[v - first]), np.int64(offsets[v - first + 1])
                looked -= k
                while k < end:
                    k += 1
                    if has(front, np.int64(targets[k - 1])):
                        marks[mine + w] |= np.uint64(1) << np.uint64(v & 63)
                        break
                looked += k
    fetch_add(taken, 1, looked)


def look_segments(pages, segments, front, left, marks, words, tasks, count, counter, taken):
    """Mark the long vertices in the bitmap `left` that have a neighbour in the frontier.

    The search in a segment ends at the first such neighbour.
    """
    mine, looked = fetch_add(taken, 0, 1) * words, np.int64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        targets = pointer_u32(pages, tasks[3 * task] * PAGE_WORDS + PAGE_TARGETS)
        for s in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            v = segments[3 * s]
            if has(left, v):
                k, end = segments[3 * s + 1], segments[3 * s + 2]
                looked -= k
                while k < end:
                    k += 1
                    if has(front, np.int64(targets[k - 1])):
                        marks[mine + (v >> 6)] |= np.uint64(1) << np.uint64(v & 63)
                        break
                looked += k
    fetch_add(taken, 1, looked)
