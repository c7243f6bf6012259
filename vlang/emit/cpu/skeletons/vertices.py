"""A pass over vertices. The functions `bind`, `ready` and `apply` are generated from the program and precede this text.
"""

from vlang.emit.cpu.skeletons.fused_blocks import arrive
from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    apply,
    bind,
    fetch_add,
    i64,
    pointer_i64,
    pointer_u32,
    range,
    ready,
    value_i64,
)
from vlang.emit.cpu.skeletons.prelude import note
from vlang.runtime.plan.plan import SLOT_LIST, SLOT_LISTED, SLOT_STATS


def compute(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    env = bind(frame)
    vertices = pointer_u32(frame, SLOT_LIST)
    listed = value_i64(frame, SLOT_LISTED) != 0
    stats = pointer_i64(frame, SLOT_STATS)
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        changed, active = i64(0), i64(0)
        for i in range(low, high):
            v = i64(vertices[i]) if listed else i
            flags = apply(env, v, ready(env, v), ())
            changed += flags & 1
            active += flags >> 1
        note(stats, changed, active)
        arrive(frame, low, high)
