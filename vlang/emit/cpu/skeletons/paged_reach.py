"""Loops with a uniform frontier (rule X2) over pages on disk. Such loops need no offsets of a whole adjacency in
memory.

`spot` finds the first frontier, and `take` reaches the marked vertices. The engine marks vertices, page by page
(runtime/kernels/paged_frontier.py). Layout: REACH_... in runtime/plan/layouts/reach_words.py. A task is a run of
tasks[0] words of the bitmaps.
"""

from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    bind,
    bind_columns,
    fetch_add,
    i64,
    is_final,
    level,
    lowest,
    min,
    pointer_i64,
    pointer_u64,
    poke,
    range,
    reach,
    u64,
    value_i64,
)
from vlang.runtime.plan.layouts.reach_words import (
    REACH_ACTIVE,
    REACH_COMING,
    REACH_COUNTS,
    REACH_FRONT,
    REACH_LEFT,
    REACH_MARKS,
    REACH_ONE,
    REACH_SENDER,
    REACH_VERTICES,
)


def spot(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Find the frontier with which the loop begins."""
    env = bind(frame)
    front = pointer_u64(table, REACH_FRONT)
    left = pointer_u64(table, REACH_LEFT)
    counts = pointer_i64(table, REACH_COUNTS)
    n = value_i64(table, REACH_VERTICES)
    active, one = i64(0), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for w in range(task * tasks[0], min((task + 1) * tasks[0], (n + 63) >> 6)):
            word = u64(0)
            for v in range(64 * w, min(64 * w + 64, n)):
                if is_final(env, v):
                    word |= u64(1) << u64(v & 63)
                    active += 1
                    one = v
            front[w] = word
            left[w] = ~word if 64 * w + 64 <= n else ~word & ((u64(1) << u64(n & 63)) - u64(1))
    fetch_add(counts, REACH_ACTIVE, active)
    if active != 0:
        poke(counts, REACH_ONE, one)


def take(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Reach vertices that have a bit in one of the tasks[1] bitmaps and were not reached before; clear the bitmaps."""
    env = bind(frame)
    columns = bind_columns(table, 0)
    coming = pointer_u64(table, REACH_COMING)
    left = pointer_u64(table, REACH_LEFT)
    marks = pointer_u64(table, REACH_MARKS)
    counts = pointer_i64(table, REACH_COUNTS)
    words = (value_i64(table, REACH_VERTICES) + 63) >> 6
    value, news = level(env, columns, value_i64(table, REACH_SENDER))
    active, one = i64(0), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for w in range(task * tasks[0], min((task + 1) * tasks[0], words)):
            got, word = u64(0), u64(0)
            for worker in range(tasks[1]):
                got |= marks[worker * words + w]
                marks[worker * words + w] = u64(0)
            got &= left[w]
            if news and got != u64(0):
                left[w] &= ~got
                while got != u64(0):
                    v = 64 * w + lowest(got)
                    got &= got - u64(1)
                    if not is_final(env, v):
                        reach(env, v, value)
                        word |= u64(1) << u64(v & 63)
                        active += 1
                        one = v
            coming[w] = word
    fetch_add(counts, REACH_ACTIVE, active)
    if active != 0:
        poke(counts, REACH_ONE, one)
