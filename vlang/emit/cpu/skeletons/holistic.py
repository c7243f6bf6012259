"""A pass over edges in which one worker processes all contributions of a vertex (rule R).

The functions `bind`, `ready`, `wanted`, `identity`, `gather`, `prepare`, `hold`, `segment`, `conclude` and `apply`
are generated from the program. These functions fill the structures of counting.py. A task with page -1 is one vertex
of more than SEGMENT edges, whose row may be in several pages. Tasks with page -1 come first, in order of decreasing
length, so that the short tasks balance the load.
"""

from vlang.emit.cpu.skeletons.holes import (
    Env,
    Frame,
    Pointer,
    apply,
    bind,
    bind_columns,
    conclude,
    fetch_add,
    hold,
    i64,
    identity,
    inner,
    max,
    pointer_i64,
    pointer_u32,
    pointer_u64,
    prepare,
    range,
    ready,
    segment,
    u64,
    value_i64,
    wanted,
)
from vlang.emit.cpu.skeletons.holes import gather_whole as gather
from vlang.emit.cpu.skeletons.prelude import note
from vlang.emit.cpu.skeletons.whole_rows import whole_row
from vlang.runtime.plan.layouts.pass_words import SCRATCH_MEMORY, SCRATCH_OWNERS, SCRATCH_WORDS, STATS_WORKERS
from vlang.runtime.plan.plan import (
    PAGE_FIRST,
    PAGE_OFFSETS,
    PAGE_TARGETS,
    PAGE_WORDS,
    SLOT_LIST,
    SLOT_LISTED,
    SLOT_LONGS,
    SLOT_PAGES,
    SLOT_SCRATCH,
    SLOT_SEGMENTS,
    SLOT_STATS,
)


def pull(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    env = bind(frame)
    pages = pointer_u64(frame, SLOT_PAGES)
    vertices = pointer_u32(frame, SLOT_LIST)
    listed = value_i64(frame, SLOT_LISTED) != 0
    stats = pointer_i64(frame, SLOT_STATS)
    scratch = pointer_u64(frame, SLOT_SCRATCH)
    space = pointer_u64(scratch, SCRATCH_MEMORY)
    base = fetch_add(stats, STATS_WORKERS, 1) * value_i64(scratch, SCRATCH_WORDS)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        page, low, high = tasks[3 * task], tasks[3 * task + 1], tasks[3 * task + 2]
        changed, active = i64(0), i64(0)
        if page < 0:
            flags = long_vertex(frame, env, space, base, low)
            changed, active = flags & 1, flags >> 1
            low = high
        row = max(page, 0) * PAGE_WORDS
        offsets = pointer_u32(pages, row + PAGE_OFFSETS)
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        first = value_i64(pages, row + PAGE_FIRST)
        columns = bind_columns(pages, row)
        for i in range(low, high):
            v = i64(vertices[i]) if listed else i
            masks = ready(env, v)
            acc = identity(env)
            begin, end = i64(offsets[v - first]), i64(offsets[v - first + 1])
            if begin < end and wanted(masks):
                acc = whole_row(env, columns, prepare(space, base, end - begin), acc, v, targets, begin, end)
            flags = apply(env, v, masks, acc)
            changed += flags & 1
            active += flags >> 1
        note(stats, changed, active)


@inner
def long_vertex(frame: Frame, env: Env, space: Pointer[u64], base: i64, number: i64) -> i64:
    pages = pointer_u64(frame, SLOT_PAGES)
    table = pointer_i64(frame, SLOT_SEGMENTS)
    longs = pointer_i64(frame, SLOT_LONGS)
    owners = pointer_i64(pointer_u64(frame, SLOT_SCRATCH), SCRATCH_OWNERS)
    v, begin, end = longs[3 * number], longs[3 * number + 1], longs[3 * number + 2]
    masks = ready(env, v)
    acc = identity(env)
    if wanted(masks):
        degree = i64(0)
        for s in range(begin, end):
            degree += table[3 * s + 2] - table[3 * s + 1]
        room = prepare(space, base, degree)
        held = hold(env, room)
        for s in range(begin, end):
            held = segment(env, room, held, s - begin)
            row = owners[s] * PAGE_WORDS
            targets = pointer_u32(pages, row + PAGE_TARGETS)
            columns = bind_columns(pages, row)
            for k in range(table[3 * s + 1], table[3 * s + 2]):
                acc, held = gather(env, columns, room, acc, held, v, i64(targets[k]), k)
        acc = conclude(env, room, acc, held, v)
    return apply(env, v, masks, acc)
