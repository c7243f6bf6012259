"""Loops with a uniform frontier (rule X2): all vertices of the frontier send the same value, so any sender may reach a
vertex.

The following functions are generated from the program: `level` (the value that the frontier sends, and whether it can
change a vertex), `is_final`, `reach` and `renew`. Layout: REACH_... in runtime/plan/layouts/reach_words.py.

A superstep either runs `mark` and then `unite`, or runs `early`. `narrow` (narrow.py) runs many small supersteps. A
task is a run of tasks[0] words of the bitmaps.
"""

from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    bind,
    bind_columns,
    fetch_add,
    i64,
    inner,
    is_final,
    level,
    lowest,
    min,
    pointer_i64,
    pointer_u32,
    pointer_u64,
    poke,
    prefetch,
    range,
    reach,
    u32,
    u64,
    value_i64,
)
from vlang.runtime.plan.layouts.reach_words import (
    REACH_ACTIVE,
    REACH_COMING,
    REACH_COUNTS,
    REACH_CUT,
    REACH_EDGES,
    REACH_FRONT,
    REACH_LEFT,
    REACH_LEFT_EDGES,
    REACH_LEFT_OVER,
    REACH_LONG,
    REACH_LONGS,
    REACH_LOOKED,
    REACH_MARKING,
    REACH_MARKS,
    REACH_ONE,
    REACH_PULL,
    REACH_SENDER,
    REACH_VERTICES,
)
from vlang.runtime.plan.plan import PAGE_OFFSETS, PAGE_TARGETS


@inner
def cut(longs: Pointer[u64], counts: Pointer[i64], v: i64, degree: i64) -> None:
    """Divide the edges of a long vertex among entries of `longs`, so that several workers can push along them."""
    parts = (degree + REACH_LONG - 1) // REACH_LONG
    at = fetch_add(counts, REACH_CUT, parts)
    for part in range(parts):
        longs[at + part] = (u64(part) << u64(32)) | u64(v)


@inner
def prefetch_rows(offsets: Pointer[u64], targets: Pointer[u32], there: u64, base: i64) -> None:
    """Prefetch the first edge of each vertex `base` + i for which bit i of `there` is set."""
    while there != u64(0):
        at = i64(offsets[base + lowest(there)])
        prefetch(targets, at)
        there &= there - u64(1)


