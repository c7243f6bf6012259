"""Supersteps of a loop that adds changes: one worker runs many such supersteps in one call.

Each vertex that has an unsent change adds this change to the accumulators of its receivers. Senders run in increasing
order, which is also the order of a gather. After all senders, the receivers run `apply`, in increasing order. `pour`
and `poured`, which store and load such an accumulator, are generated from the program. Layout: SUM_... in
runtime/plan/layouts/sum_words.py.

Input in `tasks`: [0] entries in the queue; [1] the largest number of supersteps; [2] the frontier size (edges plus
vertices) at which the call ends. Output: [3] supersteps run; [4] entries and [5] edges of the last frontier; [6]
vertices changed by the last superstep; [7] vertices active after the last superstep.
"""

from vlang.emit.cpu.skeletons.holes import (
    Acc,
    Env,
    Frame,
    Pointer,
    apply,
    bind,
    bind_columns,
    gather,
    i64,
    identity,
    inner,
    lowest,
    merge,
    min,
    pointer_i64,
    pointer_u8,
    pointer_u32,
    pointer_u64,
    pour,
    poured,
    range,
    ready,
    send,
    u8,
    u32,
    u64,
    value_i64,
    wanted,
)
from vlang.runtime.plan.layouts.sum_words import (
    SUM_ACTIVE,
    SUM_LONG,
    SUM_MARKS,
    SUM_NOTIFY,
    SUM_PULL,
    SUM_QUEUE,
    SUM_QUIET,
    SUM_RECORDS,
    SUM_TOP_COUNT,
    SUM_TOPS,
)
from vlang.runtime.plan.plan import PAGE_OFFSETS, PAGE_TARGETS, SEGMENT


@inner
def mark(marks: Pointer[u8], tops: Pointer[u8], v: i64) -> None:
    """Mark a vertex that applies in this superstep, by two plain stores of bytes.

    To set a bit, a worker would have to read the word before it writes it. Such a read would often stall because the
    word was just written, since neighbours often share a word.
    """
    marks[v] = u8(1)
    tops[v >> 6] = u8(1)


@inner
def spread(env: Env, table: Pointer[u64], entries: i64) -> i64:
    """Push the changes of the vertices in the queue; returns the number of edges traversed."""
    columns = bind_columns(table, 0)
    offsets, targets = pointer_u64(table, PAGE_OFFSETS), pointer_u32(table, PAGE_TARGETS)
    queue, active = pointer_u32(table, SUM_QUEUE), pointer_u8(table, SUM_ACTIVE)
    marks, tops = pointer_u8(table, SUM_MARKS), pointer_u8(table, SUM_TOPS)
    quiet = value_i64(table, SUM_QUIET) != 0
    edges = i64(0)
    for i in range(entries):
        send(env, i64(queue[i]))
    for i in range(entries):
        u = i64(queue[i])
        low, high = offsets[u], offsets[u + 1]
        if active[u] != u8(0):
            mark(marks, tops, u)
            edges += i64(high - low)
            for k in range(low, high):
                v = i64(targets[i64(k)])
                pour(env, v, gather(env, columns, poured(env, v), v, u, i64(k)))
                mark(marks, tops, v)
        elif not quiet:
            edges += i64(high - low)
            for k in range(low, high):
                mark(marks, tops, i64(targets[i64(k)]))
    return edges


@inner
def gathered(env: Env, table: Pointer[u64], v: i64) -> Acc:
    """Gather for a long vertex, segment by segment; returns its accumulators."""
    columns = bind_columns(table, SUM_PULL)
    offsets, targets = pointer_u64(table, SUM_PULL + PAGE_OFFSETS), pointer_u32(table, SUM_PULL + PAGE_TARGETS)
    low, end = offsets[v], offsets[v + 1]
    acc, begun = identity(env), False
    while low < end:
        high = min(end, low + u64(SEGMENT))
        part = identity(env)
        for k in range(low, high):
            part = gather(env, columns, part, v, i64(targets[i64(k)]), i64(k))
        acc = merge(env, acc, part) if begun else part
        low, begun = high, True
    return acc


@inner
def collect(env: Env, table: Pointer[u64], tasks: Pointer[i64]) -> None:
    """Apply the marked vertices. The vertices with an unsent change form the next queue."""
    offsets, rows = pointer_u64(table, PAGE_OFFSETS), pointer_u64(table, SUM_PULL + PAGE_OFFSETS)
    queue, notify = pointer_u32(table, SUM_QUEUE), pointer_u8(table, SUM_NOTIFY)
    marks, tops = pointer_u64(table, SUM_MARKS), pointer_u64(table, SUM_TOPS)
    quiet, long = value_i64(table, SUM_QUIET) != 0, value_i64(table, SUM_LONG) != 0
    entries, edges, changed, active = i64(0), i64(0), i64(0), i64(0)
    for t in range(value_i64(table, SUM_TOP_COUNT)):
        top = tops[t]
        if top == u64(0):
            continue
        tops[t] = u64(0)
        while top != u64(0):
            first = (t << 6) + lowest(top)
            top &= top - u64(1)
            for w in range(first, first + 8):
                there = marks[w]
                marks[w] = u64(0)
                while there != u64(0):
                    v = (w << 3) + (lowest(there) >> 3)
                    there &= there - u64(1)
                    masks, acc = ready(env, v), poured(env, v)
                    pour(env, v, identity(env))
                    if long and rows[v + 1] - rows[v] > u64(SEGMENT):
                        acc = gathered(env, table, v)
                    flags = apply(env, v, masks, acc if wanted(masks) else identity(env))
                    changed += flags & 1
                    active += flags >> 1
                    if notify[v] & u8(1):
                        notify[v] = u8(0)
                        queue[entries] = u32(v)
                        entries += 1
                        if flags & 2 or not quiet:
                            edges += i64(offsets[v + 1] - offsets[v])
    tasks[4], tasks[5], tasks[6], tasks[7] = entries, edges, changed, active


def sums(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    env = bind(frame)
    queue, notify = pointer_u32(table, SUM_QUEUE), pointer_u8(table, SUM_NOTIFY)
    records = pointer_i64(table, SUM_RECORDS)
    for i in range(tasks[0]):
        notify[i64(queue[i])] = u8(0)
    tasks[4], rounds = tasks[0], i64(0)
    while True:
        records[2 * rounds + 1] = spread(env, table, tasks[4])
        collect(env, table, tasks)
        records[2 * rounds] = tasks[7]
        rounds += 1
        if tasks[7] == 0 or rounds == tasks[1] or tasks[5] + tasks[4] > tasks[2]:
            break
    for i in range(tasks[4]):
        notify[i64(queue[i])] = u8(1)
    tasks[3] = rounds
