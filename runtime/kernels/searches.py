"""Kernels of searches of several runs at a time, with a word of bits at each vertex: bit i belongs to run i.

A task is a run of tasks[0] words of bitmaps; tasks[1] is the number of words of a bitmap, which has a bit per vertex.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add, inner, pointer_u32, pointer_u64


@inner
def exchange(block, base, step, mask):
    """Exchange bits between all pairs of words whose numbers differ by `step`; `mask` selects bits of the word with the
    lower number.
    """
    far = np.uint64(step)
    first = 0
    while first < 64:
        for k in range(base + first, base + first + step):
            swapped = ((block[k] >> far) ^ block[k + step]) & mask
            block[k] ^= swapped << far
            block[k + step] ^= swapped
        first += 2 * step


@inner
def transpose(block, base):
    """Transpose 64 words of 64 bits: bit j of word i becomes bit i of word j."""
    exchange(block, base, 32, np.uint64(0x00000000FFFFFFFF))
    exchange(block, base, 16, np.uint64(0x0000FFFF0000FFFF))
    exchange(block, base, 8, np.uint64(0x00FF00FF00FF00FF))
    exchange(block, base, 4, np.uint64(0x0F0F0F0F0F0F0F0F))
    exchange(block, base, 2, np.uint64(0x3333333333333333))
    exchange(block, base, 1, np.uint64(0x5555555555555555))


@inner
def by_vertex(addresses, runs, block, w):
    """Write a word of bits for each of the 64 vertices of word w of the bitmaps; returns whether any bit is set."""
    some = np.uint64(0)
    for run in range(64):
        word = pointer_u64(addresses, run)[w] if run < runs else np.uint64(0)
        block[64 * w + run] = word
        some |= word
    if some != np.uint64(0):
        transpose(block, 64 * w)
    return some != np.uint64(0)


def turn(addresses, runs, block, tasks, count, counter):
    """Write the bits of bitmaps by vertex. addresses: for each run, the address of its bitmap."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for w in range(task * tasks[0], min((task + 1) * tasks[0], tasks[1])):
            by_vertex(addresses, runs, block, w)


def look(lists, lefts, founds, runs, there, wanted, tasks, count, counter, counts):
    """Find the vertices that the frontier of each run reaches. The search of a vertex ends when every run has found a
    neighbour in its frontier.

    lists: the addresses of offsets, u64, and neighbours, u32. lefts, founds: for each run, the addresses of the bitmap
    of vertices not reached, and of the bitmap to write. there: for each vertex, the runs whose frontier contains the
    vertex.
    """
    offsets, targets = pointer_u64(lists, 0), pointer_u32(lists, 1)
    looked = np.int64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for w in range(task * tasks[0], min((task + 1) * tasks[0], tasks[1])):
            if not by_vertex(lefts, runs, wanted, w):
                continue
            some = np.uint64(0)
            for v in range(64 * w, 64 * w + 64):
                want = wanted[v]
                got = np.uint64(0)
                if want != np.uint64(0):
                    k = np.int64(offsets[v])
                    end = np.int64(offsets[v + 1])
                    looked -= k
                    while k < end:
                        got |= there[np.int64(targets[k])]
                        k += 1
                        if got & want == want:
                            break
                    looked += k
                    got &= want
                wanted[v] = got
                some |= got
            if some != np.uint64(0):
                transpose(wanted, 64 * w)
                for run in range(runs):
                    pointer_u64(founds, run)[w] = wanted[64 * w + run]
    fetch_add(counts, 0, looked)
