"""The table of the groups of one vertex (see vlang.emit.shared.reductions.grouped), in scratch memory of u64 words.

A table begins with the words GROUPS_... of runtime/plan/layouts/pass_words.py. The entries follow, each of `words`
words, in the order in which keys were first seen. The first word of an entry is the key. Entry 0 is for edges without a
group. The accumulators of earlier segments of a long row come next, and then the slots. An entry is found in one of
three ways:

- If there are at most FEW edges, keys are searched one by one.
- A direct table has the number of an entry for each vertex, and the vertex is the index. The direct table is never
  cleared, so a number is valid only if the entry with this number has the key.
- Otherwise, a hash table finds the entry. The upper half of a slot has 32 bits of a key, and the lower half has the
  number of the entry. The hash table is small at first and grows with the number of groups, so that few groups stay in
  cache.
"""

from vlang.emit.cpu.skeletons.holes import Pointer, halves, i64, inner, min, range, u32, u64
from vlang.runtime.plan.layouts.pass_words import (
    GROUPS_BITS,
    GROUPS_COUNT,
    GROUPS_EARLIER,
    GROUPS_MOST_BITS,
    GROUPS_SEEN,
    GROUPS_SLOTS,
    GROUPS_WORDS,
)

SEARCHED, INDEXED, HASHED = 0, 1, 2  # the ways
FEW = 8  # edges up to which keys are searched one by one
START_BITS = 5  # index bits of a hash table at first


@inner
def group_bits(degree: i64) -> i64:
    bits = i64(4)
    while (i64(1) << bits) < 2 * degree:
        bits += 1
    return bits


@inner
def groups_clear(space: Pointer[u64], direct: i64, at: i64, most: i64, words: i64, kept: i64) -> tuple[i64, i64, i64]:
    """Clear the table for at most `most` groups. Returns the offset after the table, the offset of the entries, and the
    way to find an entry.

    direct: the offset of the direct table, or 0. kept: the number of words for the accumulators of earlier segments.
    """
    first = at + GROUPS_WORDS
    earlier = first + (most + 1) * words
    slots = earlier + (most + 1) * kept
    space[at + GROUPS_SEEN] = u64(0)
    space[at + GROUPS_EARLIER] = u64(earlier)
    space[at + GROUPS_SLOTS] = u64(slots)
    space[first] = ~u64(0)  # no key
    if most <= FEW:
        return slots + 2 * FEW, first, i64(SEARCHED)
    most_bits = group_bits(most)
    if direct != 0:
        return slots + (i64(1) << most_bits), first, i64(INDEXED)
    bits = min(i64(START_BITS), most_bits)
    space[at + GROUPS_BITS] = u64(bits)
    space[at + GROUPS_MOST_BITS] = u64(most_bits)
    for i in range(slots, slots + (i64(1) << bits)):
        space[i] = u64(0)
    return slots + (i64(1) << most_bits), first, i64(HASHED)


@inner
def group_of(
    space: Pointer[u64], place: i64, first: i64, way: i64, direct: i64, count: i64, key: u64, words: i64, wide: bool
) -> tuple[i64, bool]:
    """Return the offset of the entry of a key, and whether the entry is new. wide: whether keys have more than 32 bits.
    """
    if way == INDEXED:
        numbers = halves(space)
        number = i64(numbers[2 * direct + i64(key)])
        number &= (number - count - 1) >> i64(63)  # 0 if it is larger than count, without a branch
        if space[first + number * words] == key:
            return first + number * words, False
        numbers[2 * direct + i64(key)] = u32(count + 1)
    elif way == SEARCHED:
        for i in range(1, count + 1):
            if space[first + i * words] == key:
                return first + i * words, False
    else:
        bits = i64(space[place + GROUPS_BITS])
        slots = i64(space[place + GROUPS_SLOTS])
        if 2 * count >= (i64(1) << bits) and bits < i64(space[place + GROUPS_MOST_BITS]):
            bits = groups_grown(space, place, first, count, bits, words)
        slot = slot_of(key, bits)
        while True:
            found = space[slots + slot]
            if found == u64(0):
                break
            if u32(found >> u64(32)) == u32(key):
                at = first + i64(found & u64(0xFFFFFFFF)) * words
                if not wide or space[at] == key:
                    return at, False
            slot = (slot + 1) & ((i64(1) << bits) - 1)
        space[slots + slot] = (key << u64(32)) | u64(count + 1)
    at = first + (count + 1) * words
    space[at] = key
    return at, True


@inner
def slot_of(key: u64, bits: i64) -> i64:
    return i64(((key ^ (key >> u64(32))) * u64(0x9E3779B97F4A7C15)) >> u64(u64(64) - u64(bits)))


@inner
def groups_grown(space: Pointer[u64], place: i64, first: i64, count: i64, bits: i64, words: i64) -> i64:
    """If there is room, insert all keys into a hash table of four times the size. Return the number of index bits of
    the table.
    """
    slots = i64(space[place + GROUPS_SLOTS])
    bits = min(bits + 2, i64(space[place + GROUPS_MOST_BITS]))
    space[place + GROUPS_BITS] = u64(bits)
    for i in range(slots, slots + (i64(1) << bits)):
        space[i] = u64(0)
    for number in range(1, count + 1):
        key = space[first + number * words]
        slot = slot_of(key, bits)
        while space[slots + slot] != u64(0):
            slot = (slot + 1) & ((i64(1) << bits) - 1)
        space[slots + slot] = (key << u64(32)) | u64(number)
    return bits


@inner
def sort_groups(space: Pointer[u64], place: i64, first: i64, words: i64) -> None:
    """Write the numbers of the entries into the slots, sorted by key in increasing order (merge sort).

    There are at least twice as many slots as entries. The slots after the first `count` slots are the second buffer.
    """
    count = i64(space[place + GROUPS_COUNT])
    a = i64(space[place + GROUPS_SLOTS])
    b = a + count
    for i in range(0, count):
        space[a + i] = u64(i + 1)
    width = i64(1)
    while width < count:
        low = i64(0)
        while low < count:
            middle, high = min(low + width, count), min(low + 2 * width, count)
            i, j = low, middle
            for k in range(low, high):
                left = j >= high
                if i < middle and j < high:
                    left = space[first + i64(space[a + i]) * words] <= space[first + i64(space[a + j]) * words]
                if left:
                    space[b + k] = space[a + i]
                    i += 1
                else:
                    space[b + k] = space[a + j]
                    j += 1
            low = high
        for i in range(0, count):
            space[a + i] = space[b + i]
        width *= 2
