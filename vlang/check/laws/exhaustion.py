"""Tests associativity on all triples of operands of a small type (language.md section 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.check.laws.evaluate import Array, Operand

__all__ = ["at", "broken_triples"]

Join = Callable[[Operand, Operand], tuple[Operand, Array]]
"""f for arrays of operands: the results, and where (bool) a result is unknown."""
Places = NDArray[Any]


def at(values: Operand, places: Places) -> Operand:
    """Return the values at some places of an array; a scalar has the same value at every place."""
    if isinstance(values, tuple):
        return tuple(part if part.ndim == 0 else part[places] for part in values)
    return values if values.ndim == 0 else values[places]


def broken_triples(
    join: Join, differ: Callable[[Operand, Operand], Array], values: Operand, n: int
) -> tuple[Places, Places, Places] | None:
    """Find the first a, in the order of the values, for which f(f(a, b), c) and f(a, f(b, c)) differ for some b and c.

    f(a, b) has few distinct values d. Tables of f(d, c) and f(a, d) replace evaluations of all n^3 triples.

    Args:
        join: f.
        differ: returns for each element of two arrays of results whether they differ.
        values: all n values of the operands.
        n: the number of values, at most 256.

    Returns:
        Three arrays of equal length: the places of a, b and c in `values`, for every b and c for which the two results
        differ. None if f is associative for all operands with known results.
    """
    every = np.arange(n)
    inner, unknown = join(at(values, np.repeat(every, n)), at(values, np.tile(every, n)))
    first, code = _distinct(inner, n * n)
    code = code.reshape(n, n)
    d = len(first)
    left = _Table(join, at(values, every), at(inner, first), n, d, outer_first=True)
    right = _Table(join, at(values, every), at(inner, first), n, d, outer_first=False)
    unknown = np.broadcast_to(unknown, (n * n,)).reshape(n, n)
    for a in range(n):
        in_left, in_right = code[a][:, None] * n + every, a * d + code  # [b, c]
        wrong = differ(at(left.results, in_left), at(right.results, in_right))
        wrong = wrong & ~(unknown[a][:, None] | unknown | left.unknown[in_left] | right.unknown[in_right])
        if wrong.any():
            b, c = np.nonzero(wrong)
            return np.full(len(b), a), b, c
    return None


class _Table:
    """The results of f for all pairs of one of the d distinct values of f and one of the n operands, row by row.

    Attributes:
        results: f(d, c) in d rows of n values if `outer_first`, otherwise f(a, d) in n rows of d values.
        unknown: bool, whether a result is unknown.
    """

    def __init__(self, join: Join, values: Operand, distinct: Operand, n: int, d: int, *, outer_first: bool) -> None:
        rows, columns = (distinct, values) if outer_first else (values, distinct)
        height, width = (d, n) if outer_first else (n, d)
        self.results, unknown = join(at(rows, np.repeat(np.arange(height), width)),
                                     at(columns, np.tile(np.arange(width), height)))
        self.unknown = np.broadcast_to(unknown, (n * d,))


def _distinct(values: Operand, count: int) -> tuple[Places, Places]:
    """Return the first place of each distinct value, and for each value the number of the distinct value that it
    equals.
    """
    parts = values if isinstance(values, tuple) else (values,)
    columns = np.stack([np.broadcast_to(part, (count,)).astype(np.int64) for part in parts])
    _, first, code = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    return first, code.reshape(-1)
