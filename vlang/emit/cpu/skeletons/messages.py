"""Messages: the part of a contribution that depends only on the sender, computed once per sender by `send`."""

from vlang.emit.cpu.skeletons.holes import (
    Frame,
    Pointer,
    bind,
    fetch_add,
    i64,
    inner,
    pointer_u32,
    range,
    send,
    value_i64,
)
from vlang.runtime.plan.plan import SLOT_LIST, SLOT_LISTED


@inner
def send_block(frame: Frame, low: i64, high: i64) -> None:
    env = bind(frame)
    for v in range(low, high):
        send(env, v)


def messages(frame: Frame, tasks: Pointer[i64], count: i64, counter: Pointer[i64]) -> None:
    env = bind(frame)
    vertices = pointer_u32(frame, SLOT_LIST)
    listed = value_i64(frame, SLOT_LISTED) != 0
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            send(env, i64(vertices[i]) if listed else i)
