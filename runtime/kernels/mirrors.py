"""Kernels that pack values of owned vertices for another rank, and that unpack values into the mirrors there.

`places` has the local numbers of the vertices that the other rank mirrors. `sent` has the values that were last sent to
that rank, in the same order. A value has `width` words. Bitmaps have a bit for each place.

Values of one word have loops of their own: with an inner loop over the words, packing takes 5 to 17 times as long.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import inner, lowest
from vlang.runtime.plan.layouts.reach_words import REACH_LONG


@inner
def changed_words(values, places, count, sent, bits):
    """Does the same as `changed_8` for values of one word. Groups of 64 places without a change are compared, but not
    copied.
    """
    changes = np.int64(0)
    for w in range((count + 63) >> 6):
        word, first, last = np.uint64(0), 64 * w, min(64 * w + 64, count)
        differ = np.uint64(0)
        for i in range(first, last):
            differ |= np.uint64(values[places[i]] ^ sent[i])
        if differ != np.uint64(0):
            for i in range(first, last):
                now = values[places[i]]
                differs = np.uint64(now != sent[i])
                sent[i] = now
                word |= differs << np.uint64(i & 63)
                changes += np.int64(differs)
        bits[w] = word
    return changes


def changed_8(values, places, count, width, sent, bits):
    """Set the bits of places whose value differs from `sent`, and update `sent`; returns the number of these places."""
    if width == 1:
        return changed_words(values, places, count, sent, bits)
    changes = np.int64(0)
    for w in range((count + 63) >> 6):
        word = np.uint64(0)
        for i in range(64 * w, min(64 * w + 64, count)):
            at, differs = np.int64(places[i]) * width, np.uint64(0)
            for j in range(width):
                differs |= np.uint64(values[at + j] != sent[i * width + j])
                sent[i * width + j] = values[at + j]
            word |= differs << np.uint64(i & 63)
            changes += np.int64(differs)
        bits[w] = word
    return changes


def renewed_8(values, places, count, width, sent):
    """Copy the values of all places to `sent`; returns the number of places whose value differed."""
    changes = np.int64(0)
    if width == 1:
        for i in range(count):
            now = values[places[i]]
            changes += np.int64(now != sent[i])
            sent[i] = now
        return changes
    for i in range(count):
        at, differs = np.int64(places[i]) * width, np.int64(0)
        for j in range(width):
            differs |= np.int64(values[at + j] != sent[i * width + j])
            sent[i * width + j] = values[at + j]
        changes += differs
    return changes


def taken_8(sent, bits, words, width, out):
    """Write the values of the places whose bits are set, one after the other."""
    k = np.int64(0)
    for w in range(words):
        there = bits[w]
        while there != np.uint64(0):
            i = 64 * w + lowest(there)
            there &= there - np.uint64(1)
            if width == 1:
                out[k] = sent[i]
                k += 1
                continue
            for j in range(width):
                out[k] = sent[i * width + j]
                k += 1


def put_listed_8(values, listed, count, width, mirrors):
    """Store consecutive values in the listed mirrors."""
    if width == 1:
        for k in range(count):
            mirrors[listed[k]] = values[k]
        return
    for k in range(count):
        at = np.int64(listed[k]) * width
        for j in range(width):
            mirrors[at + j] = values[k * width + j]


changed_16 = changed_32 = changed_64 = changed_8
renewed_16 = renewed_32 = renewed_64 = renewed_8
taken_16 = taken_32 = taken_64 = taken_8
put_listed_16 = put_listed_32 = put_listed_64 = put_listed_8


def listed(bits, words, out):
    """Write the numbers of the bits that are set; returns the number of set bits."""
    k = np.int64(0)
    for w in range(words):
        there = bits[w]
        while there != np.uint64(0):
            out[k] = np.uint32(64 * w + lowest(there))
            there &= there - np.uint64(1)
            k += 1
    return k


def flagged(flags, places, count, bits):
    """Set the bits of the places with bit 0 in their flags; returns the number of these places."""
    found = np.int64(0)
    for w in range((count + 63) >> 6):
        word = np.uint64(0)
        for i in range(64 * w, min(64 * w + 64, count)):
            flag = np.uint64(flags[places[i]] & np.uint8(1))
            word |= flag << np.uint64(i & 63)
            found += np.int64(flag)
        bits[w] = word
    return found


def set_flags(bits, words, flags):
    """Set bit 0 of the flags of the places in a bitmap."""
    for w in range(words):
        there = bits[w]
        while there != np.uint64(0):
            flags[64 * w + lowest(there)] |= np.uint8(1)
            there &= there - np.uint64(1)


def set_listed_flags(listed, count, flags):
    """Set bit 0 of the flags of listed places."""
    for k in range(count):
        flags[listed[k]] |= np.uint8(1)


@inner
def ones(word):
    """The number of bits that are set in a word."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


