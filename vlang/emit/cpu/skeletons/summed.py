"""The end of a full pass whose sums over edges are computed elsewhere, for several runs (vlang.runtime.cpu.together).

`get` loads the sum of a vertex; edges.py describes the other functions. Sums are laid out first, as in runs.py, so that
LLVM vectorises the loop of applies.
"""

from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    apply,
    bind,
    fetch_add,
    get,
    i64,
    identity,
    laid,
    lay,
    local,
    min,
    pointer_i64,
    range,
)
from vlang.emit.cpu.skeletons.prelude import note
from vlang.runtime.plan.plan import RUN, SLOT_STATS


def summed(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
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
