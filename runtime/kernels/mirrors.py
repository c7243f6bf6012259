"""Kernels that pack values of owned vertices for another rank, and that unpack values into the mirrors there.

`places` has the local numbers of the vertices that the other rank mirrors. `sent` has the values that were last sent to
that rank, in the same order. A value has `width` words. Bitmaps have a bit for each place.

Values of one word have loops of their own: with an inner loop over the words, packing takes 5 to 17 times as long.
"""

import numpy as np

from vlang.runtime.compile.intrinsics import inner, lowest
from vlang.runtime.kernels.bits import DENSE, append, ones, squeezed
from vlang.runtime.plan.layouts.message_forms import BITMAP, FORMS, LISTED, NOTHING
from vlang.runtime.plan.layouts.reach_words import REACH_LONG


@inner
def changed_words(values, places, count, sent, bits):
    """Does the same as `changed_8` for values of one word. Groups of 64 places without a change are only compared."""
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
def picked(front, wanted, before, words, bits):
    """Set the bits of the places whose vertex is in the bitmap `front`; returns the number of these places.

    `wanted` is a bitmap of the vertices that the other rank mirrors, and before[w] is the number of these vertices
    below vertex 64 * w. `bits` is zero at the call.
    """
    found = np.int64(0)
    for w in range(words):
        there = front[w] & wanted[w]
        if there == np.uint64(0):
            continue
        i, count = np.int64(before[w]), ones(there)
        found += count
        if count > DENSE:
            there = there if wanted[w] == ~np.uint64(0) else squeezed(there, wanted[w])
            append(bits, i, there)
            continue
        while there != np.uint64(0):
            below = (there & (np.uint64(0) - there)) - np.uint64(1)
            k = i + ones(wanted[w] & below)
            there &= there - np.uint64(1)
            bits[k >> 6] |= np.uint64(1) << np.uint64(k & 63)
    return found


def front_message(front, wanted, before, words, count, bits, message, at):
    """Write which of `count` places have their vertex in the bitmap `front`, as a list or as a bitmap, whichever is
    shorter, to `message` from word `at` on; returns the number of words.

    `wanted`, `before` and `words` are as for `picked`. `bits` is memory for a bit for each place.
    """
    size = (count + 63) >> 6
    for w in range(size):
        bits[w] = np.uint64(0)
    found = picked(front, wanted, before, words, bits)
    listed_size = (found + 1) >> 1
    if found == 0:
        message[at] = np.uint64(NOTHING)
        return np.int64(1)
    if listed_size >= size:
        message[at] = np.uint64(found * FORMS + BITMAP)
        for w in range(size):
            message[at + 1 + w] = bits[w]
        return 1 + size
    message[at] = np.uint64(found * FORMS + LISTED)
    message[at + listed_size] = np.uint64(0)
    k = np.int64(0)
    for w in range(size):
        there = bits[w]
        while there != np.uint64(0):
            place = np.uint64(64 * w + lowest(there))
            there &= there - np.uint64(1)
            half = at + 1 + (k >> 1)
            message[half] = place if k & 1 == 0 else message[half] | (place << np.uint64(32))
            k += 1
    return 1 + listed_size


@inner
def top(v, parents):
    """Find the root of the tree of v."""
    while parents[v] != v:
        v = parents[v]
    return v


