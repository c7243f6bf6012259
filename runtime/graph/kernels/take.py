"""Gathers values of 8 to 64 bits by index."""

from __future__ import annotations

from typing import Any

from numba import njit

EXPORTS = {
    "take8": "void(u8*, i64*, i64, i64, u8*)",
    "take16": "void(u16*, i64*, i64, i64, u16*)",
    "take32": "void(u32*, i64*, i64, i64, u32*)",
    "take64": "void(u64*, i64*, i64, i64, u64*)",
}


@njit
def _take(column: Any, places: Any, first: Any, last: Any, out: Any) -> None:
    for i in range(first, last):
        out[i] = column[places[i]]


def take8(column: Any, places: Any, first: Any, last: Any, out: Any) -> None:
    """Set out[i] to column[places[i]] for i in first..last-1.

    Args:
        column: values of 8 bits.
        places: i64, indices into `column`.
        first, last: the range of results.
        out: output, the results, with the dtype of `column`.
    """
    _take(column, places, first, last, out)


def take16(column: Any, places: Any, first: Any, last: Any, out: Any) -> None:
    """Like take8, for values of 16 bits."""
    _take(column, places, first, last, out)


def take32(column: Any, places: Any, first: Any, last: Any, out: Any) -> None:
    """Like take8, for values of 32 bits."""
    _take(column, places, first, last, out)


def take64(column: Any, places: Any, first: Any, last: Any, out: Any) -> None:
    """Like take8, for values of 64 bits."""
    _take(column, places, first, last, out)
