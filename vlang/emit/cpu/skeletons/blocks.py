"""A full pass by cache blocks (vlang.runtime.graph.topology.blocks).

A worker takes a strip of vertices, and reads the messages of the ranges of senders one after the other. Meanwhile, the
accumulators of all rows of the strip stay in level 2 of the cache. `keep` and `kept`, which store and load the
accumulators of a row, are generated from the program. `lay` and `laid` (see runs.py) and the functions that edges.py
calls are generated, too. Each vertex takes its contributions in the order of its row, as in pull, so the results have
the same bits.
"""

from vlang.emit.cpu.skeletons.fused_blocks import arrive
from vlang.emit.cpu.skeletons.holes import (
    Columns,
    Env,
    Frame,
    Pointer,
    apply,
    bind,
    bind_columns,
    fetch_add,
    gather,
    i64,
    identity,
    inner,
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
    u16,
    value_i64,
    wanted,
)
from vlang.emit.cpu.skeletons.prelude import note
from vlang.runtime.plan.layouts.pass_words import STATS_WORKERS
from vlang.runtime.plan.plan import (
    BLOCK_BATCHES,
    BLOCK_HIGH,
    BLOCK_LONG,
    BLOCK_LONG_END,
    BLOCK_LOW,
    BLOCK_MADE,
    BLOCK_MOST,
    BLOCK_ROWS,
    BLOCK_SENDERS,
    BLOCK_WORDS,
    RUN,
    SLOT_LONGS,
    SLOT_PAGES,
    SLOT_STATS,
)


@inner
def batch(
    env: Env, columns: Columns, rows: Pointer[u16], senders: Pointer[u16], first: i64, sender: i64, base: i64,
    place: i64, end: i64, k: i64, take: i64 | int,
) -> None:
    """Gather `take` edges, beginning with edge number k, for each row in rows[place:end].

    Callers pass small values of `take` as constants. Since the function is inlined, the compiler then unrolls the loop.
    """
    while place < end:
        row = i64(rows[place])
        acc = kept(env, base + row)
        for j in range(take):
            acc = gather(env, columns, acc, first + row, sender + i64(senders[k + j]), k + j)
        keep(env, base + row, acc)
        k += take
        place += 1


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
        strip = i64(tasks[3 * task]) * BLOCK_WORDS
        senders, rows = pointer_u16(table, strip + BLOCK_SENDERS), pointer_u16(table, strip + BLOCK_ROWS)
        batches = pointer_u32(table, strip + BLOCK_BATCHES)
        first, high = value_i64(table, strip + BLOCK_LOW), value_i64(table, strip + BLOCK_HIGH)
        columns = bind_columns(table, strip)
        for s in range(base, base + high - first):
            keep(env, s, identity(env))
        k, place = i64(0), i64(0)
        for r in range(value_i64(table, strip + BLOCK_MADE)):
            sender, take = i64(batches[3 * r]), i64(batches[3 * r + 2])
            end = place + i64(batches[3 * r + 1])
            if take == 1:
                batch(env, columns, rows, senders, first, sender, base, place, end, k, 1)
            elif take == 2:
                batch(env, columns, rows, senders, first, sender, base, place, end, k, 2)
            elif take == 3:
                batch(env, columns, rows, senders, first, sender, base, place, end, k, 3)
            elif take == 4:
                batch(env, columns, rows, senders, first, sender, base, place, end, k, 4)
            elif take == 5:
                batch(env, columns, rows, senders, first, sender, base, place, end, k, 5)
            elif take == 6:
                batch(env, columns, rows, senders, first, sender, base, place, end, k, 6)
            elif take == 7:
                batch(env, columns, rows, senders, first, sender, base, place, end, k, 7)
            elif take == 8:
                batch(env, columns, rows, senders, first, sender, base, place, end, k, 8)
            else:
                batch(env, columns, rows, senders, first, sender, base, place, end, k, take)
            k += (end - place) * take
            place = end
        at, last = value_i64(table, strip + BLOCK_LONG), value_i64(table, strip + BLOCK_LONG_END)
        low, changed, active = first, i64(0), i64(0)
        while low < high:
            stop = min(low + RUN, longs[3 * at] if at < last else high)
            for v in range(low, stop):
                lay(room, v - low, kept(env, base + v - first))
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
