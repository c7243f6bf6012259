"""Integer arithmetic of the reference interpreter (language.md section 6). A result is exact, or infinite if it does
not fit.

Values are computed with Python's integers, which never overflow, and are converted once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np

from tests.reference.values import Array, dtype
from tests.reference.values import exactly as exact
from vlang.types import Scalar

__all__ = ["NEGATED", "SATURATING", "WRAPPING", "clamped"]

Elementwise = Callable[[Array, Array, Scalar], Array]


def clamped(numbers: Array, scalar: Scalar) -> Array:
    """Return exact integers clamped to the range of an integer type."""
    flat = [min(max(int(x), scalar.lowest), scalar.highest) for x in np.asarray(numbers, object).ravel()]
    return np.array(flat, dtype(scalar)).reshape(np.shape(numbers))


def _ends(a: Array, scalar: Scalar) -> tuple[Array, Array]:
    """Return two masks: the elements that are `inf`, and the elements that are `-inf`."""
    if scalar.kind != "int":
        return np.zeros(np.shape(a), np.bool_), np.zeros(np.shape(a), np.bool_)
    return np.asarray(a == scalar.highest), np.asarray(a == scalar.lowest)


def _with_infinite(numbers: Array, high: Array, low: Array, scalar: Scalar) -> Array:
    """Return exact integers converted to `scalar`. An element is `inf` if `high` is true for it, and otherwise `-inf`
    if `low` is true for it.
    """
    result = np.where(low, np.array(scalar.lowest, dtype(scalar)), clamped(numbers, scalar))
    return np.where(high, np.array(scalar.highest, dtype(scalar)), result)


def _add(a: Array, b: Array, scalar: Scalar) -> Array:
    (a_high, a_low), (b_high, b_low) = _ends(a, scalar), _ends(b, scalar)
    return _with_infinite(exact(a) + exact(b), a_high | b_high, a_low | b_low, scalar)


def _subtract(a: Array, b: Array, scalar: Scalar) -> Array:
    (a_high, a_low), (b_high, b_low) = _ends(a, scalar), _ends(b, scalar)
    return _with_infinite(exact(a) - exact(b), a_high | b_low, a_low | b_high, scalar)


def _multiply(a: Array, b: Array, scalar: Scalar) -> Array:
    (a_high, a_low), (b_high, b_low) = _ends(a, scalar), _ends(b, scalar)
    numbers, far = exact(a) * exact(b), a_high | a_low | b_high | b_low
    positive, negative = np.asarray(numbers > 0, np.bool_), np.asarray(numbers < 0, np.bool_)
    return _with_infinite(numbers, far & positive, far & negative, scalar)


def _negated(a: Array, scalar: Scalar) -> Array:
    return _subtract(np.zeros_like(a), a, scalar)


def _floor_divide(a: Array, b: Array, scalar: Scalar) -> Array:
    """Return `a // b`; 0 for b = 0. Infinities are treated as the integers that represent them."""
    return clamped(np.where(b == 0, 0, exact(a) // exact(np.where(b == 0, 1, b))), scalar)


def _modulo(a: Array, b: Array, scalar: Scalar) -> Array:
    return clamped(np.where(b == 0, 0, exact(a) % exact(np.where(b == 0, 1, b))), scalar)


def _wrapped(combine: Callable[[Array, Array], Array]) -> Elementwise:
    """Return the result of an operation modulo 2^bits. Infinities are treated as bit patterns."""

    def work(a: Array, b: Array, scalar: Scalar) -> Array:
        numbers = np.asarray(combine(exact(a), exact(b)), object)
        flat = [(int(x) - scalar.lowest) % (1 << scalar.bits) + scalar.lowest for x in numbers.ravel()]
        return np.array(flat, dtype(scalar)).reshape(numbers.shape)

    return work


def _power(times: Elementwise) -> Elementwise:
    """Return a power, computed by repeated `times`; 0 for a negative exponent."""

    def work(a: Array, b: Array, scalar: Scalar) -> Array:
        a, b = np.broadcast_arrays(a, b)
        result, base, left = np.ones_like(a), a.copy(), exact(b)
        while np.any(left > 0):
            odd = np.asarray((left > 0) & (left % 2 == 1), np.bool_)
            result = np.where(odd, times(result, base, scalar), result)
            base, left = times(base, base, scalar), left // 2
        return np.where(b < 0, np.asarray(0, a.dtype), result)

    return work


_times_wrapped = _wrapped(operator.mul)
_minus_wrapped = _wrapped(operator.sub)
SATURATING: dict[str, Elementwise] = {
    "+": _add, "-": _subtract, "*": _multiply, "//": _floor_divide, "%": _modulo, "**": _power(_multiply),
}
WRAPPING: dict[str, Elementwise] = {
    **SATURATING, "+": _wrapped(operator.add), "-": _minus_wrapped, "*": _times_wrapped,
    "**": _power(_times_wrapped),
}
NEGATED: dict[bool, Callable[[Array, Scalar], Array]] = {
    False: _negated, True: lambda a, scalar: _minus_wrapped(np.zeros_like(a), a, scalar),
}
"""Unary minus: False -> saturating, True -> wrapping."""
