"""Code of integer arithmetic: plain instructions if every result fits the type, otherwise saturating functions.

`+ - *` and unary minus give the exact value if the type can hold it as a finite value, otherwise `inf` or `-inf`
(language.md section 6). The saturating functions of both targets clamp the result. If an infinite operand must decide
the result, the code also tests this operand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.ir.forms.range_arithmetic import Range, whole
from vlang.types import Scalar, Type

if TYPE_CHECKING:
    from vlang.emit.shared.values.formulas import Writer

__all__ = ["added", "multiplied", "narrowed", "negated", "quotient", "subtracted"]


def negated(writer: Writer, type_: Scalar, a: str) -> str:
    """Code of -a. Infinities change their sign. For an unsigned type, the result is 0."""
    if type_.kind == "uint":
        return writer.d.constant(0, type_)
    high, low = writer.bounds(type_)
    d = writer.d
    return d.select(f"{a} == {high}", low, d.select(f"{a} == {low}", high, d.negative(type_, a)))


def added(writer: Writer, type_: Scalar, a: str, b: str, left: Range, right: Range,
          finite: tuple[bool, bool] = (False, False)) -> str:
    """Code of a + b.

    Args:
        writer: The writer of the function.
        type_: The integer type of the operands and of the sum.
        a: The left operand.
        b: The right operand.
        left: The range of a.
        right: The range of b.
        finite: For each operand, whether it is known to be finite. A plain sum of finite operands needs no test for
            infinities.
    """
    if type_.kind == "uint":
        plain = left.high + right.high <= type_.highest
        return writer.d.arithmetic("+", type_, a, b) if plain else writer.d.saturated("add", type_, a, b)
    if _fits(left, right, type_) and not (left.down and right.up):
        return _plain(writer, "+", type_, a, b, finite)
    if left.low >= 0 and right.low >= 0:
        return writer.d.saturated("sizes", type_, a, b)
    high, low = writer.bounds(type_)
    ups = _tests((left.up and right.low < 0, a, high), (right.up and left.low < 0, b, high))
    downs = _tests((left.down and right.high > 0, a, low), (right.down and left.high > 0, b, low))
    return _absorbed(writer, type_, writer.d.saturated("add", type_, a, b), ups, downs)


def subtracted(writer: Writer, type_: Scalar, a: str, b: str, left: Range, right: Range,
               finite: tuple[bool, bool] = (False, False)) -> str:
    """Code of a - b; arguments as for `added`."""
    if type_.kind == "uint":
        plain = left.low >= right.high
        return writer.d.arithmetic("-", type_, a, b) if plain else writer.d.saturated("sub", type_, a, b)
    if _fits(left, _opposite(right), type_) and not (left.down and right.down):
        return _plain(writer, "-", type_, a, b, finite)
    high, low = writer.bounds(type_)
    ups = _tests((left.up and right.high > 0, a, high), (right.down and left.low < 0, b, low))
    downs = _tests((left.down and right.low < 0, a, low), (right.up and left.high >= 0, b, high))
    return _absorbed(writer, type_, writer.d.saturated("sub", type_, a, b), ups, downs)


def multiplied(writer: Writer, type_: Scalar, a: str, b: str, left: Range, right: Range) -> str:
    """Code of a * b; arguments as for `added`."""
    corners = [x * y for x in (left.low, left.high) for y in (right.low, right.high)]
    far = left.up or left.down or right.up or right.down
    if not far and type_.lowest <= min(corners) and max(corners) <= type_.highest:
        return writer.d.arithmetic("*", type_, a, b)
    product = writer.d.saturated("mul", type_, a, b)
    if type_.kind == "uint":
        return product
    minus = writer.d.constant(-1, type_)
    high, _ = writer.bounds(type_)  # without a test, only `inf` * -1 would give a finite product
    tests = [f"({writer.d.both(f'({x} == {high})', f'({y} == {minus})')})"
             for x, y, first, second in ((a, b, left, right), (b, a, right, left)) if first.up and second.has(-1)]
    return _absorbed(writer, type_, product, [], tests) if tests else product


def quotient(writer: Writer, type_: Scalar, a: str, b: str, left: Range, right: Range) -> str:
    """Code of a // b for integers: the result is 0 for b = 0, and `inf` for the least value divided by -1.

    Args:
        writer: The writer of the function.
        type_: The type of operands and result.
        a: The name of the first operand.
        b: The name of the second operand.
        left: The range of a.
        right: The range of b.
    """
    name = "int" if type_.kind == "int" else "uint"
    plain = writer.d.convert(type_, f"{name}_floordiv({a}, {b})")
    if not (left.down and right.has(-1)):
        return plain
    high, low = writer.bounds(type_)
    least = writer.name(writer.d.both(f"({a} == {low})", f"({b} == {writer.d.constant(-1, type_)})"))
    return writer.d.select(least, high, f"({plain})")


def narrowed(writer: Writer, name: str, source: Scalar, target: Scalar, known: Range | None) -> str:
    """Return code that converts an integer to a narrower type. A value that does not fit becomes the nearest value of
    the type.

    Args:
        writer: The writer of the function.
        name: The name of the integer.
        source: The type of the integer.
        target: The type of the result.
        known: The range of the integer; None if it may have any value of its type.
    """
    d, plain, range_ = writer.d, writer.d.convert(target, name), known or whole(source)
    assert range_ is not None
    text = plain
    if range_.low < target.lowest:
        text = d.select(f"{name} <= {d.constant(max(target.lowest, source.lowest), source)}",
                        d.constant(target.lowest, target), text)
    if range_.high > target.highest or range_.up:  # also if the value for `inf` is finite in an unsigned type
        text = d.select(f"{name} >= {d.constant(min(target.highest, source.highest), source)}",
                        d.constant(target.highest, target), f"({text})" if text != plain else text)
    return text


def _opposite(a: Range) -> Range:
    """Return the range of -a. Infinities count as the least and the largest value of the type."""
    return Range(a.type.lowest if a.up else -a.high, a.type.highest if a.down else -a.low, a.type)


def _fits(a: Range, b: Range, type_: Type) -> bool:
    """Return whether the sum of two finite values always fits the type."""
    left, right = a.finite, b.finite
    if left is None or right is None or not isinstance(type_, Scalar):
        return True
    return type_.lowest <= left[0] + right[0] and left[1] + right[1] <= type_.highest


def _plain(writer: Writer, sign: str, type_: Scalar, a: str, b: str, finite: tuple[bool, bool]) -> str:
    """Return code of a sum or difference that fits the type for finite operands. An infinite operand is the result."""
    d, text = writer.d, writer.d.arithmetic(sign, type_, a, b)
    high, low = writer.bounds(type_)
    if not finite[1]:
        other = b if sign == "+" else writer.name(negated(writer, type_, b))
        text = d.select(d.either(f"({b} == {high})", f"({b} == {low})"), other, text)
    return text if finite[0] else d.select(d.either(f"({a} == {high})", f"({a} == {low})"), a, f"({text})")


def _tests(*cases: tuple[bool, str, str]) -> list[str]:
    """Return code of the needed tests. Each test says whether an operand is infinite."""
    return [f"({name} == {end})" for needed, name, end in cases if needed]


def _absorbed(writer: Writer, type_: Scalar, text: str, ups: list[str], downs: list[str]) -> str:
    """Return code of a value that is `inf` if a test in `ups` is true, `-inf` if a test in `downs` is true, and
    otherwise `text`.
    """
    d = writer.d
    high, low = writer.bounds(type_)
    for tests, end in ((downs, low), (ups, high)):
        if tests:
            text = d.select(writer.name(d.either(*tests) if len(tests) > 1 else tests[0]), end, writer.name(text))
    return text
