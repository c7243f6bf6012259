"""Passes over edges that end early (rule X1).

A vertex stops reading its edges as soon as no contribution can change its accumulators. A vertex with a final value
reads no edges. `decided` and `is_final` are generated from the program; edges.py describes the other functions. Kernels
that read all edges, such as the kernel for cache blocks, give the same result.
"""

from vlang.emit.cpu.skeletons.fused_blocks import arrive
from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    apply,
    bind,
    bind_columns,
    decided,
    fetch_add,
    gather,
    i64,
    identity,
    is_final,
    pointer_i64,
    pointer_u32,
    pointer_u64,
    put,
    range,
    ready,
    u64,
    value_i64,
    wanted,
)
from vlang.emit.cpu.skeletons.prelude import note
from vlang.runtime.plan.plan import (
    PAGE_FIRST,
    PAGE_OFFSETS,
    PAGE_TARGETS,
    PAGE_WORDS,
    SLOT_LIST,
    SLOT_LISTED,
    SLOT_PAGES,
    SLOT_SEGMENTS,
    SLOT_STATS,
)


def pull(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    env = bind(frame)
    pages = pointer_u64(frame, SLOT_PAGES)
    vertices = pointer_u32(frame, SLOT_LIST)
    listed = value_i64(frame, SLOT_LISTED) != 0
    stats = pointer_i64(frame, SLOT_STATS)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = i64(tasks[3 * task]) * PAGE_WORDS
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        offsets = pointer_u32(pages, row + PAGE_OFFSETS)
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        first = value_i64(pages, row + PAGE_FIRST)
        columns = bind_columns(pages, row)
        changed, active = i64(0), i64(0)
        for i in range(low, high):
            v = i64(vertices[i]) if listed else i
            masks = ready(env, v)
            acc = identity(env)
            if wanted(masks) and not is_final(env, v):
                for k in range(u64(offsets[v - first]), u64(offsets[v - first + 1])):
                    acc = gather(env, columns, acc, v, i64(targets[i64(k)]), i64(k))
                    if decided(acc):
                        break
            flags = apply(env, v, masks, acc)
            changed += flags & 1
            active += flags >> 1
        note(stats, changed, active)
        arrive(frame, low, high)


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
            if wanted(ready(env, v)) and not is_final(env, v):
                for k in range(u64(table[3 * s + 1]), u64(table[3 * s + 2])):
                    acc = gather(env, columns, acc, v, i64(targets[i64(k)]), i64(k))
                    if decided(acc):
                        break
            put(env, s, acc)
