"""Sums over the edges for several runs at a time: every edge is read once, and the values of a vertex lie side by side.

Each run adds the same values in the same order as in a run by itself, so that its sums have the same bits: a short row
in one piece, a long row segment by segment. The kernels are made once for each type of values, which takes the place of
`f32`.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add, pointer_f32, pointer_f64, pointer_u32, value_i64
from vlang.runtime.compile.side_by_side import row_of_sums, sum_rows
from vlang.runtime.plan.layouts.together_words import WIDTH
from vlang.runtime.plan.plan import PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, PAGE_WORDS


def weave_f32(addresses, runs, woven, tasks, count, counter):
    """Write the values of every run into rows. addresses: for each run, the address of its values."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        while low < high:
            stop = min(low + 256, high)
            for run in range(runs):
                values = pointer_f32(addresses, run)
                for v in range(low, stop):
                    woven[v * WIDTH + run] = values[v]
            low = stop


def rows_f32(pages, woven, addresses, runs, tasks, count, counter):
    """Write the sums of every vertex with a short row. addresses: for each run, the address of its sums."""
    sums = row_of_sums()
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        page = np.int64(tasks[3 * task]) * PAGE_WORDS
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        offsets, targets = pointer_u32(pages, page + PAGE_OFFSETS), pointer_u32(pages, page + PAGE_TARGETS)
        first = value_i64(pages, page + PAGE_FIRST)
        for v in range(low, high):
            sum_rows(sums, woven, targets, np.int64(offsets[v - first]), np.int64(offsets[v - first + 1]))
            for run in range(runs):
                pointer_f64(addresses, run)[v] = sums[run]


def segments_f32(pages, table, base, woven, addresses, runs, tasks, count, counter):
    """Write the sums of every segment of a long row, behind those of `base` vertices."""
    sums = row_of_sums()
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        page = np.int64(tasks[3 * task]) * PAGE_WORDS
        targets = pointer_u32(pages, page + PAGE_TARGETS)
        for s in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            sum_rows(sums, woven, targets, table[3 * s + 1], table[3 * s + 2])
            for run in range(runs):
                pointer_f64(addresses, run)[base + s] = sums[run]


def joined_f32(longs, base, addresses, runs, tasks, count, counter):
    """Write the sum of every long row, from those of its segments in order. longs: int64[L, 3], as in `PageCuts`."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            for run in range(runs):
                sums = pointer_f64(addresses, run)
                total = sums[base + longs[3 * i + 1]]
                for s in range(longs[3 * i + 1] + 1, longs[3 * i + 2]):
                    total += sums[base + s]
                sums[longs[3 * i]] = total
