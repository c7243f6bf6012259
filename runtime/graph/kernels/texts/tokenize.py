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
from vlang.runtime.graph.kernels.texts.tokens import (
    ESCAPED,
    MINUS,
    NEWLINE,
    NUL,
    PLAIN,
    UNCLOSED,
    blank,
    comment,
    integer,
    printed,
    skip_comment,
    token,
)

EXPORTS = {"scan": "i64(u8*, i64, i64, i64*, i64*, i64*, i64*, f64*, i64*, u64*, f64*, u8*, i64*)"}

# The status codes that `scan` returns.
FINE, SHORT, EMPTY, EXTRA, ID_TEXT, ID_WIDE, ID_RANGE, NEED_FLOAT, ZERO_BYTE, OPEN_QUOTE, NO_MARK, ODD_FULL = range(12)
MIXED_SIGNS = 12

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
    while blank(np.int64(text[i]), delimiter):
        i += 1
    c = np.int64(text[i])
    known = end > start and end - start <= 18 and (c == NEWLINE or (c == delimiter if delimiter != 0 else i > end))
    return known, -value if minus else value, i


@njit
def _checked_token(text: Any, i: Any, delimiter: Any, role: Any) -> Any:
    """Check the field at i. Returns (status, first byte, end, position of the next non-blank, kind)."""
    first, end, after, kind = token(text, i, delimiter)
    status = FINE
    if kind == NUL:
        status = ZERO_BYTE
    elif delimiter == 0 and np.int64(text[i]) == NEWLINE:
        status = SHORT
    elif kind != PLAIN:
        c = np.int64(text[after])
        closed = c == NEWLINE or blank(c, delimiter) or (delimiter != 0 and c == delimiter)
        status = FINE if kind != UNCLOSED and closed else OPEN_QUOTE
    if status == FINE:
        while blank(np.int64(text[after]), delimiter):
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
    kind, value = integer(text, first, end)
    if role == INTEGER:
        return FINE if kind == 1 else NEED_FLOAT, value, False
    return FINE if kind == 1 or kind == 2 else ID_TEXT if kind == 0 else ID_WIDE, value, kind == 2


@njit
def _missing(text: Any, first: Any, end: Any, names: Any) -> Any:
    """Return whether a token is one of the names for a missing cell, ignoring case.

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

    The position is that of the first field; if the line has no data, it is that of the next line.

    A line of data must begin with the byte `mark`, unless `mark` is 0.
    """
    while blank(np.int64(text[i]), delimiter):
        i += 1
    c = np.int64(text[i])
    if c == NEWLINE:
        return FINE, False, i + 1
    if comment(text, i, letters):
        i, zero = skip_comment(text, i)
        return ZERO_BYTE if zero else FINE, False, i
    if mark == 0:
        return FINE, True, i
    if c != mark or not blank(np.int64(text[i + 1]), delimiter):
        return ZERO_BYTE if c == 0 else NO_MARK, False, i
    i += 1
    while blank(np.int64(text[i]), delimiter):
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
        One of the status codes of this module.
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
            while blank(np.int64(text[i]), delimiter):
                i += 1
            role = roles[2 * f]
            number_id = role in (SOURCE, TARGET) and text_ids == 0
            known, value, after, above = False, np.int64(0), i, False
            if number_id or role == INTEGER:
                known, value, after = _short_integer(text, i, delimiter)
                known = known and (base != 0 or role == INTEGER or printed(text, i))
            if not known:
                status, token, stop, after, kind = _checked_token(text, i, delimiter, role)
                if status != FINE:
                    break
                left, lacks = False, False
                if number_id or role == INTEGER:
                    status, value, above = _long_integer(text, token, stop, role)
                    if number_id and base == 0 and status == FINE and not printed(text, token):
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
