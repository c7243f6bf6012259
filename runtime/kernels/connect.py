"""Connected components by hooking and compression (Afforest), and the reduction of values over each component.

`parents`, u32[n], has for every vertex a parent whose number is not larger. A vertex that is its own parent is the root
of a tree. To link two trees, the larger root gets the smaller root as parent. So the final root of each tree is the
smallest vertex of its component, independent of timing.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add, inner, lowest, peek, pointer_u32, poke, replace, value_i64
from vlang.runtime.plan.plan import PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, PAGE_WORDS


@inner
def link(a, b, parents):
    """Link the trees of two vertices."""
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
    """Find the root of the tree of v, and make it the parent of v.

    On the path to the root, every second vertex gets its grandparent as parent (path halving: Tarjan, van Leeuwen, JACM
    31, 1984). Other threads may do the same at the same time, because a vertex that is no root never becomes a root
    again, and any ancestor is a valid parent.
    """
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
    """Make the smaller of each vertex and its first (smallest) neighbour the parent of the vertex.

    second[v] becomes the second neighbour of v, which is mostly in the same cache line as the first neighbour. If the
    first and the second neighbour are equal (parallel edges, or one edge in both directions), second[v] becomes the
    third neighbour. The choice of the neighbour is made without a branch, because a branch would often be mispredicted.
    """
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
    """Link each vertex with its second neighbour, four vertices at a time, so that the reads of parents overlap."""
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


def adopt(offsets, targets, known, first, words, top, parents, tasks, count, counter):
    """Make `top` the parent of the vertices in a bitmap, and link each other vertex with its first neighbour only.

    Args:
        known: the words `first` to `first + words - 1` of a bitmap over the vertices; other words are zero. All these
            vertices are in one component with `top`, which is at most as large as each of them.
    """
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        begin, end = tasks[3 * task + 1], tasks[3 * task + 2]
        for v in range(begin, end):
            parents[v] = top
        for w in range(begin >> 6, (end + 63) >> 6):
            there = ~np.uint64(0)
            if w >= first and w < first + words:
                there = ~known[w - first]
            if 64 * w < begin:
                there &= ~np.uint64(0) << np.uint64(begin & 63)
            if 64 * w + 64 > end:
                there &= (np.uint64(1) << np.uint64(end & 63)) - np.uint64(1)
            while there != np.uint64(0):
                v = 64 * w + lowest(there)
                there &= there - np.uint64(1)
                above = np.uint32(v)
                if offsets[v] < offsets[v + 1]:
                    above = min(above, targets[np.int64(offsets[v])])
                    at = np.int64(above >> np.uint32(6)) - first
                    if at >= 0 and at < words and (known[at] >> np.uint64(above & np.uint32(63))) & np.uint64(1) != 0:
                        above = top
                parents[v] = above


def misplaced(values, tasks, count, counter, found):
    """Set found[0] to 1 if the value of some vertex differs from its own number."""
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
    """Make the root of each vertex's tree the parent of the vertex."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            root(np.uint32(v), parents)


def roots(parents, vertices, tasks, count, counter):
    """Replace each vertex in a list by the root of its tree."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            vertices[i] = root(vertices[i], parents)


def outside(offsets, parents, chosen, tasks, count, counter, others, counts):
    """Collect the vertices that have edges and are not in the tree with the root `chosen`.

    Task t writes the vertices that it finds to `others` in increasing order, from the index of the task's first vertex
    on. The task writes the number of these vertices to counts[2 * t], and the number of their edges to counts[2 * t +
    1].
    """
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
    """Link the vertices in `others`, as `outside` wrote them, with all their neighbours."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        first = tasks[3 * task + 1]
        for i in range(first, first + counts[2 * task]):
            v = others[i]
            for k in range(np.int64(offsets[v]), np.int64(offsets[np.int64(v) + 1])):
                link(v, targets[k], parents)


# ------------------------------------------------------------------------ pages that are read in any order


def alone(parents, tasks, count, counter):
    """Make every vertex the root of its own tree."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            parents[v] = v


def hook_rows(pages, parents, tasks, count, counter):
    """Link the vertices with short rows (not cut into segments) with all their neighbours."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = tasks[3 * task] * PAGE_WORDS
        offsets = pointer_u32(pages, row + PAGE_OFFSETS)
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        first = value_i64(pages, row + PAGE_FIRST)
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            begin, end = np.int64(offsets[v - first]), np.int64(offsets[v - first + 1])
            if begin < end:
                above = root(np.uint32(v), parents)
                for k in range(begin, end):
                    link(above, targets[k], parents)


def hook_segments(pages, segments, parents, tasks, count, counter):
    """Link the vertices of segments with their neighbours in the segments."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        targets = pointer_u32(pages, tasks[3 * task] * PAGE_WORDS + PAGE_TARGETS)
        for s in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            above = root(np.uint32(segments[3 * s]), parents)
            for k in range(segments[3 * s + 1], segments[3 * s + 2]):
                link(above, targets[k], parents)


# ------------------------------------------------------------------------------- several ranks


def used(parents, low, high, common, flags):
    """Set the flag of each root outside of low..high-1 whose tree has any of these vertices.

    The root `common` may be left out; its tree has most vertices, so that groups of 64 vertices are mostly in it.
    """
    for begin in range(low, high, 64):
        end, other = min(begin + 64, high), np.uint32(0)
        for v in range(begin, end):
            other |= np.uint32(parents[v] != common) & np.uint32(parents[v] != np.uint32(v))
        if other != np.uint32(0):
            for v in range(begin, end):
                flags[parents[v]] = np.uint8(1)


def pairs(ones, others, count, parents):
    """Link the trees of pairs of vertices."""
    for i in range(count):
        link(ones[i], others[i], parents)


# ------------------------------------------------------------------------------- joins


@inner
def put_min(values, v, value):
    """Set values[v] to the minimum of itself and `value` by compare-and-swap; other threads may do the same."""
    now = peek(values, v)
    while value < now and not replace(values, v, now, value):
        now = peek(values, v)


@inner
def put_max(values, v, value):
    """Set values[v] to the maximum of itself and `value` by compare-and-swap; other threads may do the same."""
    now = peek(values, v)
    while value > now and not replace(values, v, now, value):
        now = peek(values, v)


@inner
def put_last(values, v, value):
    """Set values[v] to the larger of itself and the vertex number `value`, where `none` is less than all other values.
    """
    one = np.uint32(1)
    now = peek(values, v)
    while np.uint32(value + one) > np.uint32(now + one) and not replace(values, v, now, value):
        now = peek(values, v)


@inner
def put_bitor(values, v, value):
    """Set values[v] to its bitwise OR with `value` by compare-and-swap; other threads may do the same."""
    now = peek(values, v)
    while (now | value) != now and not replace(values, v, now, now | value):
        now = peek(values, v)


@inner
def put_bitand(values, v, value):
    """Set values[v] to its bitwise AND with `value` by compare-and-swap; other threads may do the same."""
    now = peek(values, v)
    while (now & value) != now and not replace(values, v, now, now & value):
        now = peek(values, v)


put = put_min  # a default; the engine appends an assignment for the reduction that a loop needs


def join(parents, values, tasks, count, counter):
    """Make the root the parent of every vertex, and combine the value of the vertex into the value of the root.

    Roots are not skipped, because in graphs with many isolated vertices the branch would be mispredicted half of the
    time.
    """
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            put(values, root(np.uint32(v), parents), values[v])


def spread(parents, values, tasks, count, counter):
    """Copy the value of the root to every vertex of its tree."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            values[v] = values[parents[v]]
