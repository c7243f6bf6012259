"""Kernels that sort vertices by level: a counting sort, parallel over ranges of vertices.

Each task has its own counts, so the vertices of a level are in increasing order for any number of threads.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add


def bounds(values, chosen, tasks, count, counter, found):
    """found[2 t] and found[2 t + 1] become the least and the greatest level of the chosen vertices of task t.

    If the task has no such vertex, `found` keeps its values.
    """
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        low, high = found[2 * task], found[2 * task + 1]
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            if chosen[v] != 0:
                level = np.int64(values[v])
                low, high = min(low, level), max(high, level)
        found[2 * task], found[2 * task + 1] = low, high


def sizes(values, chosen, least, levels, tasks, count, counter, found):
    """found[t * levels + k] becomes the number of vertices of task t in level least + k. `found` is zero before."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        base = task * levels - least
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            if chosen[v] != 0:
                found[base + np.int64(values[v])] += 1


def place(values, chosen, least, levels, tasks, count, counter, places, order):
    """Write the chosen vertices to `order`. places[t * levels + k]: where the vertices of task t in level least + k go.
    """
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        base = task * levels - least
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            if chosen[v] != 0:
                k = base + np.int64(values[v])
                order[places[k]] = v
                places[k] += 1
