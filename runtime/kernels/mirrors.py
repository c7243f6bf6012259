"""Kernels that pack values of owned vertices for another rank, and that unpack values into the mirrors there.

`places` has the local numbers of the vertices that the other rank mirrors. `sent` has the values that were last sent to
that rank, in the same order. A value has `width` words. Bitmaps have a bit for each place.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import lowest


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


def put_8(values, bits, words, width, mirrors):
    """Store consecutive values in the mirrors whose bits are set."""
    k = np.int64(0)
    for w in range(words):
        there = bits[w]
        while there != np.uint64(0):
            i = 64 * w + lowest(there)
            there &= there - np.uint64(1)
            for j in range(width):
                mirrors[i * width + j] = values[k]
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
put_16 = put_32 = put_64 = put_8
put_listed_16 = put_listed_32 = put_listed_64 = put_listed_8


def listed(bits, words, out):
    """Write the numbers of the bits that are set."""
    k = np.int64(0)
    for w in range(words):
        there = bits[w]
        while there != np.uint64(0):
            out[k] = np.uint32(64 * w + lowest(there))
            there &= there - np.uint64(1)
            k += 1


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


def picked(front, places, count, bits):
    """Set the bits of the places whose vertex is in the bitmap `front`; returns the number of these places."""
    found = np.int64(0)
    for w in range((count + 63) >> 6):
        word = np.uint64(0)
        for i in range(64 * w, min(64 * w + 64, count)):
            v = np.int64(places[i])
            bit = (front[v >> 6] >> np.uint64(v & 63)) & np.uint64(1)
            word |= bit << np.uint64(i & 63)
            found += np.int64(bit)
        bits[w] = word
    return found


def spread(listed, count, first, front, left):
    """For listed places i, set the bit of vertex `first` + i in `front`, and clear the bit in `left`."""
    for k in range(count):
        v = first + np.int64(listed[k])
        bit = np.uint64(1) << np.uint64(v & 63)
        front[v >> 6] |= bit
        left[v >> 6] &= ~bit
