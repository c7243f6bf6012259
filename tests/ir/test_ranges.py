"""Ranges implied by a comparison: exactly the values of one side that satisfy it with some value of the other."""

from __future__ import annotations

import itertools
import operator

import pytest

from vlang.ir.forms.range_arithmetic import Range, compared
from vlang.types import I32

OPERATORS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
             "ne": operator.ne}
SMALL = [(low, high) for low in range(4) for high in range(low, 4)]


def test_both_ends_are_in_a_range() -> None:
    for low, high in SMALL:
        assert [x for x in range(-2, 6) if Range(low, high, I32).has(x)] == list(range(low, high + 1))


@pytest.mark.parametrize("op", OPERATORS)
def test_compared_values(op: str) -> None:
    for a, b in itertools.product(SMALL, SMALL):
        left = range(a[0], a[1] + 1)
        found = [x for x in left if any(OPERATORS[op](x, y) for y in range(b[0], b[1] + 1))]
        if op == "ne" and found and left[0] < b[0] < left[-1]:
            found = list(left)  # excluding a value in the middle does not change the ends
        want = (found[0], found[-1]) if found else a
        got = compared(Range(*a, I32), op, Range(*b, I32))
        assert (got.low, got.high) == want, (a, op, b)