def picked(front, wanted, before, words, bits):
    """Set the bits of the places whose vertex is in the bitmap `front`; returns the number of these places.

    `wanted` is a bitmap of the vertices that the other rank mirrors, and before[w] is the number of these vertices
    below vertex 64 * w. `bits` is zero at the call.
    """
    found = np.int64(0)
    for w in range(words):
        there = front[w] & wanted[w]
        while there != np.uint64(0):
            below = (there & (np.uint64(0) - there)) - np.uint64(1)
            i = np.int64(before[w]) + ones(wanted[w] & below)
            there &= there - np.uint64(1)
            bits[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
            found += 1
    return found


def reached(listed, count, first, front, left, offsets, longs, cut):
    """Add the vertices `first` + i of listed places i to the frontier.

    The bits of these vertices are set in `front` and cleared in `left`. The edges of a long vertex are divided among
    entries of `longs`, from entry `cut` on (see REACH_LONGS); returns the number of entries afterwards.
    """
    for k in range(count):
        v = first + np.int64(listed[k])
        bit = np.uint64(1) << np.uint64(v & 63)
        front[v >> 6] |= bit
        left[v >> 6] &= ~bit
        degree = np.int64(offsets[v + 1]) - np.int64(offsets[v])
        if degree > REACH_LONG:
            for part in range((degree + REACH_LONG - 1) // REACH_LONG):
                longs[cut] = (np.uint64(part) << np.uint64(32)) | np.uint64(v)
                cut += 1
    return cut


def same_8(value, listed, count, first, width, values):
    """Store one value for the vertices `first` + i of all listed places i."""
    if width == 1:
        for k in range(count):
            values[first + np.int64(listed[k])] = value[0]
        return
    for k in range(count):
        at = (first + np.int64(listed[k])) * width
        for j in range(width):
            values[at + j] = value[j]


same_16 = same_32 = same_64 = same_8


def boundary(theirs, mine, count, head, skipped, used, some, found):
    """Collect the links between trees of two ranks over their common vertices.

    A link is (root here << 32) | root on the other rank. The many links between the two skipped trees are not
    collected; trees here without an owned vertex have no links.

    Args:
        theirs, mine: for each vertex, the root of its tree on the other rank, and on this rank.
        count: the number of vertices.
        head, skipped: the roots of the skipped trees of the other rank and of this rank.
        used: for each root on this rank, whether its tree contains an owned vertex.
        some: output: the links.
        found: output: whether any vertex is in the skipped tree of the other rank, and whether any vertex is in both
            skipped trees.

    Returns the number of links.
    """
    k = np.int64(0)
    among, both = np.uint8(0), np.uint8(0)
    for i in range(count):
        here, there = mine[i], theirs[i]
        if there == head:
            among = np.uint8(1)
            if here == skipped:
                both = np.uint8(1)
                continue
        if used[here] != 0:
            some[k] = (np.uint64(here) << np.uint64(32)) | np.uint64(there)
            k += 1
    found[0], found[1] = among, both
    return k


def wait(listed, count, first, waiters):
    """Set the bits of the vertices `first` + i of all listed places i."""
    for k in range(count):
        v = first + np.int64(listed[k])
        waiters[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
