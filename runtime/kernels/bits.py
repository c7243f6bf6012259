"""Functions over the words of bitmaps, which kernels call."""

import numpy as np

from vlang.runtime.compile.intrinsics import inner

DENSE = 12
"""From this number of set bits on, a word is treated as a whole, and not bit by bit."""


@inner
def ones(word):
    """The number of bits that are set in a word."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inner
def squeezed(word, wanted):
    """The bits of a word at the places that are set in `wanted`, moved together at the low end.

    Source: Warren, Hacker's Delight, 2nd edition, section 7-4 (compress).
    """
    word &= wanted
    holes = ~wanted << np.uint64(1)
    for i in range(6):
        odd = holes ^ (holes << np.uint64(1))
        for j in range(1, 6):
            odd ^= odd << (np.uint64(1) << np.uint64(j))
        moved = odd & wanted
        wanted = (wanted ^ moved) | (moved >> (np.uint64(1) << np.uint64(i)))
        part = word & moved
        word = (word ^ part) | (part >> (np.uint64(1) << np.uint64(i)))
        holes &= ~odd
    return word


@inner
def append(bits, at, word):
    """Set the bits of a word in a bitmap from bit `at` on."""
    shift = np.uint64(at & 63)
    bits[at >> 6] |= word << shift
    if shift != np.uint64(0) and word >> (np.uint64(64) - shift) != np.uint64(0):
        bits[(at >> 6) + 1] |= word >> (np.uint64(64) - shift)
