"""The row of a short vertex in a pass with one grouped gather by a vertex (vlang.emit.cpu.spread_text).

The table has an entry for each vertex of the graph, and entry 0 for edges without a group. First the keys of the row
are read and written side by side, into the space of the entries of groups.py. A row with only one key is left to
groups.py, which keeps its group in registers. The loops then clear, fill and fold the entries of the keys.
"""

from vlang.emit.cpu.skeletons.groups import INDEXED
from vlang.emit.cpu.skeletons.holes import (
    Acc,
    Columns,
    Env,
    Pointer,
    Structures,
    added,
    cleared,
    conclude,
    folded,
    halves,
    hold,
    i64,
    inner,
    keyed,
    placed,
    range,
    u32,
    u64,
    width,
)
from vlang.emit.cpu.skeletons.holes import gather_whole as gather


@inner
def whole_row(
    env: Env, columns: Columns, room: Structures, acc: Acc, v: i64 | int, targets: Pointer[u32], begin: i64, end: i64
) -> Acc:
    space, (way, entries, table) = room[0], placed(room)
    if way == INDEXED:
        keys, first, differ = halves(space), 2 * entries - begin, u32(0)
        one = keyed(env, columns, v, i64(targets[begin]), begin)
        for k in range(begin, end):
            key = keyed(env, columns, v, i64(targets[k]), k)
            keys[first + k] = key
            differ |= key ^ one
        if differ != u32(0):
            for k in range(begin, end):
                cleared(env, space, table + i64(keys[first + k]) * width(env))
            for k in range(begin, end):
                at = table + i64(keys[first + k]) * width(env)
                acc = added(env, columns, space, at, acc, v, i64(targets[k]), k)
            for k in range(begin, end):
                key = keys[first + k]
                if key != u32(0):
                    acc = folded(env, space, table + i64(key) * width(env), key - u32(1), acc, v)
            return acc
        space[entries] = ~u64(0)  # no key
    held = hold(env, room)
    for k in range(begin, end):
        acc, held = gather(env, columns, room, acc, held, v, i64(targets[k]), k)
    return conclude(env, room, acc, held, v)
