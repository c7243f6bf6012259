"""The table of the groups of one vertex (see vlang.emit.shared.reductions.grouped), in scratch memory of u64 words.

The first word is the number of groups. The second word is the number of index bits of the hash table, or 0 for few
edges, when keys are searched one by one. The third word is the number of the current segment. The slots of a hash table
follow, which hold numbers of entries, and then the entries of `words` words, in the order in which their keys were
first seen. Entry 0 is for edges without a group. The first word of an entry is its key.
"""

from vlang.emit.cpu.skeletons.holes import Pointer, Structures, i64, inner, min, range, u64

FEW = 8  # edges up to which keys are searched one by one


@inner
def group_bits(degree: i64) -> i64:
    bits = i64(3)
    while (i64(1) << bits) < 2 * degree:
        bits += 1
    return bits


@inner
def groups_clear(space: Pointer[u64], at: i64, most: i64, words: i64) -> i64:
    """Clear the table for at most `most` groups; returns the offset after it."""
    space[at] = u64(0)
    space[at + 1] = u64(0)
    space[at + 2] = u64(0)
    if most <= FEW:
        return at + 3 + 2 * FEW + (most + 1) * words
    bits = group_bits(most)
    space[at + 1] = u64(bits)
    for i in range(at + 3, at + 3 + (i64(1) << bits)):
        space[i] = u64(0)
    return at + 3 + (i64(1) << bits) + (most + 1) * words


@inner
def group_at(space: Pointer[u64], place: i64, number: i64, words: i64) -> i64:
    """The offset of an entry."""
    bits = i64(space[place + 1])
    return place + 3 + (i64(2 * FEW) if bits == 0 else i64(1) << bits) + number * words


@inner
def group_of(room: Structures, place: i64, holds: bool, key: u64, words: i64) -> tuple[i64, bool]:
    """The offset of the entry of a key, and whether it is new."""
    space = room[0]
    bits = i64(space[place + 1])
    count = i64(space[place])
    if bits == 0:
        first = place + 3 + 2 * FEW
        if not holds:
            return first, True
        for i in range(1, count + 1):
            if space[first + i * words] == key:
                return first + i * words, False
        space[place] = u64(count + 1)
        space[first + (count + 1) * words] = key
        return first + (count + 1) * words, True
    first = place + 3 + (i64(1) << bits)
    if not holds:
        return first, True
    slot = i64(((key ^ (key >> u64(32))) * u64(0x9E3779B97F4A7C15)) >> u64(u64(64) - u64(bits)))
    while True:
        number = i64(space[place + 3 + slot])
        if number == 0:
            break
        if space[first + number * words] == key:
            return first + number * words, False
        slot = (slot + 1) & ((i64(1) << bits) - 1)
    space[place] = u64(count + 1)
    space[place + 3 + slot] = u64(count + 1)
    space[first + (count + 1) * words] = key
    return first + (count + 1) * words, True


@inner
def sort_groups(space: Pointer[u64], place: i64, words: i64) -> None:
    """Write the numbers of the entries into the slots, in increasing order of the keys, by merging runs.

    There are at least twice as many slots as entries, and the upper half is the second buffer.
    """
    count = i64(space[place])
    bits = i64(space[place + 1])
    a = place + 3
    size = i64(2 * FEW) if bits == 0 else i64(1) << bits
    b = a + (size >> 1)
    first = place + 3 + size
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
