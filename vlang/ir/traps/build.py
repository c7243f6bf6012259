"""Short functions that build IR expressions for tests of values."""

from __future__ import annotations

from functools import reduce as fold

from vlang.ir.forms import forms as f
from vlang.types import BOOL, I64, VERTEX, Scalar, Tuple, Vector

__all__ = ["above", "below", "both", "can_be_infinite", "compare", "component", "down", "equal", "floating", "infinite",
           "is_none", "items", "nan", "no", "outside", "some", "up"]


def some(*tests: f.Expr) -> f.Expr:
    """Return an expression that is true if some test holds; without tests, the expression is false."""
    return fold(lambda a, b: f.Op(BOOL, "or", (a, b)), tests) if tests else f.Const(BOOL, False)


def both(*tests: f.Expr) -> f.Expr:
    """Return an expression that is true if every test holds; without tests, the expression is true."""
    return fold(lambda a, b: f.Op(BOOL, "and", (a, b)), tests) if tests else f.Const(BOOL, True)


def no(test: f.Expr) -> f.Expr:
    """An expression that is true if a test does not hold."""
    return f.Op(BOOL, "not", (test,))


def compare(op: str, a: f.Expr, b: f.Expr) -> f.Expr:
    """A comparison of two values of one type."""
    return f.Op(BOOL, op, (a, b))


def floating(value: f.Expr) -> bool:
    """Return whether a value is a float."""
    return isinstance(value.type, Scalar) and value.type.floating


def can_be_infinite(value: f.Expr) -> bool:
    """Return whether a value is a float or a signed integer."""
    return isinstance(value.type, Scalar) and value.type.kind in ("int", "float")


def infinite(value: f.Expr) -> f.Expr:
    """Return whether a float or a signed integer is `inf` or `-inf`."""
    assert isinstance(value.type, Scalar)
    if value.type.floating:
        return compare("eq", f.Op(value.type, "abs", (value,)), f.Const(value.type, float("inf")))
    return some(up(value), down(value))


def up(value: f.Expr) -> f.Expr:
    """Return whether a signed integer is `inf`."""
    assert isinstance(value.type, Scalar)
    return compare("eq", value, f.Const(value.type, value.type.highest))


def down(value: f.Expr) -> f.Expr:
    """Return whether a signed integer is `-inf`."""
    assert isinstance(value.type, Scalar)
    return compare("eq", value, f.Const(value.type, value.type.lowest))


def nan(value: f.Expr) -> f.Expr:
    """Return whether a float is NaN; false for other values."""
    return compare("ne", value, value) if floating(value) else f.Const(BOOL, False)


def is_none(value: f.Expr) -> f.Expr:
    """Return whether a vertex is `none`."""
    return compare("eq", value, f.Const(VERTEX, None))


def equal(value: f.Expr, number: int) -> f.Expr:
    """Return whether a number equals `number`."""
    return compare("eq", value, _number(value, number))


def below(value: f.Expr, number: int) -> f.Expr:
    """Return whether an integer is less than `number`."""
    return compare("lt", value, _number(value, number))


def above(value: f.Expr, number: int) -> f.Expr:
    """Return whether an integer is greater than `number`."""
    return compare("gt", value, _number(value, number))


def outside(value: f.Expr, low: int, high: int) -> f.Expr:
    """Return a test whether an integer is less than `low` or greater than `high`. A bound that the type cannot hold is
    left out.
    """
    assert isinstance(value.type, Scalar)
    tests = [below(value, low)] if value.type.lowest < low else []
    return some(*tests, *([above(value, high)] if value.type.highest > high else []))


def _number(value: f.Expr, number: int) -> f.Const:
    assert isinstance(value.type, Scalar)
    return f.Const(value.type, float(number) if value.type.floating else number)


def component(value: f.Expr, number: int) -> f.Expr:
    """Return component `number` of a vector; for a scalar, return the scalar itself."""
    if not isinstance(value.type, Vector):
        return value
    if isinstance(value, f.Op) and value.op == "broadcast":
        return value.args[0]
    if isinstance(value, f.Op) and value.op == "vector":
        return value.args[number]
    return f.Op(value.type.item, "component", (value, f.Const(I64, number)))


def items(value: f.Expr) -> tuple[f.Expr, ...]:
    """Return the scalars of a value: the scalar itself, the components of a vector, or the items of a tuple."""
    if isinstance(value.type, Vector):
        return tuple(component(value, k) for k in range(value.type.size))
    if isinstance(value.type, Tuple):
        return tuple(f.Op(item, "item", (value,), k) for k, item in enumerate(value.type.items))
    return (value,)
