"""The number of common neighbours of two vertices, from sorted neighbour lists.

The lists are merged, or the longer one is searched if their lengths differ much. The lists ignore the
direction of edges, and contain no loops and no repetitions.
"""

from vlang.emit.cpu.skeletons.holes import Pointer, i64, inner, min, u32, u64


@inner
def first_not_below(targets: Pointer[u32], low: i64, high: i64, wanted: u32) -> i64:
    """The first index in targets[low:high] whose value is at least `wanted`: galloping, then bisection.

    The algorithm is from Bentley, Yao: An almost optimal algorithm for unbounded searching, IPL 5, 1976.
    """
    step = i64(1)
    while low + step < high and targets[low + step] < wanted:
        low += step
        step += step
    high = min(high, low + step)
    while low < high:
        middle = (low + high) >> 1
        if targets[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def common_count(starts: Pointer[u64], targets: Pointer[u32], a: u32, b: u32) -> i64:
    """The number of common neighbours of a and b; 0 if one of them is `none`."""
    if u32(a) == u32(0xFFFFFFFF) or u32(b) == u32(0xFFFFFFFF):
        return i64(0)
    i, end = i64(starts[i64(a)]), i64(starts[i64(a) + 1])
    j, stop = i64(starts[i64(b)]), i64(starts[i64(b) + 1])
    if end - i > stop - j:
        i, end, j, stop = j, stop, i, end
    count = i64(0)
    if stop - j > 16 * (end - i):
        while i < end and j < stop:
            j = first_not_below(targets, j, stop, targets[i])
            if j < stop and targets[j] == targets[i]:
                count += 1
            i += 1
        return count
    while i < end and j < stop:
        x, y = targets[i], targets[j]
        count += i64(x == y)
        i += i64(x <= y)
        j += i64(y <= x)
    return count
