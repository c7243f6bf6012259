"""Ranges of integers, and the ranges of results of operations on them."""

from __future__ import annotations

from vlang.records import dataclass
from vlang.types import Scalar, Tuple, Type, Vector

__all__ = [
    "Found", "Range", "arithmetic", "both", "compared", "converted", "difference", "limited", "parts", "product",
    "whole", "widened",
]


@dataclass(frozen=True)
class Range:
    """The integers from `low` to `high`, of the type `type`."""

    low: int
    high: int
    type: Scalar

    def joined(self, other: Range | None) -> Range | None:
        """The smallest range that contains this range and `other`; None if `other` is None."""
        return other and Range(min(self.low, other.low), max(self.high, other.high), self.type)

    @property
    def up(self) -> bool:
        """Whether the range contains `inf`."""
        return self.type.kind == "int" and self.high == self.type.highest

    @property
    def down(self) -> bool:
        """Whether the range contains `-inf`."""
        return self.type.kind == "int" and self.low == self.type.lowest

    @property
    def finite(self) -> tuple[int, int] | None:
        """The least and the largest finite value; None if there is none."""
        low, high = self.low + self.down, self.high - self.up
        return (low, high) if low <= high else None

    def has(self, value: int) -> bool:
        """Return whether the range contains a value."""
        return self.low <= value <= self.high

    @property
    def size(self) -> int:
        """The largest absolute value in the range."""
        return max(abs(self.low), abs(self.high))


Found = tuple[Range | None, ...]
"""One range per component of a tuple, otherwise one range; None in place of a range for values that are no integers."""


def whole(type_: Type) -> Range | None:
    """The range of a scalar type, or of the components of a vector; None if they are not integers."""
    item = type_.item if isinstance(type_, Vector) else type_
    return Range(item.lowest, item.highest, item) if isinstance(item, Scalar) and item.kind in ("int", "uint") else None


def parts(type_: Type) -> Found:
    """Return the ranges of the components of a tuple type. Any other type has a single range."""
    return tuple(map(whole, type_.items)) if isinstance(type_, Tuple) else (whole(type_),)


def limited(low: int, high: int, type_: Scalar) -> Range:
    """The range from `low` to `high`, clamped to a type."""
    low, high = (min(max(x, type_.lowest), type_.highest) for x in (low, high))
    return Range(low, high, type_)


def compared(a: Range, op: str, b: Range) -> Range:
    """Return the values x of range `a` for which `x op y` is true for some y of range `b`. If there is no such x,
    return `a`.
    """
    low, high = a.low, a.high
    if op in ("lt", "le", "eq"):
        high = min(high, b.high - (op == "lt"))
    if op in ("gt", "ge", "eq"):
        low = max(low, b.low + (op == "gt"))
    if op == "ne" and b.low == b.high:
        low, high = low + (low == b.low), high - (high == b.low)
    return Range(low, high, a.type) if low <= high else a


def both(a: Range | None, b: Range | None) -> Range | None:
    """The smallest range that contains both ranges; None if one of them is None."""
    return a and a.joined(b)


def widened(old: Found | None, new: Found) -> Found:
    """Return the range to use after a range has grown several times: each bound that grew becomes 0 or the bound of the
    type.
    """
    if old is None:
        return new
    result: list[Range | None] = []
    for a, b in zip(old, new, strict=True):
        if a is None or b is None:
            result.append(None)
            continue
        low = b.low if b.low == a.low else 0 if b.low >= 0 else b.type.lowest
        high = b.high if b.high == a.high else 0 if b.high <= 0 else b.type.highest
        result.append(Range(low, high, b.type))
    return tuple(result)


def converted(value: Range, type_: Scalar) -> Range:
    """A range converted to another type; infinities stay infinite."""
    return limited(type_.lowest if value.down else value.low, type_.highest if value.up else value.high, type_)


def _sum(a: Range, b: Range) -> Range:
    low, high = a.low + b.low, a.high + b.high
    return limited(a.type.lowest if a.down or b.down else low, a.type.highest if a.up or b.up else high, a.type)


def _negative(a: Range) -> Range:
    low = a.type.lowest if a.up else -a.high
    return limited(low, a.type.highest if a.down else -a.low, a.type)


def difference(a: Range, b: Range) -> Range:
    """The range of a - b."""
    if a.type.kind == "uint":
        return limited(a.low - b.high, a.high - b.low, a.type)
    return _sum(a, _negative(b))


def product(a: Range, b: Range) -> Range:
    """The range of a * b."""
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    low, high = min(corners), max(corners)
    if a.up or a.down or b.up or b.down:
        low = a.type.lowest if low < 0 else low
        high = a.type.highest if high > 0 else high
    return limited(low, high, a.type)


def _divided(a: Range, b: Range) -> Range:
    if a.low >= 0 and b.low >= 0:
        return Range(0, a.high, a.type)
    return limited(-a.size, a.size, a.type)


def _remainder(a: Range, b: Range) -> Range:
    if b.low >= 0:
        return Range(0, max(0, b.high - 1), a.type)
    return limited(-b.size, b.size, a.type)


def _bitwise(op: str, a: Range, b: Range, kind: Range) -> Range:
    if a.low < 0 or b.low < 0:
        return kind
    if op == "bitand":
        return Range(0, min(a.high, b.high), a.type)
    return Range(0, (1 << max(a.high, b.high).bit_length()) - 1, a.type)


def arithmetic(op: str, args: list[Range], kind: Range) -> Range:
    """The range of an operation on integers of one type.

    Args:
        kind: the range of all values of the type.
    """
    a, b = args[0], args[-1]
    if op == "add":
        return _sum(a, b)
    if op == "sub":
        return difference(a, b)
    if op == "mul":
        return product(a, b)
    if op == "neg":
        return _negative(a)
    if op == "abs":
        return a if a.low >= 0 else limited(0, kind.type.highest if a.down else max(a.high, -a.low), a.type)
    if op in ("min", "max"):
        pick = min if op == "min" else max
        return Range(pick(a.low, b.low), pick(a.high, b.high), a.type)
    if op == "floordiv":
        return _divided(a, b)
    if op == "mod":
        return _remainder(a, b)
    if op in ("bitor", "bitand", "bitxor"):
        return _bitwise(op, a, b, kind)
    if op == "shr" and a.low >= 0:
        return Range(0, a.high, a.type)
    if op in ("pow", "dot", "vsum") and a.low >= 0 and b.low >= 0:
        return Range(0, kind.high, kind.type)
    return kind
