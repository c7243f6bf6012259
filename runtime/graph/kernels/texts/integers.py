"""Scans lines that consist of unsigned integers only, as in most files.

This small kernel compiles in a fraction of the time of the general kernel in tokenize.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from vlang.runtime.graph.kernels.texts.digits import (
    BASE,
    BIG,
    CAPACITY,
    DELIMITER,
    FIELDS,
    HIGHEST,
    LARGEST,
    LINES,
    LOWEST,
    NEGATIVE,
    ODD,
    ROWS,
    SMALLEST,
    leading_integers,
)

EXPORTS = {"scan_integers": "i64(u8*, i64, i64, i64*, i64*, i64*, i64*, i64*)"}


def scan_integers(text: Any, first: Any, end: Any, setup: Any, roles: Any, ids: Any, cells: Any, result: Any) -> Any:
    """Read the lines of text[first:end] if they hold only unsigned integers.

    See `scan` in tokenize.py for the arguments.

    All fields must be ids or columns of integers, and lines must not begin with a mark. Returns 1; or 0 if a line holds
    anything else, and then the caller must use `scan`.
    """
    delimiter, fields, capacity = setup[DELIMITER], setup[FIELDS], setup[CAPACITY]
    base, lowest, highest = setup[BASE], setup[LOWEST], setup[HIGHEST]
    smallest, largest = np.int64(9223372036854775807), np.int64(-9223372036854775808)
    rows = np.int64(0)
    i = first
    while i < end:
        f, i, smallest, largest = leading_integers(
            text, i, fields, fields, delimiter, roles, ids, cells, capacity, rows, base, lowest, highest, smallest,
            largest,
        )  # fmt: skip
        if f < fields:
            return 0
        rows += 1
    result[ROWS], result[LINES], result[ODD] = rows, rows, 0
    result[SMALLEST], result[LARGEST], result[NEGATIVE], result[BIG] = smallest, largest, 0, 0
    return 1
