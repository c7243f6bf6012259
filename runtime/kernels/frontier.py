"""The kernels of notify-pull: they turn the flags of changed vertices into lists of vertices for the next pass.

A vertex is long if its row is cut into segments, and short otherwise. There are two lists: the numbers of short
vertices, and the indices of long vertices in the table `longs`. Both lists are in increasing order, so that a pass over
a list reads the pages in order. A task is three words: page, and first and end index in a list or in `segments`.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add, inner, pointer_u32, value_i64
from vlang.runtime.plan.plan import PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, PAGE_WORDS


def split_flags(words, count, bit, longs, long_count, short_list, long_list, counts, marks):
    """Convert flags to lists: write the vertices with `flag & bit` to the lists, and clear all flags.

    Vertices with `flag & 2` are also marked in `marks`. A word of `words` has the flags of eight vertices, one byte
    each. counts[0] and counts[1] get the lengths of the short and of the long list.
    """
    shorts, found, at = 0, 0, 0
    for w in range(count):
        word = words[w]
        if word == 0:
            continue
        words[w] = 0
        for byte in range(8):
            flag = np.int64((word >> np.uint64(8 * byte)) & np.uint64(255))
            v = 8 * w + byte
            if flag & 2:
                marks[v] = 1
            if flag & bit:
                while at < long_count and longs[3 * at] < v:
                    at += 1
                if at < long_count and longs[3 * at] == v:
                    long_list[found] = at
                    found += 1
                else:
                    short_list[shorts] = v
                    shorts += 1
    counts[0] = shorts
    counts[1] = found


def reached(flags, n, degrees):
    """The sum of the degrees of the vertices with `flag & 1`. LLVM vectorises both inner loops."""
    total = np.int64(0)
    for low in range(0, n, 256):
        high, some = min(low + 256, n), np.uint8(0)
        for v in range(low, high):
            some |= flags[v]
        if some & 1:
            for v in range(low, high):
                total += np.int64(degrees[v]) if flags[v] & 1 else np.int64(0)
    return total


def notify_vertices(pages, vertices, tasks, count, counter, marks):
    """Mark the neighbours of the listed short vertices. Several threads may store the same mark, which is harmless."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = tasks[3 * task] * PAGE_WORDS
        offsets = pointer_u32(pages, row + PAGE_OFFSETS)
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        first = value_i64(pages, row + PAGE_FIRST)
        for i in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            v = np.int64(vertices[i]) - first
            for k in range(np.int64(offsets[v]), np.int64(offsets[v + 1])):
                marks[np.int64(targets[k])] = 1


