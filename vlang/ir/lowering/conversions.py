"""The types of lowered expressions: literals and counters take the type of their context, and conversions become casts.

During lowering, literals and counters (`N`, `iteration`) are weak: they have the types INTEGER and NUMBER of
`vlang.types`. `fit` converts an expression to the type that the context requires. The result contains no weak type.
"""

from __future__ import annotations

import math
from dataclasses import replace

from vlang.check.tables.typing import unified
from vlang.ir.forms import forms as f
from vlang.times import time_of
from vlang.types import F16, F32, F64, I8, I64, INTEGER, NUMBER, U64, Scalar, Tuple, Type, Vector

__all__ = ["computing", "fit", "float_of", "fold", "meet", "seed", "weak", "widest"]


def weak(type_: Type) -> bool:
    """Return whether a type is weak, so that the context of the expression decides its final type."""
    if isinstance(type_, Tuple):
        return any(item.weak for item in type_.items)
    if isinstance(type_, Vector):
        return type_.item.weak
    return isinstance(type_, Scalar) and type_.weak


def meet(a: Type, b: Type) -> Type:
    """Return the common type of two values that are compared, or of the two alternatives of a conditional.

    Raises TypeError for values without a common type; the checker has excluded such values.
    """
    found = unified(a, b)
    if found is None:
        raise TypeError(f"{a} and {b} have no common type")
    return found


def computing(type_: Type) -> Type:
    """Return the type for arithmetic on a stored value: f32 for an f16, which is a storage type only."""
    if isinstance(type_, Vector):
        return Vector(F32, type_.size) if type_.item == F16 else type_
    if isinstance(type_, Tuple):
        return Tuple(tuple(F32 if item == F16 else item for item in type_.items))
    return F32 if type_ == F16 else type_


def widest(type_: Type) -> Type:
    """A type with 64-bit integers in place of narrower integers."""
    if isinstance(type_, Tuple):
        unsigned = U64 in type_.items
        return Tuple(tuple(_wide(item, unsigned) for item in type_.items))
    return _wide(type_, False) if isinstance(type_, Scalar) else type_


def _wide(item: Scalar, unsigned: bool) -> Scalar:
    """Return the 64-bit type for an integer type: i64, or u64 for an unsigned type if `unsigned`. Floats keep their
    type.
    """
    if item.kind == "uint":
        return U64 if unsigned or item == U64 else I64
    return I64 if item.kind == "int" else item


def fit(expr: f.Expr, place: Type) -> f.Expr:
    """Convert `expr` to the final type `place`. Weak parts get their final types, and other parts are cast."""
    if expr.type == place:
        return expr
    if isinstance(place, Vector):
        return _fit_vector(expr, place)
    if isinstance(place, Tuple):
        return _fit_tuple(expr, place)
    if isinstance(place, Scalar) and isinstance(expr.type, Scalar):
        if expr.type.weak:
            return _concrete(expr, place)
        if isinstance(expr, f.Const):
            return _cast_const(expr, place)
    return f.Op(place, "cast", (expr,))