def apart(parents, n, wanted, before, first, words, common, bits, out):
    """Set the bits of the places that are in another tree than `common`, and write the roots of their trees, one after
    the other; returns their number. `common` is the root of the tree that most places have as parent.

    `wanted` is a bitmap of the vertices of these places: the words `first` to `first + words - 1` of a bitmap over all
    `n` vertices. before[w] is the number of places below the vertices of word w. `bits` is zero at the call.
    """
    found = np.int64(0)
    for w in range(words):
        begin, other = 64 * (first + w), np.uint32(0)
        for v in range(begin, min(begin + 64, n)):
            other |= parents[v] ^ common
        if other == np.uint32(0):
            continue
        i, there = np.int64(before[w]), wanted[w]
        while there != np.uint64(0):
            above = top(begin + lowest(there), parents)
            there &= there - np.uint64(1)
            if above != common:
                bits[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
                out[found] = above
                found += 1
            i += 1
    return found


@inner
def cut_row(v, offsets, longs, cut):
    """Divide the edges of a vertex, if it is long, among entries of `longs` from `cut` on; returns the next entry."""
    degree = np.int64(offsets[v + 1]) - np.int64(offsets[v])
    if degree > REACH_LONG:
        for part in range((degree + REACH_LONG - 1) // REACH_LONG):
            longs[cut] = (np.uint64(part) << np.uint64(32)) | np.uint64(v)
            cut += 1
    return cut


def cut_rows(listed, count, offsets, longs):
    """Divide the edges of the long vertices in a list among entries of `longs`; returns the number of entries."""
    cut = np.int64(0)
    for k in range(count):
        cut = cut_row(np.int64(listed[k]), offsets, longs, cut)
    return cut


@inner
def cut_long(there, base, offsets, longs, cut):
    """Divide the edges of the vertices `base` + i, for each bit i of a word, among entries of `longs` from `cut` on."""
    while there != np.uint64(0):
        cut = cut_row(base + lowest(there), offsets, longs, cut)
        there &= there - np.uint64(1)
    return cut


def front_read(message, begin, first, count, front, long, offsets, longs, cut, one):
    """Add the vertices `first` + i, for each place i below `count` in a part that `front_message` has written at word
    `begin`, to the bitmap `front`, which has none of them yet.

    `long` is a bitmap of the vertices whose edges are divided among entries of `longs`, from entry `cut` on (see
    REACH_LONGS). One of the vertices is stored in one[0], if there are any. Returns the number of entries of `longs`
    afterwards.
    """
    form, places = np.int64(message[begin]) % FORMS, np.int64(message[begin]) // FORMS
    if form == LISTED:
        for k in range(places):
            half = message[begin + 1 + (k >> 1)] >> np.uint64(32 * (k & 1))
            v = first + np.int64(half & np.uint64(0xFFFFFFFF))
            one[0] = v
            front[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
            cut = cut_row(v, offsets, longs, cut)
    if form != BITMAP:
        return cut
    shift = np.uint64(first & 63)
    for w in range((count + 63) >> 6):
        word, at = message[begin + 1 + w], (first >> 6) + w
        if word == np.uint64(0):
            continue
        one[0] = first + 64 * w + lowest(word)
        front[at] |= word << shift
        cut = cut_long((word << shift) & long[at], 64 * at, offsets, longs, cut)
        over = word >> (np.uint64(64) - shift) if shift != np.uint64(0) else np.uint64(0)
        if over != np.uint64(0):
            front[at + 1] |= over
            cut = cut_long(over & long[at + 1], 64 * at + 64, offsets, longs, cut)
    return cut


def boundary(mine, first, count, skipped, head, listed, roots, lists, low, some, found):
    """Collect the links between trees of two ranks over the vertices of the other rank that are mirrored here.

    A link is (root here << 32) | root on the other rank. The many links between the two skipped trees are not
    collected. A mirror that is alone in its tree has no link: all other trees have owned vertices.

    Args:
        mine: for each mirror, the root of its tree on this rank.
        first, count: the local number of the first mirror, and the number of mirrors.
        skipped, head: the roots of the skipped trees of this rank and of the other rank.
        listed, roots, lists: the mirrors that are not in the skipped tree of the other rank, in increasing order from
            0, the roots of their trees there, and their number.
        low: the first owned vertex.
        some: output: the links.
        found: output: whether any mirror is in both skipped trees, and whether any link has a lower mirror that is the
            root of its tree. This mirror may be alone.

    Returns the number of links.
    """
    k, at = np.int64(0), np.int64(0)
    both, doubtful = np.uint8(0), np.uint8(0)
    for begin in range(0, count, 64):
        end, other, inside = min(begin + 64, count), np.uint32(0), np.uint32(0)
        for i in range(begin, end):  # without a branch: mostly, all mirrors are in the skipped tree, or alone
            within, alone = np.uint32(mine[i] == skipped), np.uint32(mine[i] == np.uint32(first + i))
            inside |= within
            other |= np.uint32(1) ^ (within | alone)
        if other == np.uint32(0) and first > low and (at == lists or listed[at] >= end):
            both |= np.uint8(inside)
            continue
        for i in range(begin, end):
            here, there = mine[i], head
            if at < lists and listed[at] == i:
                there = roots[at]
                at += 1
            elif here == skipped:
                both = np.uint8(1)
                continue
            if here == first + i:
                if here > low:
                    continue
                doubtful = np.uint8(1)
            some[k] = (np.uint64(here) << np.uint64(32)) | np.uint64(there)
            k += 1
    found[0], found[1] = both, doubtful
    return k


def wait(listed, count, first, waiters):
    """Set the bits of the vertices `first` + i of all listed places i."""
    for k in range(count):
        v = first + np.int64(listed[k])
        waiters[v >> 6] |= np.uint64(1) << np.uint64(v & 63)
