"""The final step of a pass over edges for long vertices.

The functions `bind`, `ready`, `wanted`, `identity`, `gather`, `merge`, `put`, `get` and `apply` are generated from the
program and precede this text. runtime/plan/plan.py describes the slots and tables. For a vertex of at most SEGMENT
edges, `pull` gathers and applies (rows.py, runs.py or leaving.py). The row of a longer vertex is cut into segments of
SEGMENT edges, beginning at its first edge. `segments` (segments.py or leaving.py) reduces each segment; `finish` merges
them in order and applies. The segments depend only on the graph, so results do not depend on pages, chunks, threads or
the mode.
"""

from vlang.emit.cpu.skeletons.fused_blocks import arrive
from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    apply,
    bind,
    fetch_add,
    get,
    i64,
    merge,
    pointer_i64,
    pointer_u32,
    range,
    ready,
    value_i64,
)
from vlang.emit.cpu.skeletons.prelude import note
from vlang.runtime.plan.plan import SLOT_LIST, SLOT_LISTED, SLOT_LONGS, SLOT_STATS


def finish(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    env = bind(frame)
    longs = pointer_i64(frame, SLOT_LONGS)
    chosen = pointer_u32(frame, SLOT_LIST)
    listed = value_i64(frame, SLOT_LISTED) != 0
    stats = pointer_i64(frame, SLOT_STATS)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        changed, active = i64(0), i64(0)
        for i in range(low, high):
            k = i64(chosen[i]) if listed else i
            v = longs[3 * k]
            acc = get(env, longs[3 * k + 1])
            for s in range(longs[3 * k + 1] + 1, longs[3 * k + 2]):
                acc = merge(env, acc, get(env, s))
            flags = apply(env, v, ready(env, v), acc)
            changed += flags & 1
            active += flags >> 1
            arrive(frame, v, v + 1)
        note(stats, changed, active)
