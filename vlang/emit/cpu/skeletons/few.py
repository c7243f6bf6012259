"""Supersteps over few vertices: one worker runs many such supersteps in one call, with the same results as `push`.

Input in `tasks`: [0] entries in the queue; [1] the largest number of supersteps; [2] the frontier size (edges plus
vertices) at which the call ends. Output: [3] supersteps run; [4] entries, [5] vertices and [6] edges of the last
frontier. `carry` copies joined values to the fields.
"""

from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    bind,
    bind_columns,
    carry,
    fresh,
    i64,
    inner,
    join_alone,
    min,
    pointer_i64,
    pointer_u32,
    pointer_u64,
    range,
    sender_part,
    u64,
)
from vlang.runtime.plan.layouts.pass_words import (
    WALK_BITS,
    WALK_EDGES,
    WALK_FOUND,
    WALK_NOBODY,
    WALK_QUEUE,
    WALK_RECORDS,
)
from vlang.runtime.plan.plan import PAGE_OFFSETS, PAGE_TARGETS


@inner
def line_up(found: Pointer[u64], v: i64, degree: i64, at: i64) -> i64:
    """Append a vertex to the queue at `at`, with one entry per WALK_EDGES edges; returns the new end of the queue."""
    found[at] = u64(v)
    at += 1
    for chunk in range(1, (degree + WALK_EDGES - 1) // WALK_EDGES):
        found[at] = (u64(chunk) << u64(32)) | u64(v)
        at += 1
    return at


def few(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64], table: Pointer[u64]) -> None:
    columns = bind_columns(table, 0)
    offsets = pointer_u64(table, PAGE_OFFSETS)
    targets = pointer_u32(table, PAGE_TARGETS)
    bits = pointer_u64(table, WALK_BITS)
    records = pointer_i64(table, WALK_RECORDS)
    env = bind(frame)
    entries, rounds = tasks[0], i64(0)
    while True:
        odd = rounds & 1
        queue = pointer_u64(table, WALK_QUEUE + odd)
        found = pointer_u64(table, WALK_FOUND - odd)
        at, active, edges, pushed = i64(0), i64(0), i64(0), i64(0)
        for i in range(entries):
            entry = queue[i]
            if entry == u64(WALK_NOBODY):
                continue
            u = i64(entry & u64(0xFFFFFFFF))
            low = offsets[u] + (entry >> u64(32)) * u64(WALK_EDGES)
            high = min(offsets[u + 1], low + u64(WALK_EDGES))
            pushed += i64(high - low)
            part = sender_part(env, u)
            for k in range(low, high):
                v = i64(targets[i64(k)])
                if join_alone(env, columns, part, v, u, i64(k)) and fresh(bits, v):
                    degree = i64(offsets[v + 1] - offsets[v])
                    at = line_up(found, v, degree, at)
                    active += 1
                    edges += degree
        for i in range(at):
            carry(env, bits, i64(found[i] & u64(0xFFFFFFFF)))
        records[2 * rounds] = active
        records[2 * rounds + 1] = pushed
        rounds += 1
        entries = at
        if active == 0 or rounds == tasks[1] or edges + active >= tasks[2]:
            break
    tasks[3], tasks[4], tasks[5], tasks[6] = rounds, entries, active, edges
