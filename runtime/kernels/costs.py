"""Loops that are timed to measure the cost of an edge on this machine (vlang.runtime.cpu.passes.edge_costs).

`order` is a random permutation of u32, whose first `count` entries are used as neighbours.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import peek, replace


def pull(order, count, values):
    """Read the value of every neighbour."""
    total = np.float64(0)
    for k in range(count):
        total += np.float64(values[np.int64(order[k])])
    values[0] = np.float32(total / count)


def push(order, count, cells):
    """Read the cell of every neighbour, and write one cell in eight by an atomic compare-and-swap."""
    for k in range(count):
        v = order[k]
        old = peek(cells, np.int64(v))
        if (old ^ v) & np.uint32(7) == np.uint32(0):
            replace(cells, np.int64(v), old, old)


def notify(order, count, flags):
    """Set the byte of every neighbour."""
    for k in range(count):
        flags[np.int64(order[k])] = np.uint8(1)


def mark(order, count, bits):
    """Set the bit of every neighbour."""
    for k in range(count):
        v = order[k]
        bits[np.int64(v >> np.uint32(6))] |= np.uint64(1) << np.uint64(v & np.uint32(63))


def sum(order, count, sums, marks, groups):
    """Add to the accumulator of every neighbour, and mark the neighbour."""
    for k in range(count):
        v = np.int64(order[k])
        sums[v] += 1.0
        marks[v] = np.uint8(1)
        groups[v >> 6] = np.uint8(1)


def rows(order, count, memory, apart):
    """Read one word of every row; the stride between rows is `apart` words."""
    total = np.uint32(0)
    for k in range(count):
        total += memory[np.int64(order[k]) * apart]
    memory[0] = total
