"""The row of a short vertex, in a pass in which one worker processes all contributions of a vertex (holistic.py)."""

from vlang.emit.cpu.skeletons.holes import (
    Acc,
    Columns,
    Env,
    Pointer,
    Structures,
    conclude,
    hold,
    i64,
    inner,
    range,
    u32,
)
from vlang.emit.cpu.skeletons.holes import gather_whole as gather


@inner
def whole_row(
    env: Env, columns: Columns, room: Structures, acc: Acc, v: i64 | int, targets: Pointer[u32], begin: i64, end: i64
) -> Acc:
    held = hold(env, room)
    for k in range(begin, end):
        acc, held = gather(env, columns, room, acc, held, v, i64(targets[k]), k)
    return conclude(env, room, acc, held, v)
