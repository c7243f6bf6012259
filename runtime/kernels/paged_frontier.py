"""Frontiers as bitmaps over pages that arrive in any order: the pages that they need, and the receivers of their edges.

Every worker marks in a bitmap of its own, of `words` words; taken[0] numbers the workers of a launch, taken[1] counts
the edges that a look reads. Tasks are those of pages: int64[., 3], page, first and end vertex or segment.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add, inner, lowest, pointer_u32, value_i64
from vlang.runtime.plan.plan import PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, PAGE_WORDS


@inner
def window(bits, w, low, high):
    """The bits of word w that belong to vertices low to high."""
    word = bits[w]
    if 64 * w < low:
        word &= ~np.uint64(0) << np.uint64(low - 64 * w)
    if 64 * w + 64 > high:
        word &= ~np.uint64(0) >> np.uint64(64 * w + 64 - high)
    return word


@inner
def has(bits, v):
    """Whether a vertex has its bit."""
    return (bits[v >> 6] >> np.uint64(v & 63)) & np.uint64(1) != np.uint64(0)


def linked(degrees, n, bits):
    """Set the bits of the vertices that have edges, and clear all others."""
    for w in range((n + 63) >> 6):
        word = np.uint64(0)
        for v in range(64 * w, min(64 * w + 64, n)):
            word |= np.uint64(degrees[v] != 0) << np.uint64(v & 63)
        bits[w] = word


def pages_of(bits, edged, firsts, count, n, wanted):
    """Set wanted[p] where a vertex from firsts[p] up to the next page is in both bitmaps."""
    for page in range(count):
        low = firsts[page]
        high = firsts[page + 1] if page + 1 < count else n
        for w in range(low >> 6, (high + 63) >> 6):
            if window(bits, w, low, high) & edged[w] != np.uint64(0):
                wanted[page] = 1
                break


def pages_of_longs(bits, longs, count, segment_pages, wanted):
    """Set wanted[p] for all pages of the long vertices that are in a bitmap."""
    for i in range(count):
        if has(bits, longs[3 * i]):
            for s in range(longs[3 * i + 1], longs[3 * i + 2]):
                wanted[segment_pages[s]] = 1


def pages_of_flags(flags, firsts, count, n, longs, long_count, segment_pages, wanted):
    """Set wanted[p] for the pages of the vertices whose flag has bit 0."""
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
    """The edges of the vertices in a bitmap."""
    edges = np.int64(0)
    for w in range((n + 63) >> 6):
        there = bits[w]
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
    """Mark the short vertices among `left` with a neighbour in the frontier; each stops at the first one."""
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
    """Mark the long vertices among `left` with a neighbour in the frontier, segment by segment."""
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
