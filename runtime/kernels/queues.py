"""What is done with the queue of a frontier (WALK_... in vlang.runtime.kernelset), whatever the program.

Tasks are runs of the queue: tasks[0] is the length of a run, tasks[1] the end of the last.
"""

import numpy as np

from vlang.runtime.devices.intrinsics import fetch_add, fetch_or
from vlang.runtime.kernelset import WALK_NOBODY


def mark_entries(queue, tasks, count, counter, bits):
    """Set the bits of the vertices of a queue."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(task * tasks[0], min((task + 1) * tasks[0], tasks[1])):
            entry = queue[i]
            if entry != np.uint64(WALK_NOBODY):
                v = np.int64(entry & np.uint64(0xFFFFFFFF))
                fetch_or(bits, v >> 6, np.uint64(1) << np.uint64(v & 63))


def catch_up_8(queue, tasks, count, counter, bits, now, new):
    """Copy the entries of the vertices of a queue from `now` to `new`, and clear their bits."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(task * tasks[0], min((task + 1) * tasks[0], tasks[1])):
            entry = queue[i]
            if entry != np.uint64(WALK_NOBODY):
                v = np.int64(entry & np.uint64(0xFFFFFFFF))
                new[v] = now[v]
                bits[v >> 6] = np.uint64(0)


catch_up_16 = catch_up_32 = catch_up_64 = catch_up_8
