"""Work fused into a pass, per block of BLOCK vertices: reductions over the vertices, and messages with their new
values.

`after_block` is generated from the program. `after_block` runs on a block when all vertices of the block have been
applied. The worker that applies the last vertex of the block runs `after_block`, so results do not depend on the
division into tasks.
"""

from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    after_block,
    fetch_add,
    fetch_add_ordered,
    i64,
    inner,
    min,
    pointer_i64,
    pointer_u64,
    value_i64,
)
from vlang.runtime.plan.layouts.pass_words import FOLLOW_FRAME, FOLLOW_LEFT, FOLLOW_VERTICES
from vlang.runtime.plan.plan import BLOCK, SLOT_FUSED


@inner
def arrive(frame: Frame, low: i64, high: i64) -> None:
    """Count the vertices from `low` to `high` as applied, and run `after_block` on blocks that are complete."""
    if value_i64(frame, SLOT_FUSED) == 0:
        return
    control = pointer_u64(frame, SLOT_FUSED)
    left = pointer_i64(control, FOLLOW_LEFT)
    while low < high:
        begin = low & -BLOCK
        stop = min(high, begin + BLOCK)
        if fetch_add_ordered(left, begin // BLOCK, low - stop) == stop - low:
            end = min(begin + BLOCK, value_i64(control, FOLLOW_VERTICES))
            left[begin // BLOCK] = end - begin
            after_block(pointer_u64(control, FOLLOW_FRAME), begin, end)
        low = stop


def fused(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        after_block(frame, tasks[3 * task + 1], tasks[3 * task + 2])
