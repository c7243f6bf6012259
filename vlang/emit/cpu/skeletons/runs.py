"""Short vertices of a full pass over edges, in runs of RUN vertices: first all vertices of a run gather, then all
apply.

All applies run in a separate loop without branches, which LLVM vectorises. Most rows of a sparse graph have few edges.
Therefore the loop over edges is unrolled by four, and a row of up to three edges needs no loop. `lay` and `laid`, which
store and load an accumulator between the two loops, are generated from the program; edges.py describes the other
functions. A pass over a list of vertices uses rows.py instead.
"""

from vlang.emit.cpu.skeletons.fused_blocks import arrive
from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    apply,
    bind,
    bind_columns,
    fetch_add,
    gather,
    i64,
    identity,
    laid,
    lay,
    local,
    min,
    pointer_i64,
    pointer_u32,
    pointer_u64,
    range,
    value_i64,
)
from vlang.emit.cpu.skeletons.prelude import note
from vlang.runtime.plan.plan import PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, PAGE_WORDS, RUN, SLOT_PAGES, SLOT_STATS


def pull(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    env = bind(frame)
    pages = pointer_u64(frame, SLOT_PAGES)
    stats = pointer_i64(frame, SLOT_STATS)
    room = local(identity(env))
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
        k = i64(offsets[low - first])
        while low < high:
            stop = min(low + RUN, high)
            for v in range(low, stop):
                acc = identity(env)
                end = i64(offsets[v - first + 1])
                while k + 4 <= end:
                    acc = gather(env, columns, acc, v, i64(targets[k]), k)
                    acc = gather(env, columns, acc, v, i64(targets[k + 1]), k + 1)
                    acc = gather(env, columns, acc, v, i64(targets[k + 2]), k + 2)
                    acc = gather(env, columns, acc, v, i64(targets[k + 3]), k + 3)
                    k += 4
                if k < end:
                    acc = gather(env, columns, acc, v, i64(targets[k]), k)
                    if k + 1 < end:
                        acc = gather(env, columns, acc, v, i64(targets[k + 1]), k + 1)
                        if k + 2 < end:
                            acc = gather(env, columns, acc, v, i64(targets[k + 2]), k + 2)
                k = end
                lay(room, v - low, acc)
            for v in range(low, stop):
                flags = apply(env, v, (), laid(room, v - low))
                changed += flags & 1
                active += flags >> 1
            low = stop
        note(stats, changed, active)
        arrive(frame, tasks[3 * task + 1], high)
