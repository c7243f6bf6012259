"""Segments of long vertices in a pass over edges, one after the other (see edges.py)."""

from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    bind,
    bind_columns,
    fetch_add,
    gather,
    i64,
    identity,
    pointer_i64,
    pointer_u32,
    pointer_u64,
    put,
    range,
    ready,
    u64,
    wanted,
)
from vlang.runtime.plan.plan import PAGE_TARGETS, PAGE_WORDS, SLOT_PAGES, SLOT_SEGMENTS


def segments(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    env = bind(frame)
    pages = pointer_u64(frame, SLOT_PAGES)
    table = pointer_i64(frame, SLOT_SEGMENTS)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = i64(tasks[3 * task]) * PAGE_WORDS
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        columns = bind_columns(pages, row)
        for s in range(low, high):
            v = table[3 * s]
            acc = identity(env)
            if wanted(ready(env, v)):
                for k in range(u64(table[3 * s + 1]), u64(table[3 * s + 2])):
                    acc = gather(env, columns, acc, v, i64(targets[i64(k)]), i64(k))
            put(env, s, acc)
