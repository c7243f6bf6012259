"""Data structures in scratch memory that hold all contributions of one vertex
(`vlang.emit.shared.reductions.holistic`).

Scratch memory consists of u64 words. `room` consists of the memory, the number of edges of the vertex, the number of
index bits of a hash table, and the offset of each structure. `..._clear` returns the offset after a structure.
`..._take` inserts a value if `holds` is true. `..._read` returns the result.
"""

from typing import Any

from vlang.emit.cpu.skeletons.holes import Pointer, Structures, i64, inner, min, range, u32, u64


@inner
def table_bits(degree: i64) -> i64:
    """The number of index bits of a hash table; at least half of its 2 ** bits slots stay empty."""
    bits = i64(1)
    while (i64(1) << bits) < 2 * degree:
        bits += 1
    return bits


@inner
def cleared(space: Pointer[u64], at: i64, words: i64) -> i64:
    for i in range(at, at + words):
        space[i] = u64(0)
    return at + words


@inner
def mode32_clear(space: Pointer[u64], at: i64, degree: i64, bits: i64) -> i64:
    return cleared(space, at, i64(1) << bits)


@inner
def mode32_take(room: Structures, at: i64, holds: bool, value: Any, best: Any, most: Any) -> tuple[Any, u32]:
    """Insert a value. Return the most frequent value (the smallest of several) and its count.

    The upper half of a slot holds a value, and the lower half holds the count of this value, which is at least 1.
    """
    if not holds:
        return best, most
    space, bits = room[0], room[2]
    key = u64(u32(value))
    slot = i64((key * u64(0x9E3779B97F4A7C15)) >> u64(u64(64) - u64(bits)))
    while True:
        entry = space[at + slot]
        if entry == u64(0) or entry >> u64(32) == key:
            break
        slot = (slot + 1) & ((i64(1) << bits) - 1)
    count = u32(entry) + u32(1)
    space[at + slot] = (key << u64(32)) | u64(count)
    if count > most or (count == most and value < best):
        return value, u32(count)
    return best, most


@inner
def mode64_clear(space: Pointer[u64], at: i64, degree: i64, bits: i64) -> i64:
    cleared(space, at, i64(1) << bits)
    return at + (i64(2) << bits)


@inner
def mode64_take(room: Structures, at: i64, holds: bool, value: Any, best: Any, most: Any) -> tuple[Any, u32]:
    """Do the same as `mode32_take` for a 64-bit value. A table of counts is followed by a table of the counted values.
    """
    if not holds:
        return best, most
    space, bits = room[0], room[2]
    size = i64(1) << bits
    key = u64(value)
    slot = i64(((key ^ (key >> u64(32))) * u64(0x9E3779B97F4A7C15)) >> u64(u64(64) - u64(bits)))
    while True:
        before = space[at + slot]
        if before == u64(0) or space[at + size + slot] == key:
            break
        slot = (slot + 1) & (size - 1)
    count = u32(before) + u32(1)
    space[at + slot] = u64(count)
    space[at + size + slot] = key
    if count > most or (count == most and value < best):
        return value, u32(count)
    return best, most


@inner
def mex_clear(space: Pointer[u64], at: i64, degree: i64, bits: i64) -> i64:
    return cleared(space, at, (degree >> 6) + 1)


@inner
def mex_take(room: Structures, at: i64, holds: bool, value: Any, before: Any) -> Any:
    """Set the bit of a value; there is one bit for each possible result of `mex` at the vertex."""
    if holds and i64(value) <= room[1]:
        word = at + (i64(value) >> 6)
        room[0][word] = room[0][word] | (u64(1) << u64(value & u32(63)))
    return before


@inner
def mex_read(room: Structures, at: i64) -> i64:
    result = i64(0)
    while room[0][at] == ~u64(0):
        at += 1
        result += 64
    word = room[0][at]
    while word & u64(1):
        word >>= u64(1)
        result += 1
    return result


@inner
def median32_clear(space: Pointer[u64], at: i64, degree: i64, bits: i64) -> i64:
    """Clear the structure: a counter, followed by the list of keys."""
    space[at] = u64(0)
    return at + degree + 1


@inner
def median32_take(room: Structures, at: i64, holds: bool, key: Any, before: Any) -> Any:
    if holds:
        count = room[0][at] + u64(1)
        room[0][at] = count
        room[0][at + i64(count)] = u64(key)
    return before


@inner
def median32_read(room: Structures, at: i64) -> u64:
    """Return the median of k keys, which is sorted_keys[(k - 1) // 2]; 0 if there are no keys.

    The keys are partitioned by the highest bit in which they differ. The part with the median is partitioned again,
    until all its keys are equal. The algorithm takes at most one partition per bit of a key, and on average two passes
    over all keys.
    """
    space = room[0]
    low, high = at + 1, at + 1 + i64(space[at])
    wanted = low + ((high - low - 1) >> 1)
    if low == high:
        return u64(0)
    while True:
        differing = u64(0)
        for i in range(low + 1, high):
            differing |= space[i] ^ space[low]
        if differing == u64(0):
            return space[low]
        while differing & (differing - u64(1)):
            differing &= differing - u64(1)
        middle = low
        for i in range(low, high):
            key = space[i]
            if not key & differing:
                space[i] = space[middle]
                space[middle] = key
                middle += 1
        if wanted < middle:
            high = middle
        else:
            low = middle


median64_clear, median64_take, median64_read = median32_clear, median32_take, median32_read


@inner
def hindex_clear(space: Pointer[u64], at: i64, degree: i64, bits: i64) -> i64:
    return cleared(space, at, degree + 1)


@inner
def hindex_take(room: Structures, at: i64, holds: bool, value: Any, before: Any) -> Any:
    """Count the contributions of each size; sizes above the number of edges share one counter."""
    if holds:
        word = at + min(i64(value), room[1])
        room[0][word] += u64(1)
    return before


@inner
def hindex_read(room: Structures, at: i64) -> i64:
    h = room[1]
    reached = i64(room[0][at + h])
    while reached < h:
        h -= 1
        reached += i64(room[0][at + h])
    return h
