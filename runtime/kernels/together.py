"""Kernels that lay the values of several runs side by side (vlang.runtime.cpu.together).

The kernels are made once for each width of a value in bits; the width replaces 32 in `u32`.
"""


from vlang.runtime.compile.intrinsics import fetch_add, pointer_u32
from vlang.runtime.plan.layouts.together_words import WIDTH


def weave_u32(addresses, runs, woven, tasks, count, counter):
    """Write the values of every run into rows. addresses: for each run, the address of its values."""
    while True:
        task = fetch_add(counter, 0, 1)
        if task >= count:
            break
        low, high = tasks[3 * task + 1], tasks[3 * task + 2]
        while low < high:
            stop = min(low + 256, high)
            for run in range(runs):
                values = pointer_u32(addresses, run)
                for v in range(low, stop):
                    woven[v * WIDTH + run] = values[v]
            low = stop
