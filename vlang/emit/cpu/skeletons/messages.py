"""Messages: the part of a contribution that only the sender knows, once per sender. `send` is written above."""

from vlang.emit.cpu.skeletons.holes import bind, fetch_add, i64, inner, pointer_u32, range, send, value_i64
from vlang.runtime.plan.plan import SLOT_LIST, SLOT_LISTED


@inner
def send_block(frame, low, high):
    env = bind(frame)
    for v in range(low, high):
        send(env, v)


def messages(frame, tasks, count, counter):
    env = bind(frame)
    vertices = pointer_u32(frame, SLOT_LIST)
    listed = value_i64(frame, SLOT_LISTED) != 0
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(tasks[3 * task + 1], tasks[3 * task + 2]):
            send(env, i64(vertices[i]) if listed else i)
