"""Full passes in which several runs compute their reductions over edges together (vlang.runtime.cpu.together).

The arrays that a gather reads at neighbours are *woven*: entry TOGETHER_WIDTH * u + i belongs to run i. The frame of
these kernels is a copy of the frame of a run, with the addresses of woven arrays. Therefore `gather` reads the value of
run i at the index of the lane of run i. Edges and edge columns are the same for all runs. Each run reduces the same
contributions in the same order as in the kernels `pull`, `segments` and `finish`. The kernel `summed` does the rest of
a superstep of one run.

The width is a multiple of the number of lanes of any vector register. The width is read from the table, because LLVM
would unroll a loop over a constant number of lanes instead of vectorising it. The module edges.py describes the
functions that are generated.
"""

from vlang.emit.cpu.skeletons.holes import (
    Columns,
    Env,
    Frame,
    Lanes,
    Pointer,
    apply,
    bind,
    bind_columns,
    fetch_add,
    gather,
    get,
    i64,
    identity,
    inner,
    laid,
    lay,
    local,
    merge,
    min,
    pointer_i64,
    pointer_u8,
    pointer_u32,
    pointer_u64,
    prefetch,
    put,
    range,
    u8,
    u32,
    u64,
    value_i64,
)
from vlang.emit.cpu.skeletons.prelude import note
from vlang.runtime.plan.layouts.together_words import (
    TOGETHER_AHEAD,
    TOGETHER_FRAMES,
    TOGETHER_NEAR,
    TOGETHER_RUNS,
    TOGETHER_SIZE,
    TOGETHER_VERTICES,
    TOGETHER_WIDTH,
)
from vlang.runtime.plan.plan import (
    PAGE_FIRST,
    PAGE_OFFSETS,
    PAGE_TARGETS,
    PAGE_WORDS,
    RUN,
    SLOT_LONGS,
    SLOT_PAGES,
    SLOT_SEGMENTS,
    SLOT_STATS,
)


@inner
def reduce_row(
    env: Env, columns: Columns, room: Lanes, targets: Pointer[u32], v: i64, k: i64, end: i64, last: i64, width: i64,
    near: Pointer[u8], size: i64,
) -> None:
    """Reduce the edges with numbers from `k` to `end` - 1 of a row, in order, into the lanes of `room`.

    The first edges are reduced from the identity, so that the number of the other edges is a multiple of four. Every
    loop over the lanes stores all lanes, because LLVM would otherwise generate masked stores, which are slow on some
    machines. The function prefetches the rows of targets (up to index `last`): rows of `size` bytes in the array at
    `near`.
    """
    a, b, c = i64(0), i64(0), i64(0)
    first = (end - k) & 3
    for ahead in range(k + TOGETHER_AHEAD, k + TOGETHER_AHEAD + first):
        prefetch(near, i64(targets[min(ahead, last)]) * size)
    if first > 0:
        a = i64(targets[k]) * width
    if first > 1:
        b = i64(targets[k + 1]) * width
    if first > 2:
        c = i64(targets[k + 2]) * width
    if first == 0:
        for r in range(width):
            lay(room, r, identity(env))
    elif first == 1:
        for r in range(width):
            lay(room, r, gather(env, columns, identity(env), v, a + r, k))
    elif first == 2:
        for r in range(width):
            acc = gather(env, columns, identity(env), v, a + r, k)
            lay(room, r, gather(env, columns, acc, v, b + r, k + 1))
    else:
        for r in range(width):
            acc = gather(env, columns, identity(env), v, a + r, k)
            acc = gather(env, columns, acc, v, b + r, k + 1)
            lay(room, r, gather(env, columns, acc, v, c + r, k + 2))
    k += first
    while k < end:
        for ahead in range(k + TOGETHER_AHEAD, k + TOGETHER_AHEAD + 4):
            prefetch(near, i64(targets[min(ahead, last)]) * size)
        a, b = i64(targets[k]) * width, i64(targets[k + 1]) * width
        c, d = i64(targets[k + 2]) * width, i64(targets[k + 3]) * width
        for r in range(width):
            acc = gather(env, columns, laid(room, r), v, a + r, k)
            acc = gather(env, columns, acc, v, b + r, k + 1)
            acc = gather(env, columns, acc, v, c + r, k + 2)
            lay(room, r, gather(env, columns, acc, v, d + r, k + 3))
        k += 4


def woven(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Reduce the rows of short vertices, for all runs."""
    env = bind(frame)
    pages = pointer_u64(frame, SLOT_PAGES)
    width, runs = value_i64(table, TOGETHER_WIDTH), value_i64(table, TOGETHER_RUNS)
    near, size = pointer_u8(table, TOGETHER_NEAR), value_i64(table, TOGETHER_SIZE)
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
        last = i64(offsets[high - first]) - 1
        for v in range(low, high):
            k, end = i64(offsets[v - first]), i64(offsets[v - first + 1])
            reduce_row(env, columns, room, targets, v, k, end, last, width, near, size)
            for r in range(runs):
                put(bind(pointer_u64(table, TOGETHER_FRAMES + r)), v, laid(room, r))


def woven_parts(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Reduce the segments of long rows, for all runs. The accumulators of segments are stored after the accumulators of
    vertices.
    """
    env = bind(frame)
    pages = pointer_u64(frame, SLOT_PAGES)
    segments = pointer_i64(frame, SLOT_SEGMENTS)
    width, runs = value_i64(table, TOGETHER_WIDTH), value_i64(table, TOGETHER_RUNS)
    near, size = pointer_u8(table, TOGETHER_NEAR), value_i64(table, TOGETHER_SIZE)
    base = value_i64(table, TOGETHER_VERTICES)
    room = local(identity(env))
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        row = i64(tasks[3 * task]) * PAGE_WORDS
        targets = pointer_u32(pages, row + PAGE_TARGETS)
        columns = bind_columns(pages, row)
        for s in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            k, end = segments[3 * s + 1], segments[3 * s + 2]
            reduce_row(env, columns, room, targets, segments[3 * s], k, end, end - 1, width, near, size)
            for r in range(runs):
                put(bind(pointer_u64(table, TOGETHER_FRAMES + r)), base + s, laid(room, r))


def woven_longs(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Merge the segments of long rows in order, for all runs."""
    longs = pointer_i64(frame, SLOT_LONGS)
    runs, base = value_i64(table, TOGETHER_RUNS), value_i64(table, TOGETHER_VERTICES)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            for r in range(runs):
                env = bind(pointer_u64(table, TOGETHER_FRAMES + r))
                acc = get(env, base + longs[3 * i + 1])
                for s in range(longs[3 * i + 1] + 1, longs[3 * i + 2]):
                    acc = merge(env, acc, get(env, base + s))
                put(env, longs[3 * i], acc)


def summed(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    """Compute the rest of the superstep of one run. The accumulators are first stored side by side, as in runs.py, so
    that LLVM vectorises the loop over `apply`.
    """
    env = bind(frame)
    stats = pointer_i64(frame, SLOT_STATS)
    room = local(identity(env))
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        changed, active = i64(0), i64(0)
        while low < high:
            stop = min(low + RUN, high)
            for v in range(low, stop):
                lay(room, v - low, get(env, v))
            for v in range(low, stop):
                flags = apply(env, v, (), laid(room, v - low))
                changed += flags & 1
                active += flags >> 1
            low = stop
        note(stats, changed, active)
