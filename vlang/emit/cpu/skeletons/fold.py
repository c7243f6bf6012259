"""Reductions over vertices, with one partial result for each block of BLOCK vertices.

The functions `bind`, `identity`, `gather`, `merge`, `put`, `lay` and `laid` are generated from the program and precede
this text. A block is reduced in LANES lanes, and each lane takes every LANES-th vertex. The accumulators of all lanes
are adjacent in memory, so that LLVM vectorises the loop. At the end the lanes are merged in order.
"""

from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    bind,
    fetch_add,
    i64,
    identity,
    inner,
    laid,
    lanes,
    lay,
    merge,
    min,
    put,
    range,
)
from vlang.emit.cpu.skeletons.holes import take as gather
from vlang.runtime.plan.plan import BLOCK, LANES


@inner
def fold_block(frame: Frame, low: i64, high: i64) -> None:
    env = bind(frame)
    room = lanes(identity(env))
    block, count = low // BLOCK, min(LANES, high - low)
    for s in range(count):
        lay(room, s, identity(env))
    while low < high:
        stop = min(low + LANES, high)
        for i in range(low, stop):
            lay(room, i - low, gather(env, laid(room, i - low), i))
        low = stop
    acc = laid(room, 0)
    for s in range(1, count):
        acc = merge(env, acc, laid(room, s))
    put(env, block, acc)


def fold(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        fold_block(frame, tasks[3 * task + 1], tasks[3 * task + 2])
