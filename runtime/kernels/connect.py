"""Connected components by hooking and compression (Afforest), and the join of values over each component.

parents: u32[n], of every vertex one that is not above it; who is its own parent is the root of a tree. Trees are joined
by hooking the larger of two roots to the smaller one, so in the end the root is the smallest vertex of its component,
whatever the timing.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add, inner, peek, poke, replace


@inner
def link(a, b, parents):
    """Join the trees of two vertices."""
    while a != b:
        high = max(a, b)
        low = min(a, b)
        above = peek(parents, high)
        if above == low or (above == high and replace(parents, high, high, low)):
            break
        a = peek(parents, peek(parents, high))
        b = peek(parents, low)


@inner
def root(v, parents):
    """The root of the tree of a vertex; it becomes the parent. Every other vertex on the way skips one (path halving:
    Tarjan, van Leeuwen, JACM 31, 1984), others doing the same: who has a parent never becomes a root again, and any
    vertex further up is as good a parent."""
    first = peek(parents, v)
    here = v
    parent = first
    above = peek(parents, parent)
    while above != parent:
        parents[here] = above
        here = above
        parent = peek(parents, here)
        above = peek(parents, parent)
    if parent != first:
        parents[v] = parent
    return parent


def start(offsets, targets, second, parents, tasks, count, counter):
    """Each vertex takes its smallest neighbour as its parent, if that is not above it. The second entry of its row, or
    the third if the second is the first again (edges may be parallel, or one edge in both directions), goes to
    `second`, as it mostly lies in the same line of memory. No branch chooses it, which would often go wrong."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            begin, end = np.int64(offsets[v]), np.int64(offsets[v + 1])
            me = np.uint32(v)
            least = other = me
            if begin < end:
                least = targets[begin]
                again = np.int64(targets[min(begin + 1, end - 1)] == least)
                other = targets[min(begin + 1 + again, end - 1)]
            parents[v] = min(me, least)
            second[v] = other


def sample(second, parents, tasks, count, counter):
    """Join each vertex with its second neighbour, four at a time, so that their parents are waited for together."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        v, end = tasks[3 * task + 1], tasks[3 * task + 2]
        while v + 4 <= end:
            a, b = peek(parents, second[v]), peek(parents, second[v + 1])
            c, d = peek(parents, second[v + 2]), peek(parents, second[v + 3])
            link(root(np.uint32(v), parents), a, parents)
            link(root(np.uint32(v + 1), parents), b, parents)
            link(root(np.uint32(v + 2), parents), c, parents)
            link(root(np.uint32(v + 3), parents), d, parents)
            v += 4
        while v < end:
            link(root(np.uint32(v), parents), second[v], parents)
            v += 1


def misplaced(values, tasks, count, counter, found):
    """Whether some vertex has another value than its own number: found[0] becomes 1."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count or peek(found, 0) != 0:
            break
        wrong = np.uint32(0)
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            wrong |= values[v] ^ np.uint32(v)
        if wrong != 0:
            poke(found, 0, 1)


def flatten(parents, tasks, count, counter):
    """Every vertex points to the root of its tree."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            root(np.uint32(v), parents)


def roots(parents, vertices, tasks, count, counter):
    """The root of the tree of each vertex in a list takes its place there."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            vertices[i] = root(vertices[i], parents)


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
            if root(np.uint32(v), parents) != chosen:
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
    """Let every vertex point to the root of its tree, and join its value into that of the root; a root does that, too,
    as a test for it would be right half of the time in graphs with many isolated vertices."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            put(values, root(np.uint32(v), parents), values[v])


def spread(parents, values, tasks, count, counter):
    """Every vertex takes the value of its root."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            values[v] = values[parents[v]]
