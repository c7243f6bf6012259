"""Connected components by hooking and compression (Afforest), and the join of values over each component.

parents: u32[n], of every vertex one that is not above it; who is its own parent is the root of a tree. Trees are joined
by hooking the larger of two roots to the smaller one, so in the end the root is the smallest vertex of its component,
whatever the timing.
"""

import numpy as np

from vlang.runtime.devices.intrinsics import fetch_add, inner, peek, replace


@inner
def link(u, v, parents):
    """Join the trees of two neighbours."""
    a = peek(parents, u)
    b = peek(parents, v)
    while a != b:
        high = max(a, b)
        low = min(a, b)
        above = peek(parents, high)
        if above == low or (above == high and replace(parents, high, high, low)):
            break
        a = peek(parents, peek(parents, high))
        b = peek(parents, low)


def start(offsets, targets, parents, tasks, count, counter):
    """Each vertex takes its smallest neighbour as its parent, if that is not above it."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            begin = np.int64(offsets[v])
            parent = np.uint32(v)
            if begin < np.int64(offsets[v + 1]) and targets[begin] < parent:
                parent = targets[begin]
            parents[v] = parent


def sample(offsets, targets, rank, parents, tasks, count, counter):
    """Join each vertex with its neighbour number `rank`."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            at = np.int64(offsets[v]) + rank
            if at < np.int64(offsets[v + 1]):
                link(np.uint32(v), targets[at], parents)


@inner
def root(v, parents):
    """The root of the tree of a vertex; it becomes the parent."""
    first = peek(parents, v)
    parent = first
    above = peek(parents, parent)
    while above != parent:
        parent = above
        above = peek(parents, parent)
    if parent != first:
        parents[v] = parent
    return parent


def compress(parents, tasks, count, counter):
    """Let every vertex point to the root of its tree."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            root(v, parents)


def outside(offsets, parents, chosen, tasks, count, counter, others, counts):
    """The vertices with edges that are not in the tree of the root `chosen`: those of a task from its first place of
    `others` on, in order. counts[2 t], counts[2 t + 1]: of task t, how many and their edges."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        first = tasks[3 * task + 1]
        found = first
        edges = np.int64(0)
        for v in range(first, tasks[3 * task + 2]):
            if parents[v] != chosen:
                degree = np.int64(offsets[v + 1]) - np.int64(offsets[v])
                if degree > 0:
                    others[found] = v
                    found += 1
                    edges += degree
        counts[2 * task] = found - first
        counts[2 * task + 1] = edges


def finish(offsets, targets, parents, tasks, count, counter, others, counts):
    """Join the listed vertices with all their neighbours."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        first = tasks[3 * task + 1]
        for i in range(first, first + counts[2 * task]):
            v = others[i]
            for k in range(np.int64(offsets[v]), np.int64(offsets[np.int64(v) + 1])):
                link(v, targets[k], parents)


# ------------------------------------------------------------------------------- joins


@inner
def put_min(values, v, value):
    """Join a value into that of v, others doing the same."""
    now = peek(values, v)
    while value < now and not replace(values, v, now, value):
        now = peek(values, v)


@inner
def put_max(values, v, value):
    """Join a value into that of v, others doing the same."""
    now = peek(values, v)
    while value > now and not replace(values, v, now, value):
        now = peek(values, v)


@inner
def put_last(values, v, value):
    """Join a vertex into that of v, others doing the same: the largest one, the vertex `none` below all."""
    one = np.uint32(1)
    now = peek(values, v)
    while np.uint32(value + one) > np.uint32(now + one) and not replace(values, v, now, value):
        now = peek(values, v)


@inner
def put_bitor(values, v, value):
    """Join a value into that of v, others doing the same."""
    now = peek(values, v)
    while (now | value) != now and not replace(values, v, now, now | value):
        now = peek(values, v)


@inner
def put_bitand(values, v, value):
    """Join a value into that of v, others doing the same."""
    now = peek(values, v)
    while (now & value) != now and not replace(values, v, now, now & value):
        now = peek(values, v)


put = put_min  # the engine appends the one that it needs


def join(parents, values, tasks, count, counter):
    """Let every vertex point to the root of its tree, and join its value into that of the root."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            parent = root(v, parents)
            if parent != v:
                put(values, parent, values[v])


def spread(parents, values, tasks, count, counter):
    """Every vertex takes the value of its root."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            parent = parents[v]
            if parent != v:
                values[v] = values[parent]
