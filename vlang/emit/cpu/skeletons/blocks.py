"""A full pass by cache blocks (vlang.runtime.graph.topology.blocks).

A block stores its vertices in places, in order of row length. `keep` and `kept`, which store and load the accumulators
of a place, are generated from the program. So are `lay` and `laid` (see runs.py) and the functions that edges.py calls.
Each vertex takes its contributions in the order of its row, as in pull, so the results have the same bits.
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
    keep,
    kept,
    laid,
    lay,
    local,
    min,
    pointer_i64,
    pointer_u16,
    pointer_u32,
    pointer_u64,
    range,
    ready,
    value_i64,
    wanted,
)
from vlang.emit.cpu.skeletons.prelude import note
from vlang.runtime.plan.layouts.pass_words import STATS_WORKERS
from vlang.runtime.plan.plan import (
    BLOCK_GROUP,
    BLOCK_HIGH,
    BLOCK_LONG,
    BLOCK_LONG_END,
    BLOCK_LOW,
    BLOCK_MADE,
    BLOCK_MOST,
    BLOCK_ORDER,
    BLOCK_PLACES,
    BLOCK_RUNS,
    BLOCK_SENDERS,
    BLOCK_WORDS,
    RUN,
    SLOT_LONGS,
    SLOT_PAGES,
    SLOT_STATS,
)


def blocked(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    env = bind(frame)
    table = pointer_u64(frame, SLOT_PAGES)
    longs = pointer_i64(frame, SLOT_LONGS)
    stats = pointer_i64(frame, SLOT_STATS)
    room = local(identity(env))
    base = fetch_add(stats, STATS_WORKERS, 1) * BLOCK_MOST
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = i64(tasks[3 * task]) * BLOCK_WORDS
        senders, runs = pointer_u32(table, row + BLOCK_SENDERS), pointer_u32(table, row + BLOCK_RUNS)
        order, places = pointer_u16(table, row + BLOCK_ORDER), pointer_u16(table, row + BLOCK_PLACES)
        first, high = value_i64(table, row + BLOCK_LOW), value_i64(table, row + BLOCK_HIGH)
        columns = bind_columns(table, row)
        for s in range(base, base + high - first):
            keep(env, s, identity(env))
        k = i64(0)
        for r in range(value_i64(table, row + BLOCK_MADE)):
            s, take = base + i64(runs[3 * r]), i64(runs[3 * r + 2])
            end = s + i64(runs[3 * r + 1])
            if take == BLOCK_GROUP:
                while s < end:
                    v, acc = first + i64(order[s - base]), kept(env, s)
                    for j in range(BLOCK_GROUP):
                        acc = gather(env, columns, acc, v, i64(senders[k + j]), k + j)
                    keep(env, s, acc)
                    k += BLOCK_GROUP
                    s += 1
            else:
                while s < end:
                    v, acc = first + i64(order[s - base]), kept(env, s)
                    for j in range(take):
                        acc = gather(env, columns, acc, v, i64(senders[k + j]), k + j)
                    keep(env, s, acc)
                    k += take
                    s += 1
        at, last = value_i64(table, row + BLOCK_LONG), value_i64(table, row + BLOCK_LONG_END)
        low, changed, active = first, i64(0), i64(0)
        while low < high:
            stop = min(low + RUN, longs[3 * at] if at < last else high)
            for v in range(low, stop):
                lay(room, v - low, kept(env, base + i64(places[v - first])))
            for v in range(low, stop):
                masks = ready(env, v)
                flags = apply(env, v, masks, laid(room, v - low) if wanted(masks) else identity(env))
                changed += flags & 1
                active += flags >> 1
            arrive(frame, low, stop)
            low = stop
            if at < last and longs[3 * at] == low:
                low += 1
                at += 1
        note(stats, changed, active)
