"""Finds tokens, comments and integers in a text. This is an include file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# The kinds of field that `token` returns.
PLAIN, QUOTED, ESCAPED, UNCLOSED, NUL = range(5)

NEWLINE, QUOTE, MINUS, PLUS, TAB = 10, 34, 45, 43, 9
HASH, PERCENT, SLASH, LETTER_C = 35, 37, 47, 99


@njit
def blank(c: Any, delimiter: Any) -> Any:
    return c == 32 or (c >= 9 and c <= 13 and c != NEWLINE and not (c == TAB and delimiter == TAB))


@njit
def comment(text: Any, i: Any, letters: Any) -> Any:
    c = np.int64(text[i])
    if letters != 0 and c == LETTER_C:
        return True
    return c in (HASH, PERCENT) or (c == SLASH and np.int64(text[i + 1]) == SLASH)


@njit
def token(text: Any, i: Any, delimiter: Any) -> Any:
    """The field that begins at the non-blank byte i: (first byte, end, position after the field, kind)."""
    if np.int64(text[i]) == QUOTE:
        kind = QUOTED
        j = i + 1
        while True:
            c = np.int64(text[j])
            if c == NEWLINE:
                return i, j, j, UNCLOSED
            if c == 0:
                return i, j, j, NUL
            if c == QUOTE:
                if np.int64(text[j + 1]) != QUOTE:
                    return i + 1, j, j + 1, kind
                kind = ESCAPED
                j += 1
            j += 1
    j = i
    last = i
    while True:
        c = np.int64(text[j])
        if c == NEWLINE or (delimiter != 0 and c == delimiter):
            break
        if c == 0:
            return i, j, j, NUL
        if not blank(c, delimiter):
            last = j + 1
        elif delimiter == 0:
            break
        j += 1
    return i, last, j, PLAIN


@njit
def integer(text: Any, first: Any, end: Any) -> Any:
    """Returns (kind, 64 bits).

    The kind is 0 for no integer, 1 for an int64, 2 for an integer above 2^63 - 1, and 3 for an integer beyond 64 bits.
    """
    negative = False
    i = first
    if i < end and (np.int64(text[i]) == MINUS or np.int64(text[i]) == PLUS):
        negative = np.int64(text[i]) == MINUS
        i += 1
    if i >= end:
        return 0, np.int64(0)
    value = np.uint64(0)
    wide = False
    while i < end:
        digit = np.int64(text[i]) - 48
        if digit < 0 or digit > 9:
            return 0, np.int64(0)
        if value > np.uint64(1844674407370955161) or (value == np.uint64(1844674407370955161) and digit > 5):
            wide = True
        value = value * np.uint64(10) + np.uint64(digit)
        i += 1
    above = value > np.uint64(9223372036854775807)
    if wide or (negative and value > np.uint64(9223372036854775808)):
        return 3, np.int64(0)
    if negative:
        return 1, -np.int64(value)
    if above:
        return 2, np.int64(value)
    return 1, np.int64(value)


@njit
def printed(text: Any, first: Any) -> Any:
    """Return whether an integer is in canonical form: without a plus sign or leading zeros, and not minus zero."""
    c = np.int64(text[first])
    after = np.int64(text[first + 1])
    return not (c == PLUS or (c == 48 and after >= 48 and after <= 57) or (c == MINUS and after == 48))


@njit
def skip_comment(text: Any, i: Any) -> Any:
    """Returns (the position after the line, whether the line holds a NUL byte)."""
    zero = False
    while np.int64(text[i]) != NEWLINE:
        zero = zero or np.int64(text[i]) == 0
        i += 1
    return i + 1, zero
