"""The ranges of integers after a comparison and after arithmetic."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

import pytest

from vlang.ir.forms.range_arithmetic import Range, arithmetic, compared, whole
from vlang.ir.forms.ranges import SIZES, sizes_of
from vlang.types import I32

OPERATORS = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
             "ne": operator.ne}
SMALL = [(low, high) for low in range(4) for high in range(low, 4)]


def test_both_ends_are_in_a_range() -> None:
    for low, high in SMALL:
        assert [x for x in range(-2, 6) if Range(low, high, I32).has(x)] == list(range(low, high + 1))


@pytest.mark.parametrize("op", OPERATORS)
def test_compared_values(op: str) -> None:
    """The result has exactly the values of one side that satisfy the comparison with some value of the other side."""
    for a, b in itertools.product(SMALL, SMALL):
        left = range(a[0], a[1] + 1)
        found = [x for x in left if any(OPERATORS[op](x, y) for y in range(b[0], b[1] + 1))]
        if op == "ne" and found and left[0] < b[0] < left[-1]:
            found = list(left)  # excluding a value in the middle does not change the ends
        want = (found[0], found[-1]) if found else a
        got = compared(Range(*a, I32), op, Range(*b, I32))
        assert (got.low, got.high) == want, (a, op, b)


SIGNED = [(low, high) for low in range(-3, 4) for high in range(low, 4)]
EXACT: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "min": min, "max": max,
}  # fmt: skip
WITHIN: dict[str, Callable[[int, int], int]] = {
    "floordiv": operator.floordiv, "mod": operator.mod, "bitor": operator.or_, "bitand": operator.and_,
    "bitxor": operator.xor,
}  # fmt: skip


@pytest.mark.parametrize("op", [*EXACT, *WITHIN])
def test_arithmetic(op: str) -> None:
    """Ranges contain every result. For the operations in EXACT, both limits of a range are results of the operation.

    Other operations on non-negative ranges have non-negative ranges.
    """
    all_of = whole(I32)
    assert all_of is not None
    act = {**EXACT, **WITHIN}[op]
    for a, b in itertools.product(SIGNED, SIGNED):
        pairs = itertools.product(range(a[0], a[1] + 1), range(b[0], b[1] + 1))
        found = [act(x, y) for x, y in pairs if op not in ("floordiv", "mod") or y != 0]
        got = arithmetic(op, [Range(*a, I32), Range(*b, I32)], all_of)
        assert not found or (got.low <= min(found) and max(found) <= got.high), (op, a, b)
        if op in EXACT:
            assert (got.low, got.high) == (min(found), max(found)), (op, a, b)
        elif a[0] >= 0 and b[0] >= 0:
            assert (got.low, got.high < 4) == (0, True), (op, a, b)


def test_a_graph_of_the_largest_size_of_a_class_is_in_the_class() -> None:
    for size, larger in itertools.pairwise(SIZES):
        assert sizes_of(size.vertices, size.edges) == size
        assert sizes_of(size.vertices + 1, 0) == sizes_of(0, size.edges + 1) == larger
