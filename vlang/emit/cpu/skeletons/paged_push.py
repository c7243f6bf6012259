"""A pass that pushes along edges in pages on disk. The frontier is a bitmap, so pages may be processed in any order.

`spread_rows` and `spread_segments` join the contributions of the frontier (see push.py), and set the bits of the
vertices that change. `gather_up` copies the joined values of these vertices to their fields. Layout: PAGED_... in
runtime/plan/layouts/paged_words.py. A task over vertices is a run of tasks[0] words of the bitmaps; a task over edges
is a part of one page.
"""

from vlang.emit.cpu.skeletons.holes import (
    Columns,
    Env,
    Frame,
    Pointer,
    bind,
    bind_columns,
    carry,
    fetch_add,
    fresh,
    i64,
    inner,
    join,
    lowest,
    min,
    pointer_i64,
    pointer_u8,
    pointer_u32,
    pointer_u64,
    range,
    sender_part,
    silent,
    u8,
    u32,
    u64,
    value_i64,
)
from vlang.runtime.plan.layouts.paged_words import (
    PAGED_COUNTS,
    PAGED_FOUND,
    PAGED_FRONT,
    PAGED_ORIGIN,
    PAGED_PAGES,
    PAGED_SEGMENTS,
    PAGED_VERTICES,
)
from vlang.runtime.plan.plan import PAGE_FIRST, PAGE_OFFSETS, PAGE_TARGETS, PAGE_WORDS


@inner
def window(bits: Pointer[u64], w: i64, low: i64, high: i64) -> u64:
    """The bits of word w for the vertices from `low` to `high`."""
    word = bits[w]
    if 64 * w < low:
        word &= ~u64(0) << u64(low - 64 * w)
    if 64 * w + 64 > high:
        word &= ~u64(0) >> u64(64 * w + 64 - high)
    return word


def choose_front(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Build the frontier of a superstep.

    If PAGED_ORIGIN is 0, the frontier consists of all vertices that are not silent. Otherwise PAGED_ORIGIN is the
    address of flags, and the frontier consists of all vertices whose flag has bit 0 set.
    """
    env = bind(frame)
    front, counts = pointer_u64(table, PAGED_FRONT), pointer_i64(table, PAGED_COUNTS)
    origin, flags = value_i64(table, PAGED_ORIGIN), pointer_u8(table, PAGED_ORIGIN)
    n, active = value_i64(table, PAGED_VERTICES), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for w in range(task * tasks[0], min((task + 1) * tasks[0], (n + 63) >> 6)):
            word = u64(0)
            for v in range(64 * w, min(64 * w + 64, n)):
                if not silent(env, v) if origin == 0 else flags[v] & u8(1) != 0:
                    word |= u64(1) << u64(v & 63)
                    active += 1
            front[w] = word
    fetch_add(counts, 0, active)


@inner
def push_row(
    env: Env, columns: Columns, targets: Pointer[u32], found: Pointer[u64], u: i64, low: u64, high: u64
) -> None:
    """Join the contributions of vertex u over edges `low` to `high` of a page, and mark the changed receivers."""
    part = sender_part(env, u)
    for k in range(low, high):
        v = i64(targets[i64(k)])
        if join(env, columns, part, v, u, i64(k)):
            fresh(found, v)


def spread_rows(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Join the contributions of the short vertices of the frontier."""
    env = bind(frame)
    pages, front = pointer_u64(table, PAGED_PAGES), pointer_u64(table, PAGED_FRONT)
    found = pointer_u64(table, PAGED_FOUND)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = i64(tasks[3 * task]) * PAGE_WORDS
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        offsets, targets = pointer_u32(pages, row + PAGE_OFFSETS), pointer_u32(pages, row + PAGE_TARGETS)
        first, columns = value_i64(pages, row + PAGE_FIRST), bind_columns(pages, row)
        for w in range(low >> 6, (high + 63) >> 6):
            there = window(front, w, low, high)
            while there != u64(0):
                u = 64 * w + lowest(there)
                there &= there - u64(1)
                push_row(env, columns, targets, found, u, u64(offsets[u - first]), u64(offsets[u - first + 1]))


def spread_segments(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Join the contributions of the long vertices of the frontier, segment by segment."""
    env = bind(frame)
    pages, front = pointer_u64(table, PAGED_PAGES), pointer_u64(table, PAGED_FRONT)
    found, segments = pointer_u64(table, PAGED_FOUND), pointer_i64(table, PAGED_SEGMENTS)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = i64(tasks[3 * task]) * PAGE_WORDS
        targets, columns = pointer_u32(pages, row + PAGE_TARGETS), bind_columns(pages, row)
        for s in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            u = segments[3 * s]
            if (front[u >> 6] >> u64(u & 63)) & u64(1) != u64(0):
                push_row(env, columns, targets, found, u, u64(segments[3 * s + 1]), u64(segments[3 * s + 2]))


def gather_up(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Copy the words of the changed vertices to their fields, and clear the old frontier."""
    env = bind(frame)
    front, found = pointer_u64(table, PAGED_FRONT), pointer_u64(table, PAGED_FOUND)
    counts, n, active = pointer_i64(table, PAGED_COUNTS), value_i64(table, PAGED_VERTICES), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for w in range(task * tasks[0], min((task + 1) * tasks[0], (n + 63) >> 6)):
            there = found[w]
            while there != u64(0):
                carry(env, front, 64 * w + lowest(there))
                there &= there - u64(1)
                active += 1
            front[w] = u64(0)
    fetch_add(counts, 0, active)