def notify_segments(pages, segments, tasks, count, counter, marks):
    """Mark the neighbours in segments of long vertices."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        targets = pointer_u32(pages, tasks[3 * task] * PAGE_WORDS + PAGE_TARGETS)
        for s in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            for k in range(segments[3 * s + 1], segments[3 * s + 2]):
                marks[np.int64(targets[k])] = 1


@inner
def put_task(tasks, made, page, begin, end):
    """Write task number `made`, and return the new number of tasks."""
    tasks[3 * made] = page
    tasks[3 * made + 1] = begin
    tasks[3 * made + 2] = end
    return made + 1


@inner
def page_of(firsts, pages, v):
    """The page with the row of vertex v, by binary search in the first vertices of the pages."""
    low, high = np.int64(0), np.int64(pages)
    while high - low > 1:
        middle = (low + high) >> 1
        if firsts[middle] <= v:
            low = middle
        else:
            high = middle
    return low


def level_tasks(vertices, starts, levels, offsets, firsts, pages, cost, tasks, task_starts, edges):
    """Cut lists of short vertices into tasks, each within one page and of about `cost` edges and vertices.

    List k is vertices[starts[k]:starts[k + 1]], in any order. The tasks of list k begin at task_starts[k], and edges[k]
    gets the number of edges of list k. Returns the number of tasks.
    """
    made = 0
    for level in range(levels):
        task_starts[level] = made
        begin, page, work, total = starts[level], np.int64(-1), np.int64(0), np.int64(0)
        for i in range(starts[level], starts[level + 1]):
            v = np.int64(vertices[i])
            if page < 0 or v < firsts[page] or (page + 1 < pages and firsts[page + 1] <= v):
                if i > begin:
                    made = put_task(tasks, made, page, begin, i)
                    begin = i
                    work = np.int64(0)
                page = page_of(firsts, pages, v)
            degree = np.int64(offsets[v + 1]) - np.int64(offsets[v])
            total += degree
            work += degree + 1
            if work >= cost:
                made = put_task(tasks, made, page, begin, i + 1)
                begin = i + 1
                work = np.int64(0)
        if starts[level + 1] > begin:
            made = put_task(tasks, made, page, begin, starts[level + 1])
        edges[level] = total
    task_starts[levels] = made
    return made


def level_long_tasks(chosen, starts, levels, longs, segments, segment_pages, per_task, tasks, task_starts, edges):
    """Like `level_tasks`, for the segments of listed long vertices, with at most `per_task` segments in a task."""
    made = 0
    for level in range(levels):
        task_starts[level] = made
        total = np.int64(0)
        for i in range(starts[level], starts[level + 1]):
            k = np.int64(chosen[i])
            begin, end = longs[3 * k + 1], longs[3 * k + 2]
            for s in range(longs[3 * k + 1], end):
                total += segments[3 * s + 2] - segments[3 * s + 1]
                last = s + 1 == end
                if last or s + 1 - begin == per_task or segment_pages[s + 1] != segment_pages[s]:
                    made = put_task(tasks, made, segment_pages[s], begin, s + 1)
                    begin = s + 1
        edges[level] = total
    task_starts[levels] = made
    return made


@inner
def degree_by_offsets(offsets, v):
    """The degree of vertex v, from the offsets of the rows."""
    return np.int64(offsets[v + 1]) - np.int64(offsets[v])


@inner
def degree_given(degrees, v):
    """The degree of vertex v, from the degrees of all vertices."""
    return np.int64(degrees[v])


@inner
def cut_list(degree_of, rows, vertices, count, firsts, pages, cost, tasks, total):
    """Cut a sorted list of short vertices into tasks, each within one page and of about `cost` edges and vertices.

    total[0] gets the number of edges. Returns the number of tasks. The degree of a vertex is `degree_of(rows, v)`.
    """
    page, begin, made, work, edges = 0, 0, 0, np.int64(0), np.int64(0)
    for i in range(count):
        v = np.int64(vertices[i])
        while page + 1 < pages and firsts[page + 1] <= v:
            if i > begin:
                made = put_task(tasks, made, page, begin, i)
                begin = i
                work = np.int64(0)
            page += 1
        degree = degree_of(rows, v)
        edges += degree
        work += degree + 1
        if work >= cost:
            made = put_task(tasks, made, page, begin, i + 1)
            begin = i + 1
            work = np.int64(0)
    if count > begin:
        made = put_task(tasks, made, page, begin, count)
    total[0] = edges
    return made


def list_tasks(vertices, count, offsets, firsts, pages, cost, tasks, total):
    """Cut a sorted list of short vertices into tasks: see `cut_list`."""
    return cut_list(degree_by_offsets, offsets, vertices, count, firsts, pages, cost, tasks, total)


def list_tasks_by_degree(vertices, count, degrees, firsts, pages, cost, tasks, total):
    """Like `list_tasks`, with the degrees of the vertices instead of the row offsets of the adjacency."""
    return cut_list(degree_given, degrees, vertices, count, firsts, pages, cost, tasks, total)


def long_tasks(chosen, count, longs, segments, segment_pages, per_task, tasks, total):
    """Cut the segments of listed long vertices into tasks, each within one page and of at most `per_task` segments.

    total[0] gets the number of edges. Returns the number of tasks.
    """
    made, edges = 0, 0
    for i in range(count):
        k = np.int64(chosen[i])
        begin = longs[3 * k + 1]
        for s in range(longs[3 * k + 1], longs[3 * k + 2]):
            edges += segments[3 * s + 2] - segments[3 * s + 1]
            last = s + 1 == longs[3 * k + 2]
            if last or s + 1 - begin == per_task or segment_pages[s + 1] != segment_pages[s]:
                tasks[3 * made] = segment_pages[s]
                tasks[3 * made + 1] = begin
                tasks[3 * made + 2] = s + 1
                made += 1
                begin = s + 1
    total[0] = edges
    return made


def long_vertices(chosen, count, longs, vertices):
    """Convert listed indices of long vertices to vertex numbers."""
    for i in range(count):
        vertices[i] = longs[3 * np.int64(chosen[i])]


def exchange_8(a, b, vertices, count, width):
    """Swap the values of the listed vertices between a and b; a vertex has `width` consecutive entries."""
    for i in range(count):
        first = np.int64(vertices[i]) * width
        for k in range(first, first + width):
            a[k], b[k] = b[k], a[k]


def copy_8(a, b, vertices, count, width):
    """Copy the values of the listed vertices from b to a; a vertex has `width` consecutive entries."""
    for i in range(count):
        first = np.int64(vertices[i]) * width
        for k in range(first, first + width):
            a[k] = b[k]


exchange_16 = exchange_32 = exchange_64 = exchange_8
copy_16 = copy_32 = copy_64 = copy_8
