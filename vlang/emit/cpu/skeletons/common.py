"""The common neighbours of two vertices, from sorted neighbour lists.

The lists are merged. If the lengths differ much, the longer list is searched instead. The lists ignore the direction of
edges, and contain no loops and no repetitions.
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
    """Return the number of common neighbours of a and b; 0 if a or b is `none`."""
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


@inner
def longer_list(first: i64, second: i64) -> i64:
    """Return the number (1 or 2) of the neighbour list that is searched because it is much longer; 0 if the lists are
    merged.
    """
    if first > 16 * second:
        return i64(1)
    return i64(2) if second > 16 * first else i64(0)


@inner
def next_common(targets: Pointer[u32], i: i64, end: i64, j: i64, stop: i64, longer: i64) -> tuple[i64, i64]:
    """Return the positions of the first equal entries of targets[i:end] and targets[j:stop]; (end, stop) if there are
    none.
    """
    if longer == 0:
        while i < end and j < stop:
            x, y = targets[i], targets[j]
            if x == y:
                return i, j
            i += i64(x < y)
            j += i64(y < x)
        return end, stop
    while i < end and j < stop:
        x, y = targets[i], targets[j]
        if x == y:
            return i, j
        if x < y:
            i = first_not_below(targets, i, end, y) if longer == 1 else i + 1
        else:
            j = first_not_below(targets, j, stop, x) if longer == 2 else j + 1
    return end, stop


@inner
def entry_of(starts: Pointer[u64], targets: Pointer[u32], a: u32, b: u32) -> i64:
    """Return 1 plus the position of b in the neighbour list of a; 0 if b equals a."""
    if i64(a) == i64(b):
        return i64(0)
    return first_not_below(targets, i64(starts[i64(a)]), i64(starts[i64(a) + 1]), u32(b)) + 1
