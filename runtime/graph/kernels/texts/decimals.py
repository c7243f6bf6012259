"""Converts decimal numbers to the nearest double, or reports that rounding is uncertain. This is an include file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

MINUS, PLUS, DOT = 45, 43, 46


@njit
def _product(a: Any, b: Any) -> Any:
    """The high and the low 64 bits of the product of two uint64."""
    mask = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    a0, a1, b0, b1 = a & mask, a >> half, b & mask, b >> half
    low = a0 * b0
    first = a1 * b0 + (low >> half)
    second = a0 * b1 + (first & mask)
    return a1 * b1 + (first >> half) + (second >> half), (second << half) | (low & mask)


@njit
def _round(digits: Any, exponent: Any, powers: Any) -> Any:
    """Returns whether rounding is certain, and the bits of the double nearest to digits * 10^exponent; digits must be
    positive.

    The Eisel-Lemire algorithm (Lemire, Number parsing at a gigabyte per second, 2021). The words powers[2 k] and
    powers[2 k + 1] are the low and the high half of the 128 leading bits of 10^(k - 342), rounded down.
    """
    one = np.uint64(1)
    shifted = digits
    zeros = np.int64(0)
    step = np.int64(32)
    while step > 0:
        if shifted >> np.uint64(64 - step) == np.uint64(0):
            shifted = shifted << np.uint64(step)
            zeros += step
        step >>= 1
    at = 2 * (exponent + 342)
    power = ((217706 * exponent) >> 16) + 64 + 1023 - zeros
    high, low = _product(shifted, powers[at + 1])
    nine = np.uint64(0x1FF)
    if high & nine == nine and low + shifted < shifted:
        more, least = _product(shifted, powers[at])
        merged = low + more
        if merged < low:
            high += one
        if high & nine == nine and merged + one == np.uint64(0) and least + shifted < shifted:
            return False, np.int64(0)
        low = merged
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    power -= 1 - np.int64(top)
    if low == np.uint64(0) and high & nine == np.uint64(0) and mantissa & np.uint64(3) == one:
        return False, np.int64(0)
    mantissa = (mantissa + (mantissa & one)) >> one
    if mantissa >> np.uint64(53) != np.uint64(0):
        mantissa = mantissa >> one
        power += 1
    if power < 1 or power > 2046:
        return False, np.int64(0)
    return True, np.int64((np.uint64(power) << np.uint64(52)) | (mantissa & np.uint64(0xFFFFFFFFFFFFF)))


@njit
def _decimal(text: Any, first: Any, end: Any) -> Any:
    """Parse a decimal number.

    Returns (whether the number is well-formed with at most 19 digits, whether it is negative, digits, exponent).
    """
    i = first
    negative = False
    if i < end and (np.int64(text[i]) == MINUS or np.int64(text[i]) == PLUS):
        negative = np.int64(text[i]) == MINUS
        i += 1
    digits = np.uint64(0)
    exponent = np.int64(0)
    kept = 0
    seen = 0
    point = False
    while i < end:
        digit = np.int64(text[i]) - 48
        if digit >= 0 and digit <= 9:
            seen += 1
            if kept > 0 or digit > 0:
                kept += 1
            digits = digits * np.uint64(10) + np.uint64(digit)
            if point:
                exponent -= 1
        elif np.int64(text[i]) == DOT and not point:
            point = True
        else:
            break
        i += 1
    fine = seen > 0 and kept <= 19
    if i < end and (np.int64(text[i]) | 32) == 101:
        i += 1
        down = False
        if i < end and (np.int64(text[i]) == MINUS or np.int64(text[i]) == PLUS):
            down = np.int64(text[i]) == MINUS
            i += 1
        power = np.int64(0)
        start = i
        while i < end and np.int64(text[i]) >= 48 and np.int64(text[i]) <= 57 and power < 100000:
            power = power * 10 + np.int64(text[i]) - 48
            i += 1
        fine = fine and i > start
        exponent += -power if down else power
    return fine and i == end, negative, digits, exponent


@njit
def store_float(text: Any, first: Any, end: Any, at: Any, cells: Any, floats: Any, powers: Any, tens: Any) -> Any:
    """Parse text[first:end] as a number and store it in floats[at]. Returns False if the rounding is uncertain.

    Args:
        text: bytes.
        first, end: the range of the number.
        at: index of the result.
        cells, floats: the same memory, as int64 and as float64.
        powers, tens: see `vlang.runtime.graph.edges.powers`.
    """
    fine, negative, digits, exponent = _decimal(text, first, end)
    if not fine:
        return False
    while exponent < 0 and digits > np.uint64(9007199254740992) and digits % np.uint64(10) == np.uint64(0):
        digits = digits // np.uint64(10)  # without the last zero, 1234567890123456.0 is exact
        exponent += 1
    if digits <= np.uint64(9007199254740992) and exponent >= -22 and exponent <= 22:
        # Clinger's fast path: both operands are exact, so one operation rounds once.
        value = np.float64(np.int64(digits))
        value = value * tens[exponent] if exponent >= 0 else value / tens[-exponent]
        floats[at] = -value if negative else value
        return True
    if digits == np.uint64(0):
        floats[at] = -0.0 if negative else 0.0
        return True
    if exponent < -342 or exponent > 308:
        return False
    certain, bits = _round(digits, exponent, powers)
    cells[at] = bits | np.int64(-9223372036854775808) if negative else bits
    return certain
