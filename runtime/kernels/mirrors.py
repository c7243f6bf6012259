"""Kernels that pack values of owned vertices for another rank, and that unpack values into the mirrors there.

`places` has the local numbers of the vertices that the other rank mirrors. `sent` has the values that were last sent to
that rank, in the same order. A value has `width` words. Bitmaps have a bit for each place.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import inner, lowest
from vlang.runtime.plan.layouts.reach_words import REACH_LONG


def changed_8(values, places, count, width, sent, bits):
    """Set the bits of places whose value differs from `sent`, and update `sent`; returns the number of these places."""
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


def every_8(values, places, count, width, sent, bits):
    """Copy the values of all places to `sent`; returns `count`. `bits` is not used."""
    for i in range(count):
        at = np.int64(places[i]) * width
        for j in range(width):
            sent[i * width + j] = values[at + j]
    return np.int64(count)


def taken_8(sent, bits, words, width, out):
    """Write the values of the places whose bits are set, one after the other."""
    k = np.int64(0)
    for w in range(words):
        there = bits[w]
        while there != np.uint64(0):
            i = 64 * w + lowest(there)
            there &= there - np.uint64(1)
            for j in range(width):
                out[k] = sent[i * width + j]
                k += 1


def put_listed_8(values, listed, count, width, mirrors):
    """Store consecutive values in the listed mirrors."""
    for k in range(count):
        at = np.int64(listed[k]) * width
        for j in range(width):
            mirrors[at + j] = values[k * width + j]


changed_16 = changed_32 = changed_64 = changed_8
every_16 = every_32 = every_64 = every_8
taken_16 = taken_32 = taken_64 = taken_8
put_listed_16 = put_listed_32 = put_listed_64 = put_listed_8


def listed(bits, words, out):
    """Write the numbers of the bits that are set; returns how many there are."""
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
    """Set the bits of the places whose vertex is in the bitmap `front`; returns how many there are.

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

    Their bits are set in `front` and cleared in `left`. The edges of a long vertex are divided among entries of
    `longs`, from entry `cut` on (see REACH_LONGS); returns the number of entries afterwards.
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
    for k in range(count):
        at = (first + np.int64(listed[k])) * width
        for j in range(width):
            values[at + j] = value[j]


same_16 = same_32 = same_64 = same_8


def wait(listed, count, first, waiters):
    """Set the bits of the vertices `first` + i of all listed places i."""
    for k in range(count):
        v = first + np.int64(listed[k])
        waiters[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
