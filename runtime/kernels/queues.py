"""Kernels over the queue of a frontier; they are the same for every program.

See WALK_... in vlang.runtime.plan.layouts.pass_words. A task is a run of consecutive entries of the queue: tasks[0] is
the length of a run, and tasks[1] the number of entries.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import fetch_add
from vlang.runtime.plan.layouts.pass_words import WALK_NOBODY


def catch_up_8(queue, tasks, count, counter, bits, now, new, stride, first):
    """For each vertex v in a queue, copy entry `stride` * v + `first` from `new` to `now`, and clear the bit of v."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        for i in range(task * tasks[0], min((task + 1) * tasks[0], tasks[1])):
            entry = queue[i]
            if entry != np.uint64(WALK_NOBODY):
                v = np.int64(entry & np.uint64(0xFFFFFFFF))
                now[v] = new[v * stride + first]
                bits[v >> 6] = np.uint64(0)


catch_up_16 = catch_up_32 = catch_up_64 = catch_up_8
