"""Parses unsigned integers with one separator after each, eight bytes at a time. This is an include file.

`text` must be readable for READ_AHEAD bytes after the last line end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

# The role of field f is roles[2 f]; its column in `cells` is roles[2 f + 1].
SKIP, SOURCE, TARGET, INTEGER, FLOAT, TEXT = 0, 1, 2, 3, 4, 5

# setup[...]
DELIMITER, MARK, LETTER_COMMENTS, TEXT_IDS, BASE, LOWEST, HIGHEST, FIELDS, CAPACITY, ODD_CAPACITY, SIGNS = range(11)

# result[...]
ROWS, LINES, PLACE, FIELD, ODD, SMALLEST, LARGEST, NEGATIVE, BIG = range(9)

NEWLINE, RETURN, TAB = 10, 13, 9
MOST_DIGITS = 18


@njit(inline="always")
def _unsigned(text: Any, i: Any) -> Any:
    """Parse an unsigned integer.

    Returns (its value, the position after it, its first digit), or (0, i, a number above 9) if there is no digit at i.

    Up to eight digits are parsed without a branch. The digits are shifted to the top of the word, by a count that
    follows from the position of the first byte that is not a digit. Three multiplications then combine neighbouring
    digits, pairs and groups of four (Lemire, Number parsing at a gigabyte per second, 2021, section 3). LLVM
    combines the eight loads into one.
    """
    word = (
        np.uint64(text[i])
        | np.uint64(text[i + 1]) << np.uint64(8)
        | np.uint64(text[i + 2]) << np.uint64(16)
        | np.uint64(text[i + 3]) << np.uint64(24)
        | np.uint64(text[i + 4]) << np.uint64(32)
        | np.uint64(text[i + 5]) << np.uint64(40)
        | np.uint64(text[i + 6]) << np.uint64(48)
        | np.uint64(text[i + 7]) << np.uint64(56)
    )
    digits = word ^ np.uint64(0x3030303030303030)  # a byte is 0..9 if it was a digit
    lead = digits & np.uint64(255)
    # The high bit of a byte is set if it is not a digit. The bits above the first such byte may be wrong.
    others = ((digits + np.uint64(0x7676767676767676)) | digits) & np.uint64(0x8080808080808080)
    bits = np.uint64(64)
    if others != np.uint64(0):
        bits = np.uint64(trailing_zeros(others)) & np.uint64(0x78)
        digits = (digits << np.uint64(1)) << (np.uint64(63) - bits)  # two shifts, as a single shift by 64 is undefined
    pairs = (digits * np.uint64(2561)) >> np.uint64(8)
    fours = ((pairs & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    value = np.int64(((fours & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32))
    i += np.int64(bits >> np.uint64(3))
    if bits == np.uint64(64):
        digit = np.int64(text[i]) - 48
        while digit >= 0 and digit <= 9:
            value = value * 10 + digit
            i += 1
            digit = np.int64(text[i]) - 48
    return value, i, lead


@njit(inline="always")
def leading_integers(text: Any, i: Any, count: Any, fields: Any, delimiter: Any, roles: Any, ids: Any, cells: Any,
                     capacity: Any, row: Any, base: Any, lowest: Any, highest: Any, smallest: Any,
                     largest: Any) -> Any:  # fmt: skip
    """The fast path for nearly all lines: parse unsigned integers with one separator after each.

    Reads at most `count` fields from i, and stops before a field that is unusual or wrong; the general path of `scan`
    handles such a field.

    Args:
        text: bytes.
        i: position of the first field.
        count: the maximum number of fields to read.
        fields: the number of fields in a line.
        delimiter: the byte between fields, 0 for white space.
        roles, ids, cells, capacity: see `scan` of tokenize.py.
        row: index of the row to write.
        base, lowest, highest: see `setup`. The fast path stops before an id outside of lowest..highest and, if `base`
            is 0, before an id with leading zeros.
        smallest, largest: range of the ids read so far.

    Returns:
        (number of fields read, position of the next field, smallest and largest id so far).
    """
    f = np.int64(0)
    while f < count:
        value, j, lead = _unsigned(text, i)
        # Nearly all numbers begin with 1..9 and take only the first comparison.
        if lead - np.uint64(1) > np.uint64(8) and j != i + 1 and (
            j == i or (base == 0 and roles[2 * f] != INTEGER)
        ):
            break
        if j - i > MOST_DIGITS:
            break
        c = np.int64(text[j])
        if f + 1 == fields:
            if c == RETURN:
                j += 1
                c = np.int64(text[j])
            if c != NEWLINE:
                break
        elif c != delimiter and (delimiter != 0 or (c != 32 and c != TAB)):
            break
        role = roles[2 * f]
        if role == INTEGER:
            cells[roles[2 * f + 1] * capacity + row] = value
        else:
            if value < lowest or value > highest:
                break
            value -= base
            smallest = min(smallest, value)
            largest = max(largest, value)
            ids[row if role == SOURCE else capacity + row] = value
        i = j + 1
        f += 1
    return f, i, smallest, largest