def start(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Find the frontier with which the loop begins.

    tasks[1]: the first word of the bitmaps; on ranks, words of lower mirrors are left out.
    """
    env = bind(frame)
    offsets = pointer_u64(table, PAGE_OFFSETS)
    front = pointer_u64(table, REACH_FRONT)
    left = pointer_u64(table, REACH_LEFT)
    longs = pointer_u64(table, REACH_LONGS)
    counts = pointer_i64(table, REACH_COUNTS)
    n = value_i64(table, REACH_VERTICES)
    active, edges, one = i64(0), i64(0), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        first = tasks[1] + task * tasks[0]
        for w in range(first, min(first + tasks[0], (n + 63) >> 6)):
            some, word = i64(0), u64(0)
            for v in range(64 * w, min(64 * w + 64, n)):  # few vertices are reached, so this loop has no branch
                some += i64(is_final(env, v))
            if some != 0:
                for v in range(64 * w, min(64 * w + 64, n)):
                    if is_final(env, v):
                        degree = i64(offsets[v + 1] - offsets[v])
                        word |= u64(1) << u64(v & 63)
                        active += 1
                        edges += degree
                        one = v
                        if degree > REACH_LONG:
                            cut(longs, counts, v, degree)
            front[w] = word
            left[w] = ~word if 64 * w + 64 <= n else ~word & ((u64(1) << u64(n & 63)) - u64(1))
    fetch_add(counts, REACH_ACTIVE, active)
    fetch_add(counts, REACH_EDGES, edges)
    if active != 0:
        poke(counts, REACH_ONE, one)


@inner
def mark_row(marks: Pointer[u64], mine: i64, targets: Pointer[u32], low: u64, high: u64) -> None:
    """Set the bits of the neighbours in one row."""
    for k in range(low, high):
        v = targets[i64(k)]
        marks[mine + i64(v >> u32(6))] |= u64(1) << u64(v & u32(63))


def mark(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Set the bits of receivers in a bitmap of this worker, which needs no atomic operations and stays in the cache.

    tasks[1]: the number of tasks that are entries of `longs`.
    """
    offsets = pointer_u64(table, PAGE_OFFSETS)
    targets = pointer_u32(table, PAGE_TARGETS)
    front = pointer_u64(table, REACH_FRONT)
    longs = pointer_u64(table, REACH_LONGS)
    marks = pointer_u64(table, REACH_MARKS)
    counts = pointer_i64(table, REACH_COUNTS)
    words = (value_i64(table, REACH_VERTICES) + 63) >> 6
    mine = i64(-1)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        if mine < 0:
            mine = fetch_add(counts, REACH_MARKING, 1) * words
        if task < tasks[1]:
            u = i64(longs[task] & u64(0xFFFFFFFF))
            low = offsets[u] + (longs[task] >> u64(32)) * u64(REACH_LONG)
            mark_row(marks, mine, targets, low, min(offsets[u + 1], low + u64(REACH_LONG)))
            continue
        first = (task - tasks[1]) * tasks[0]
        for w in range(first, min(first + tasks[0], words)):
            if w + 2 < words:
                prefetch_rows(offsets, targets, front[w + 2], 64 * w + 128)
            there = front[w]
            while there != u64(0):
                u = 64 * w + lowest(there)
                there &= there - u64(1)
                low, high = offsets[u], offsets[u + 1]
                if high - low <= u64(REACH_LONG):
                    mark_row(marks, mine, targets, low, high)


def unite(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Reach the vertices that have a bit in one of the tasks[1] bitmaps and were not reached before."""
    env = bind(frame)
    columns = bind_columns(table, 0)
    offsets = pointer_u64(table, PAGE_OFFSETS)
    coming = pointer_u64(table, REACH_COMING)
    left = pointer_u64(table, REACH_LEFT)
    longs = pointer_u64(table, REACH_LONGS)
    marks = pointer_u64(table, REACH_MARKS)
    counts = pointer_i64(table, REACH_COUNTS)
    n = value_i64(table, REACH_VERTICES)
    sender = value_i64(table, REACH_SENDER)
    value, news = level(env, columns, sender)
    words = (n + 63) >> 6
    active, edges, one = i64(0), i64(0), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for w in range(task * tasks[0], min((task + 1) * tasks[0], words)):
            got, word = u64(0), u64(0)
            for worker in range(tasks[1]):
                part = marks[worker * words + w]
                if part != u64(0):
                    got |= part
                    marks[worker * words + w] = u64(0)
            got &= left[w]
            if news and got != u64(0):
                left[w] &= ~got
                while got != u64(0):
                    v = 64 * w + lowest(got)
                    got &= got - u64(1)
                    if not is_final(env, v):
                        reach(env, v, value)
                        degree = i64(offsets[v + 1] - offsets[v])
                        word |= u64(1) << u64(v & 63)
                        active += 1
                        edges += degree
                        one = v
                        if degree > REACH_LONG:
                            cut(longs, counts, v, degree)
            coming[w] = word
    fetch_add(counts, REACH_ACTIVE, active)
    fetch_add(counts, REACH_EDGES, edges)
    if active != 0:
        poke(counts, REACH_ONE, one)


@inner
def hopeful(offsets: Pointer[u64], left: Pointer[u64], w: i64, n: i64, unseen: i64) -> u64:
    """The vertices of word w that may still be found. The first pull drops vertices without edges for all later pulls.

    The test of a vertex has no branch, because a branch would often be mispredicted. On ranks, words of mirrors are 0.
    """
    if unseen == 0 or left[w] == u64(0):
        return left[w]
    bits = u64(0)
    for v in range(64 * w, min(64 * w + 64, n)):
        bits |= u64(offsets[v] != offsets[v + 1]) << u64(v & 63)
    return left[w] & bits


def early(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Each vertex that is not reached yet looks for a neighbour in the frontier, and stops at the first such neighbour.

    The method is the bottom-up step of Beamer, Asanovic, Patterson: Direction-optimizing breadth-first search, SC'12.
    `tasks[1]`: whether this is the first pull of the loop.
    """
    env = bind(frame)
    columns = bind_columns(table, 0)
    offsets = pointer_u64(table, REACH_PULL + PAGE_OFFSETS)
    targets = pointer_u32(table, REACH_PULL + PAGE_TARGETS)
    away = pointer_u64(table, PAGE_OFFSETS)
    front = pointer_u64(table, REACH_FRONT)
    coming = pointer_u64(table, REACH_COMING)
    left = pointer_u64(table, REACH_LEFT)
    longs = pointer_u64(table, REACH_LONGS)
    counts = pointer_i64(table, REACH_COUNTS)
    n = value_i64(table, REACH_VERTICES)
    sender = value_i64(table, REACH_SENDER)
    value, news = level(env, columns, sender)
    words = (n + 63) >> 6
    looked, active, edges, one, remaining, hopes = i64(0), i64(0), i64(0), i64(0), i64(0), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        low, high = task * tasks[0], min((task + 1) * tasks[0], words)
        next_word = hopeful(offsets, left, low, n, tasks[1])
        for w in range(low, high):
            todo, rest, word = next_word, next_word, u64(0)
            if w + 1 < high:
                next_word = hopeful(offsets, left, w + 1, n, tasks[1])
                prefetch_rows(offsets, targets, next_word, 64 * w + 64)
            while todo != u64(0):
                bit = todo & (u64(0) - todo)
                v = 64 * w + lowest(todo)
                todo &= todo - u64(1)
                if is_final(env, v):
                    rest &= ~bit
                    continue
                k, end = offsets[v], offsets[v + 1]
                looked -= i64(k)
                while k < end:
                    u = targets[i64(k)]
                    k += u64(1)
                    if (front[i64(u >> u32(6))] >> u64(u & u32(63))) & u64(1) != 0 and news:
                        word |= bit
                        break
                looked += i64(k)
                if word & bit != 0:
                    reach(env, v, value)
                    degree = i64(away[v + 1] - away[v])
                    active += 1
                    edges += degree
                    one = v
                    if degree > REACH_LONG:
                        cut(longs, counts, v, degree)
                else:
                    remaining += 1
                    hopes += i64(end - offsets[v])
            left[w] = rest & ~word
            coming[w] = word
    fetch_add(counts, REACH_LOOKED, looked)
    fetch_add(counts, REACH_ACTIVE, active)
    fetch_add(counts, REACH_EDGES, edges)
    fetch_add(counts, REACH_LEFT_OVER, remaining)
    fetch_add(counts, REACH_LEFT_EDGES, hopes)
    if active != 0:
        poke(counts, REACH_ONE, one)
