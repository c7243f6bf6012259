"""A pass over edges by push: active vertices send along their edges, and contributions are joined by compare-and-swap.

The following functions are generated from the program. `join` joins a contribution into the words of the receiver, and
returns whether the words changed. `sender_part` computes the common part of all contributions of a vertex. `fresh`
tests whether a vertex is found for the first time in the superstep, and `silent` tests whether a vertex contributes
nothing.

A task is a run of consecutive entries of a queue. `tasks[0]` is the length of a run, and `tasks[1]` is the end of the
last run. Layout of queues and entries: WALK_... in runtime/plan/layouts/pass_words.py.
"""

from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    bind,
    bind_columns,
    fetch_add,
    fresh,
    i64,
    inner,
    join,
    max,
    min,
    pointer_i64,
    pointer_u8,
    pointer_u32,
    pointer_u64,
    range,
    sender_part,
    silent,
    u8,
    u64,
    value_i64,
)
from vlang.runtime.plan.layouts.pass_words import (
    WALK_BITS,
    WALK_COUNTS,
    WALK_EDGES,
    WALK_FOUND,
    WALK_NOBODY,
    WALK_ORIGIN,
    WALK_QUEUE,
    WALK_RESERVED,
)
from vlang.runtime.plan.plan import PAGE_OFFSETS, PAGE_TARGETS


@inner
def enqueue(found: Pointer[u64], counts: Pointer[i64], v: i64, degree: i64, at: i64, end: i64) -> tuple[i64, i64]:
    """Append a vertex to the part [at, end) of the queue that this worker has reserved; reserve a new part when this
    part is full.
    """
    chunk, chunks = i64(0), max(i64(1), (degree + WALK_EDGES - 1) // WALK_EDGES)
    while chunk < chunks:
        if at == end:
            at = fetch_add(counts, 0, WALK_RESERVED)
            end = at + WALK_RESERVED
        found[at] = (u64(chunk) << u64(32)) | u64(v)
        at += 1
        chunk += 1
    return at, end


@inner
def leave(found: Pointer[u64], counts: Pointer[i64], at: i64, end: i64, active: i64, edges: i64) -> None:
    """After the last task of a worker, add the counts of the worker, and fill the rest of its part of the queue with
    empty entries.
    """
    while at < end:
        found[at] = u64(WALK_NOBODY)
        at += 1
    fetch_add(counts, 1, active)
    fetch_add(counts, 2, edges)


def push(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    env = bind(frame)
    columns = bind_columns(table, 0)
    offsets = pointer_u64(table, PAGE_OFFSETS)
    targets = pointer_u32(table, PAGE_TARGETS)
    queue = pointer_u64(table, WALK_QUEUE)
    found = pointer_u64(table, WALK_FOUND)
    counts = pointer_i64(table, WALK_COUNTS)
    bits = pointer_u64(table, WALK_BITS)
    at, end, active, edges = i64(0), i64(0), i64(0), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(task * tasks[0], min((task + 1) * tasks[0], tasks[1])):
            entry = queue[i]
            if entry == u64(WALK_NOBODY):
                continue
            u = i64(entry & u64(0xFFFFFFFF))
            low = offsets[u] + (entry >> u64(32)) * u64(WALK_EDGES)
            high = min(offsets[u + 1], low + u64(WALK_EDGES))
            part = sender_part(env, u)
            for k in range(low, high):
                v = i64(targets[i64(k)])
                if join(env, columns, part, v, u, i64(k)) and fresh(bits, v):
                    degree = i64(offsets[v + 1] - offsets[v])
                    at, end = enqueue(found, counts, v, degree, at, end)
                    active += 1
                    edges += degree
    leave(found, counts, at, end, active, edges)


def begin(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    """Build the queue of a superstep.

    If WALK_ORIGIN is 0, the queue contains all vertices that are not silent. Otherwise WALK_ORIGIN is the address of
    flags, and the queue contains all vertices whose flag has bit 0 set.
    """
    env = bind(frame)
    offsets = pointer_u64(table, PAGE_OFFSETS)
    found = pointer_u64(table, WALK_FOUND)
    counts = pointer_i64(table, WALK_COUNTS)
    origin = value_i64(table, WALK_ORIGIN)
    flags = pointer_u8(table, WALK_ORIGIN)
    at, end, active, edges = i64(0), i64(0), i64(0), i64(0)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for v in range(task * tasks[0], min((task + 1) * tasks[0], tasks[1])):
            if not silent(env, v) if origin == 0 else flags[v] & u8(1) != 0:
                degree = i64(offsets[v + 1] - offsets[v])
                at, end = enqueue(found, counts, v, degree, at, end)
                active += 1
                edges += degree
    leave(found, counts, at, end, active, edges)