def fold(op: str, left: f.Expr, right: f.Expr) -> f.Const | None:
    """The exact value of an operator on two finite integer literals; None if the value is not known exactly."""
    if not (isinstance(left, f.Const) and isinstance(right, f.Const) and left.type == right.type == INTEGER):
        return None
    a, b = left.value, right.value
    if not (isinstance(a, int) and isinstance(b, int)):
        return None
    if op == "add":
        return f.Const(INTEGER, a + b)
    if op == "sub":
        return f.Const(INTEGER, a - b)
    if op == "mul":
        return f.Const(INTEGER, a * b)
    if op in ("floordiv", "mod") and b != 0:
        return f.Const(INTEGER, a // b if op == "floordiv" else a % b)
    if op == "pow" and 0 <= b <= 64:
        return f.Const(INTEGER, a**b)
    if op == "shl" and 0 <= b < 7 and 0 <= a << b <= I8.highest:  # larger results depend on the final width
        return f.Const(INTEGER, a << b)
    return None


def _fit_vector(expr: f.Expr, place: Vector) -> f.Expr:
    if not isinstance(expr.type, Vector):
        return f.Op(place, "broadcast", (fit(expr, place.item),))
    if isinstance(expr, f.Op) and expr.op == "vector":
        return f.Op(place, "vector", tuple(fit(arg, place.item) for arg in expr.args))
    if isinstance(expr, f.Op) and expr.op == "select":
        return replace(expr, type=place, args=(expr.args[0], *(fit(arg, place) for arg in expr.args[1:])))
    return f.Op(place, "cast", (expr,))


def _fit_tuple(expr: f.Expr, place: Tuple) -> f.Expr:
    if isinstance(expr, f.Op):
        if expr.op == "tuple":
            return f.Op(place, "tuple", tuple(map(fit, expr.args, place.items)))
        if weak(expr.type) and expr.op in ("min", "max", "select"):
            test = 1 if expr.op == "select" else 0
            return replace(expr, type=place, args=expr.args[:test] + tuple(fit(a, place) for a in expr.args[test:]))
    assert isinstance(expr.type, Tuple)
    items = (f.Op(type_, "item", (expr,), index) for index, type_ in enumerate(expr.type.items))
    return f.Op(place, "tuple", tuple(map(fit, items, place.items)))


def _concrete(expr: f.Expr, place: Scalar) -> f.Expr:
    """Give a weak scalar its final type.

    An integer expression with a counter is computed in i64 and converted once. Therefore `N * (N - 1) / 2` does not
    overflow before its conversion to a float.
    """
    if isinstance(expr, f.Const):
        return f.Const(place, _placed(expr.value, place))
    if isinstance(expr, f.Text):
        return f.Const(place, time_of(expr.text, place.name)) if place.kind == "time" else replace(expr, type=place)
    if isinstance(expr, f.GraphValue):
        return fit(replace(expr, type=I64), place)
    assert isinstance(expr, f.Op)
    if expr.op == "select":
        return replace(expr, type=place, args=(expr.args[0], *(fit(arg, place) for arg in expr.args[1:])))
    counts = any(isinstance(e, f.GraphValue) and e.type == INTEGER for e in f.walk(expr))
    inside = I64 if expr.type == INTEGER and (counts or place.floating) else place
    args = tuple(a if expr.op in ("pow", "wrappow", "exactpow") and k == 1 and not weak(a.type) else fit(a, inside)
                 for k, a in enumerate(expr.args))
    return fit(replace(expr, type=inside, args=args), place)


def _placed(value: bool | int | float | None, place: Scalar) -> bool | int | float | None:
    """Return the value of a literal in its final type. `inf` and values that are too large become the largest integer
    of the type.
    """
    if isinstance(value, bool) or value is None:
        return value
    if place.floating:
        return float(value)
    if isinstance(value, int) or math.isinf(value):
        return int(min(max(value, place.lowest), place.highest))
    return value


def seed(expr: f.Expr) -> f.Expr:
    """Convert an integer to the seed of a random function: a u64, modulo 2^64."""
    if isinstance(expr, f.Const) and expr.type == INTEGER and isinstance(expr.value, int):
        return f.Const(U64, expr.value % (1 << 64))
    if weak(expr.type):
        expr = fit(expr, I64)
    return expr if expr.type == U64 else f.Op(U64, "cast", (expr,), "wrap")


def _cast_const(expr: f.Const, place: Scalar) -> f.Expr:
    """Fold the cast of an integer constant if the value does not change. The cast of `inf` is not folded."""
    source, value = expr.type, expr.value
    assert isinstance(source, Scalar)
    if source.integral and isinstance(value, int) and place.numeric and value not in (source.lowest, source.highest):
        exact = abs(value) < 1 << 24 if place.floating else place.lowest <= value <= place.highest
        if exact:
            return f.Const(place, _placed(value, place))
    return f.Op(place, "cast", (expr,))


def float_of(type_: Type, precision: int) -> Type:
    """Return the type in which `/`, `sqrt` and similar functions compute: floats keep their type, and integers become
    `float`.
    """
    if isinstance(type_, Vector):
        item = float_of(type_.item, precision)
        assert isinstance(item, Scalar)
        return Vector(item, type_.size)
    assert isinstance(type_, Scalar)
    if type_.weak:
        return NUMBER
    return type_ if type_.floating else (F64 if precision == 64 else F32)
