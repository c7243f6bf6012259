"""Parses lines of text into ids and numbers, in one pass over the bytes of a chunk of whole lines.

Without a delimiter, a field is a run of non-blanks. With a delimiter, a field is the text between two delimiters
without the blanks at its ends. A field may be quoted as in csv. Integers of up to 18 digits and floats of up to 19
digits are parsed and rounded exactly. Other numbers and missing cells are listed in `odd` with their positions. The
first error ends the scan, which returns a status and a position.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from vlang.runtime.graph.kernels.texts.decimals import store_float
from vlang.runtime.graph.kernels.texts.digits import (
    BASE,
    BIG,
    CAPACITY,
    DELIMITER,
    FIELD,
    FIELDS,
    FLOAT,
    HIGHEST,
    INTEGER,
    LARGEST,
    LETTER_COMMENTS,
    LINES,
    LOWEST,
    MARK,
    NEGATIVE,
    ODD,
    ODD_CAPACITY,
    PLACE,
    ROWS,
    SIGNS,
    SMALLEST,
    SOURCE,
    TARGET,
    TEXT,
    TEXT_IDS,
    leading_integers,
)

EXPORTS = {"scan": "i64(u8*, i64, i64, i64*, i64*, i64*, i64*, f64*, i64*, u64*, f64*, u8*, i64*)"}

# The status codes that `scan` returns.
FINE, SHORT, EMPTY, EXTRA, ID_TEXT, ID_WIDE, ID_RANGE, NEED_FLOAT, ZERO_BYTE, OPEN_QUOTE, NO_MARK, ODD_FULL = range(12)
MIXED_SIGNS = 12

# The kinds of field that `_token` returns.
PLAIN, QUOTED, ESCAPED, UNCLOSED, NUL = range(5)

NEWLINE, QUOTE, MINUS, PLUS, TAB = 10, 34, 45, 43, 9
HASH, PERCENT, SLASH, LETTER_C = 35, 37, 47, 99


@njit
def _blank(c: Any, delimiter: Any) -> Any:
    return c == 32 or (c >= 9 and c <= 13 and c != NEWLINE and not (c == TAB and delimiter == TAB))


@njit
def _comment(text: Any, i: Any, letters: Any) -> Any:
    c = np.int64(text[i])
    if letters != 0 and c == LETTER_C:
        return True
    return c in (HASH, PERCENT) or (c == SLASH and np.int64(text[i + 1]) == SLASH)


@njit
def _token(text: Any, i: Any, delimiter: Any) -> Any:
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
        if not _blank(c, delimiter):
            last = j + 1
        elif delimiter == 0:
            break
        j += 1
    return i, last, j, PLAIN


@njit
def _integer(text: Any, first: Any, end: Any) -> Any:
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
def _printed(text: Any, first: Any) -> Any:
    """Whether an integer is in canonical form: without a plus sign or leading zeros, and not minus zero."""
    c = np.int64(text[first])
    after = np.int64(text[first + 1])
    return not (c == PLUS or (c == 48 and after >= 48 and after <= 57) or (c == MINUS and after == 48))


@njit
def _skip_comment(text: Any, i: Any) -> Any:
    """Returns (the position after the line, whether the line holds a NUL byte)."""
    zero = False
    while np.int64(text[i]) != NEWLINE:
        zero = zero or np.int64(text[i]) == 0
        i += 1
    return i + 1, zero


@njit
def _short_integer(text: Any, i: Any, delimiter: Any) -> Any:
    """Returns (whether the field at i is an integer of at most 18 digits, its value, position of the next field)."""
    minus = np.int64(text[i]) == MINUS
    if minus:
        i += 1
    start = i
    value = np.int64(0)
    while True:
        digit = np.int64(text[i]) - 48
        if digit < 0 or digit > 9:
            break
        value = value * 10 + digit
        i += 1
    end = i
    while _blank(np.int64(text[i]), delimiter):
        i += 1
    c = np.int64(text[i])
    known = end > start and end - start <= 18 and (c == NEWLINE or (c == delimiter if delimiter != 0 else i > end))
    return known, -value if minus else value, i


@njit
def _checked_token(text: Any, i: Any, delimiter: Any, role: Any) -> Any:
    """Check the field at i. Returns (status, first byte, end, position of the next non-blank, kind)."""
    first, end, after, kind = _token(text, i, delimiter)
    status = FINE
    if kind == NUL:
        status = ZERO_BYTE
    elif delimiter == 0 and np.int64(text[i]) == NEWLINE:
        status = SHORT
    elif kind != PLAIN:
        c = np.int64(text[after])
        closed = c == NEWLINE or _blank(c, delimiter) or (delimiter != 0 and c == delimiter)
        status = FINE if kind != UNCLOSED and closed else OPEN_QUOTE
    if status == FINE:
        while _blank(np.int64(text[after]), delimiter):
            after += 1
        c = np.int64(text[after])
        if kind != PLAIN and delimiter != 0 and c != NEWLINE and c != delimiter:
            status = OPEN_QUOTE
        elif role in (SOURCE, TARGET) and first == end:
            status = EMPTY
    return status, first, end, after, kind


@njit
def _long_integer(text: Any, first: Any, end: Any, role: Any) -> Any:
    """Parse a token that is not a short integer. Returns (status, 64 bits, whether this is an id above 2^63 - 1)."""
    kind, value = _integer(text, first, end)
    if role == INTEGER:
        return FINE if kind == 1 else NEED_FLOAT, value, False
    return FINE if kind == 1 or kind == 2 else ID_TEXT if kind == 0 else ID_WIDE, value, kind == 2


@njit
def _missing(text: Any, first: Any, end: Any, names: Any) -> Any:
    """Whether a token is one of the names for a missing cell, ignoring case.

    `names` has these names in lower case, one per line, with a zero byte at the end.
    """
    i = np.int64(0)
    while np.int64(names[i]) != 0:
        j = first
        same = True
        while np.int64(names[i]) != NEWLINE:
            c = np.int64(0)
            if j < end:
                c = np.int64(text[j])
                if c >= 65 and c <= 90:
                    c += 32
            same = same and c == np.int64(names[i])
            i += 1
            j += 1
        if same and j == end:
            return True
        i += 1
    return False


@njit
def _line_start(text: Any, i: Any, delimiter: Any, mark: Any, letters: Any) -> Any:
    """Returns (status, whether the line at i has data, position).

    The position is that of the first field or, without data, of the next line.

    A line of data must begin with the byte `mark`, unless `mark` is 0.
    """
    while _blank(np.int64(text[i]), delimiter):
        i += 1
    c = np.int64(text[i])
    if c == NEWLINE:
        return FINE, False, i + 1
    if _comment(text, i, letters):
        i, zero = _skip_comment(text, i)
        return ZERO_BYTE if zero else FINE, False, i
    if mark == 0:
        return FINE, True, i
    if c != mark or not _blank(np.int64(text[i + 1]), delimiter):
        return ZERO_BYTE if c == 0 else NO_MARK, False, i
    i += 1
    while _blank(np.int64(text[i]), delimiter):
        i += 1
    return FINE, True, i


@njit
def _quick_fields(roles: Any, fields: Any, text_ids: Any) -> Any:
    """The number of leading fields that are ids or columns of integers."""
    f = np.int64(0)
    while f < fields and (roles[2 * f] == INTEGER or (roles[2 * f] in (SOURCE, TARGET) and text_ids == 0)):
        f += 1
    return f


def scan(text: Any, first: Any, end: Any, setup: Any, roles: Any, ids: Any, cells: Any, floats: Any, odd: Any,
         powers: Any, tens: Any, names: Any, result: Any) -> Any:  # fmt: skip
    """Parse the lines of text[first:end]; text[end - 1] must be a line end.

    Args:
        text: bytes.
        first, end: the range of the lines.
        setup: i64, see digits.py. In setup[SIGNS], bit 0 is set if the file had a negative id so far, bit 1 if it had
            an id above 2^63 - 1.
        roles: i64[2 fields], see digits.py.
        ids: output, i64[2, capacity], source and target of each row. An integer id is stored minus setup[BASE], as 64
            bits; result[BIG] is set if an id exceeds 2^63 - 1. With TEXT_IDS, a token is packed as kind << 62 | length
            << 32 | position; kind 1 means that the token has doubled quotes.
        cells, floats: output, the same memory, [columns, capacity]. The cell of a TEXT field is packed as a token of
            an id.
        odd: output, i64[ODD_CAPACITY, 4]: row, field, first byte and end of each FLOAT token that was not parsed. A
            missing cell has -1 - field in place of the field.
        powers, tens: see `vlang.runtime.graph.edges.powers`.
        names: the texts that mean a missing cell, see `_missing`.
        result: output, see digits.py. PLACE and FIELD are the first byte of the line and the field of an error.

    Returns:
        One of the status codes above.
    """
    delimiter, mark, letters, text_ids = setup[DELIMITER], setup[MARK], setup[LETTER_COMMENTS], setup[TEXT_IDS]
    base, lowest, highest = setup[BASE], setup[LOWEST], setup[HIGHEST]
    fields, capacity, odd_capacity = setup[FIELDS], setup[CAPACITY], setup[ODD_CAPACITY]
    smallest, largest = np.int64(9223372036854775807), np.int64(-9223372036854775808)
    rows, lines, odds = np.int64(0), np.int64(0), np.int64(0)
    negative, big = setup[SIGNS] & 1, setup[SIGNS] >> 1
    quick = _quick_fields(roles, fields, text_ids)
    status = FINE
    i = line = first
    f = np.int64(0)
    while i < end:
        line = i
        f = np.int64(0)
        if mark != 0 or np.int64(text[i]) < 48 or np.int64(text[i]) > 57:
            status, data, i = _line_start(text, i, delimiter, mark, letters)
            if status != FINE:
                break
            if not data:
                lines += 1
                continue
        f, i, smallest, largest = leading_integers(
            text, i, quick, fields, delimiter, roles, ids, cells, capacity, rows, base, lowest, highest, smallest,
            largest,
        )  # fmt: skip
        if f == fields:
            rows += 1
            lines += 1
            continue
        while f < fields:
            while _blank(np.int64(text[i]), delimiter):
                i += 1
            role = roles[2 * f]
            number_id = role in (SOURCE, TARGET) and text_ids == 0
            known, value, after, above = False, np.int64(0), i, False
            if number_id or role == INTEGER:
                known, value, after = _short_integer(text, i, delimiter)
                known = known and (base != 0 or role == INTEGER or _printed(text, i))
            if not known:
                status, token, stop, after, kind = _checked_token(text, i, delimiter, role)
                if status != FINE:
                    break
                left, lacks = False, False
                if number_id or role == INTEGER:
                    status, value, above = _long_integer(text, token, stop, role)
                    if number_id and base == 0 and status == FINE and not _printed(text, token):
                        status = ID_TEXT  # 007 and 7 are two vertices
                    if status == NEED_FLOAT:
                        left = lacks = _missing(text, token, stop, names)
                        status = FINE if lacks else NEED_FLOAT
                    if status != FINE:
                        break
                    if number_id and above:
                        big = np.int64(1)
                elif role == FLOAT:
                    at = roles[2 * f + 1] * capacity + rows
                    left = not store_float(text, token, stop, at, cells, floats, powers, tens)
                    lacks = left and _missing(text, token, stop, names)
                else:
                    left = lacks = role == TEXT and _missing(text, token, stop, names)
                    value = (np.int64(kind == ESCAPED) << 62) | ((stop - token) << 32) | token
                if left:
                    if odds == odd_capacity:
                        status = ODD_FULL
                        break
                    place = 4 * odds
                    odd[place], odd[place + 1] = rows, -1 - f if lacks else f
                    odd[place + 2], odd[place + 3] = token, stop
                    odds += 1
            if number_id:
                if value < 0 and not above:
                    negative = np.int64(1)
                if negative != 0 and big != 0:
                    status = MIXED_SIGNS
                    break
                if value < lowest or value > highest:
                    status = ID_RANGE
                    break
                value -= base
                smallest = min(smallest, value)
                largest = max(largest, value)
            if role == SOURCE:
                ids[rows] = value
            elif role == TARGET:
                ids[capacity + rows] = value
            elif role in (INTEGER, TEXT):
                cells[roles[2 * f + 1] * capacity + rows] = value
            i = after
            c = np.int64(text[i])
            f += 1
            if f == fields:
                if c != NEWLINE:
                    status = ZERO_BYTE if c == 0 else EXTRA
                i += 1
            elif c == NEWLINE:
                status = SHORT
            elif delimiter != 0:
                i += 1
            if status != FINE:
                break
        if status != FINE:
            break
        rows += 1
        lines += 1
    result[ROWS], result[LINES], result[PLACE], result[FIELD] = rows, lines, line, f
    result[ODD], result[SMALLEST], result[LARGEST] = odds, smallest, largest
    result[NEGATIVE], result[BIG] = negative, big
    return status
