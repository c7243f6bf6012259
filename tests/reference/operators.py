"""Operators and functions of the reference interpreter (language.md sections 6 and 8).

language.md leaves some choices to this module. A shift by less than 0, or by at least the width of the type, gives 0.
For `>>` of a negative number, such a shift gives -1. An integer to a negative power is 0. Float `//` is the floor of
the quotient; float `%` is exact and has the sign of the divisor.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from tests.reference.integers import NEGATED, SATURATING, WRAPPING
from tests.reference.values import (
    Array,
    Value,
    computed,
    concrete,
    convert,
    counter,
    definite,
    dtype,
    elements,
    elements_as,
    folded_literals,
    item,
    literal_number,
    meet,
    operand,
    tuple_of,
)
from vlang.types import (
    BOOL,
    F32,
    F64,
    I64,
    INTEGER,
    NUMBER,
    TEXT,
    U64,
    VERTEX,
    Matrix,
    Scalar,
    Tuple,
    Type,
    Vector,
    common,
    defaulted,
    scalar_named,
)

Elementwise = Callable[[Array, Array, Scalar], Array]


# ------------------------------------------------------------------ integers and floats


def negated(a: Array, scalar: Scalar, wrap: bool = False) -> Array:
    """Return the result of unary minus. Unary minus swaps `inf` and `-inf`, which are not negatives of each other in
    two's complement.
    """
    return -a if scalar.floating else NEGATED[wrap](a, scalar)


def _float_modulo(a: Array, b: Array) -> Array:
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)


def _shift(a: Array, b: Array, scalar: Scalar, left: bool) -> Array:
    good = (b >= 0) & (b < scalar.bits)
    by = np.where(good, b, 0).astype(a.dtype)
    if left:
        return np.where(good, np.left_shift(a, by), np.asarray(0, a.dtype))
    gone = np.where(a < 0, np.asarray(-1).astype(a.dtype), np.asarray(0, a.dtype))
    return np.where(good, np.right_shift(a, by), gone)


_FLOATS: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.true_divide, "//": lambda a, b: np.floor(a / b),
    "%": _float_modulo, "**": np.power,
}
_BITS: dict[str, Elementwise] = {
    "<<": lambda a, b, s: _shift(a, b, s, left=True),
    ">>": lambda a, b, s: _shift(a, b, s, left=False),
    "|": lambda a, b, s: a | b,
    "&": lambda a, b, s: a & b,
    "^": lambda a, b, s: a ^ b,
}
_EXTREMES: dict[str, Elementwise] = {
    "min": lambda a, b, s: np.where(b < a, b, a),
    "max": lambda a, b, s: np.where(b > a, b, a),
}


def _elementwise(op: str, wrap: bool, a: Array, b: Array, scalar: Scalar) -> Array:
    """Return `a op b` in a scalar type.

    Args:
        wrap: whether integers wrap around.
    """
    if op in _BITS:
        return _BITS[op](a, b, scalar)
    if scalar.floating:
        return _FLOATS[op](a, b)
    return (WRAPPING if wrap else SATURATING)[op](a, b, scalar)


def subtracted(a: Array, b: Array, scalar: Scalar) -> Array:
    """Return `a - b`."""
    return _elementwise("-", False, a, b, scalar)


def _result_type(op: str, a: Type, b: Type, precision: int) -> Type:
    both = common(a, b)
    if both is None:
        raise TypeError(f"{a} {op} {b}")
    scalar = item(both)
    if op == "/" and scalar.integral:
        scalar = NUMBER if scalar == INTEGER else _float(precision)
        return Vector(scalar, both.size) if isinstance(both, Vector) else scalar
    if op in ("<<", ">>", "|", "&", "^") and not scalar.integral:
        raise TypeError(f"{a} {op} {b}: bits of something that is no integer")
    return both


def _float(precision: int) -> Scalar:
    return F64 if precision == 64 else F32


def binary(op: str, a: Value, b: Value, precision: int, wrap: bool = False) -> Value:
    """Return `a op b` for the arithmetic and bit operators.

    Args:
        wrap: whether `+ - *` of integers wrap around.
    """
    if not wrap:
        known = folded_literals(op, a, b)
        if known is not None:
            return known
    if item(a.type).kind == "time" or item(b.type).kind == "time":
        return _moved(op, a, b, precision)
    if op in ("<<", ">>") and not item(a.type).weak and not isinstance(b.type, Vector):
        return _shifted(op, a, definite(b, precision))
    type_ = _result_type(op, a.type, b.type, precision)
    return computed(type_, lambda s: _elementwise(op, wrap, operand(a, type_, s), operand(b, type_, s), s), a, b)


def _moved(op: str, a: Value, b: Value, precision: int) -> Value:
    """Return the difference of two times as an i64, or a time moved by an integer."""
    time = item(a.type) if item(a.type).kind == "time" else item(b.type)
    sides = [convert(side, time) if side.type == TEXT else side for side in (a, b)]
    numbers = [Value(I64, side.raw) if side.type == time else convert(side, I64) for side in sides]
    result = binary(op, numbers[0], numbers[1], precision)
    if all(side.type == time for side in sides):
        return result
    if op not in ("+", "-") or (op == "-" and sides[1].type == time):
        raise TypeError(f"{a.type} {op} {b.type}")
    return Value(time, result.raw)


def _shifted(op: str, a: Value, b: Value) -> Value:
    """Return the result of a shift. The result has the type of the left side; the right side is not converted."""
    if not (item(a.type).integral and item(b.type).integral):
        raise TypeError(f"{a.type} {op} {b.type}: bits of something that is no integer")
    by = b.raw[..., None] if isinstance(a.type, Vector) else b.raw
    return Value(a.type, _shift(a.raw, by, item(a.type), left=op == "<<"))


def negate(a: Value, wrap: bool = False) -> Value:
    """Return `-a`."""
    if not item(a.type).numeric:
        raise TypeError(f"- of {a.type}")
    number = literal_number(a)
    if number is not None:
        return counter(-number)
    return computed(a.type, lambda s: negated(elements(a, s), s, wrap), a)


# ------------------------------------------------------------------ comparison and choice


def truth(a: Value) -> Array:
    """Return the array of a bool value."""
    if item(a.type) != BOOL:
        raise TypeError(f"{a.type} where a bool is needed")
    return a.raw


def _pair(a: Value, b: Value, precision: int) -> tuple[Array, Array]:
    """Return both operands of a comparison as arrays of one type."""
    met = meet(a.type, b.type)
    type_ = I64 if met == INTEGER else concrete(met, precision)  # literals and counters alone: 64 bits
    left, right = elements_as(a, type_), elements_as(b, type_)
    if type_ == VERTEX:  # `none` is the largest
        left, right = (np.where(x < 0, np.iinfo(np.int64).max, x) for x in (left, right))
    return left, right


def _less(a: Value, b: Value, precision: int) -> Array:
    if not isinstance(a.type, Tuple):
        left, right = _pair(a, b, precision)
        return np.asarray(left < right)
    result = np.array(False)
    for x, y in reversed(list(zip(a.parts, b.parts, strict=True))):
        result = _less(x, y, precision) | (_equal(x, y, precision) & result)
    return result


def _equal(a: Value, b: Value, precision: int) -> Array:
    if isinstance(a.type, Tuple):
        parts = [_equal(x, y, precision) for x, y in zip(a.parts, b.parts, strict=True)]
        return np.asarray(functools.reduce(np.logical_and, parts))
    left, right = _pair(a, b, precision)
    same = np.asarray(left == right)
    return np.asarray(same.all(axis=-1)) if isinstance(a.type, Vector) or isinstance(b.type, Vector) else same


def _unordered(a: Value, b: Value, precision: int) -> Array:
    """Return the rows where an ordering comparison has a NaN operand, for which neither `<` nor `>=` holds."""
    if isinstance(a.type, Tuple) or not (item(a.type).floating or item(b.type).floating):
        return np.array(False)
    left, right = _pair(a, b, precision)
    return np.asarray(np.isnan(left) | np.isnan(right))


def compare(op: str, a: Value, b: Value, precision: int) -> Value:
    """Return `a op b` for comparisons. Vectors are equal if all components are equal."""
    if op in ("==", "!="):
        same = _equal(a, b, precision)
        return Value(BOOL, same if op == "==" else ~same)
    if op in (">", "<="):
        result = _less(b, a, precision)
    else:
        result = _less(a, b, precision)
    if op in ("<=", ">="):
        result = ~result & ~_unordered(a, b, precision)
    return Value(BOOL, result)


def differs(a: Array, b: Array) -> Array:
    """Return the rows where two arrays of one type differ. Two NaN are equal; a vector differs if any component
    differs.
    """
    different = np.asarray(a != b)
    if a.dtype.kind == "f":
        different &= ~(np.isnan(a) & np.isnan(b))
    return np.asarray(different.any(axis=-1)) if different.ndim > 1 else different


def choose(test: Array, yes: Value, no: Value) -> Value:
    """Return `yes if test else no` for every row."""
    type_ = meet(yes.type, no.type)
    if isinstance(type_, Tuple):
        return Value(type_, tuple(choose(test, y, n) for y, n in zip(yes.parts, no.parts, strict=True)))
    spread_test = test[..., None] if isinstance(type_, Vector) else test
    return computed(type_, lambda s: np.where(spread_test, operand(yes, type_, s), operand(no, type_, s)), yes, no,
                    apart=True)


def identity(name: str, scalar: Scalar) -> Array:
    """Return the value of the built-in reduction `name` without contributions, as an array of shape ()."""
    if scalar == VERTEX and name in ("min", "max"):
        return np.array(-1, np.int64)
    if name in ("min", "max"):
        low = name == "max"
        if scalar.floating:
            return np.array(-np.inf if low else np.inf, dtype(scalar))
        return np.array(scalar.lowest if low else scalar.highest, dtype(scalar))
    if name == "bitand":
        return np.array(scalar.highest if scalar.kind == "uint" else -1, dtype(scalar))
    ones = {"prod": 1, "all": True}
    return np.array(ones.get(name, 0), dtype(scalar))


def without_value(name: str, a: Value) -> Array:
    """Return the rows where a tuple has the identity of `name` as its first component.

    A tuple with this first component loses to all other tuples.
    """
    first = a.parts[0]
    return np.asarray(first.raw == identity(name, item(first.type)))


def extreme(name: str, a: Value, b: Value, precision: int) -> Value:
    """Return `min(a, b)` or `max(a, b)`: `a` unless `b` is strictly better."""
    type_ = meet(a.type, b.type)
    if isinstance(type_, Tuple):
        a, b = convert(a, type_), convert(b, type_)
        a, b = definite(a, precision), definite(b, precision)
        better = _less(b, a, precision) if name == "min" else _less(_none_first(a), _none_first(b), precision)
        second = ~without_value(name, b) & (without_value(name, a) | better)
        return choose(second, b, a)
    if item(type_) == BOOL:
        raise TypeError(f"{name} of bools")
    if type_ == VERTEX:
        left, right = np.broadcast_arrays(a.raw, b.raw)
        if name == "max":
            return Value(VERTEX, np.maximum(left, right))
        return Value(VERTEX, np.where((left < 0) | ((right >= 0) & (right < left)), right, left))
    return computed(type_, lambda s: _EXTREMES[name](operand(a, type_, s), operand(b, type_, s), s), a, b)


def _none_first(a: Value) -> Value:
    """Return a tuple with its vertices increased by one, so that `none` is the smallest."""
    return tuple_of(tuple(Value(VERTEX, p.raw + 1) if p.type == VERTEX else p for p in a.parts))


# ------------------------------------------------------------------ functions


_MATHS: dict[str, Callable[[Array], Array]] = {
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "log1p": np.log1p, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "log2": np.log2, "exp2": np.exp2,
}
_ROUNDED: dict[str, Callable[[Array], Array]] = {
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round,
}


def maths(name: str, a: Value, precision: int) -> Value:
    """Return the values of a function of one number, elementwise."""
    scalar = item(a.type)
    if name in _TYPES and (scalar.numeric or scalar == BOOL):
        return _converted(name, a, precision)
    if not scalar.numeric:
        raise TypeError(f"{name} of {a.type}")
    if name == "abs":
        return computed(a.type, lambda s: _absolute(elements(a, s), s), a)
    if name == "sign":
        return computed(a.type, lambda s: np.asarray(np.sign(elements(a, s))), a)
    if name == "isnan":
        return Value(BOOL, np.isnan(elements(definite(a, precision), F64)))
    if name in _ROUNDED:
        return _rounded(name, a, defaulted(INTEGER, precision), precision)
    if scalar.integral:
        scalar = NUMBER if scalar.weak else _float(precision)
    type_ = Vector(scalar, a.type.size) if isinstance(a.type, Vector) else scalar
    return computed(type_, lambda s: _MATHS[name](elements(a, s)), a)


def _absolute(a: Array, scalar: Scalar) -> Array:
    if scalar.kind == "int":
        return np.where(a < 0, negated(a, scalar), a)
    return np.abs(a)


_TYPES = frozenset({"int", "float", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"})


def _shaped(type_: Type, scalar: Scalar) -> Type:
    return Vector(scalar, type_.size) if isinstance(type_, Vector) else scalar


def _rounded(name: str, a: Value, target: Type, precision: int) -> Value:
    """Return a float rounded to an integer. Floats out of range give the nearest limit of the type, and NaN gives 0."""
    if item(a.type).integral:
        return definite(a, precision)
    assert isinstance(target, Scalar)
    data = _ROUNDED[name](elements(definite(a, precision), F64))
    inside = (data > target.lowest) & (data < target.highest)
    result = np.where(inside, data, 0).astype(dtype(target))
    result = np.where(data >= target.highest, np.asarray(target.highest, result.dtype), result)
    result = np.where(data <= target.lowest, np.asarray(target.lowest, result.dtype), result)
    return Value(_shaped(a.type, target), result)


def _converted(name: str, a: Value, precision: int) -> Value:
    """Return `int(x)`, `float(x)`, `i8(x)` and similar conversions: a fraction is cut off, and a bool becomes 0 or 1.
    """
    target = scalar_named(name, precision)
    if a.type == BOOL or (isinstance(a.type, Vector) and a.type.item == BOOL):
        return Value(_shaped(a.type, target), truth(a).astype(dtype(target)))
    if target.integral and not item(a.type).integral:
        return _rounded("trunc", a, target, precision)
    return Value(_shaped(a.type, target), elements(a, target))


def angle(y: Value, x: Value, precision: int) -> Value:
    """Return `atan2(y, x)`."""
    type_ = meet(y.type, x.type)
    scalar = item(type_)
    if scalar.integral:
        scalar = NUMBER if scalar.weak else _float(precision)
    type_ = _shaped(type_, scalar)
    return computed(type_, lambda s: np.arctan2(operand(y, type_, s), operand(x, type_, s)), y, x)


def folded(name: str, a: Value, precision: int) -> Value:
    """Return `sum(x)`, `min(x)` or `max(x)` of the components of one vector, reduced from the left."""
    assert isinstance(a.type, Vector)
    op = "+" if name == "sum" else name
    return functools.reduce(lambda x, y: (binary if name == "sum" else extreme)(op, x, y, precision), components(a))


def components(a: Value) -> list[Value]:
    """Return the components of a vector as scalars."""
    assert isinstance(a.type, Vector)

    def component(k: int) -> Value:
        return computed(item(a.type), lambda s: np.asarray(elements(a, s)[..., k]), a)

    return [component(k) for k in range(a.type.size)]


def matrix_of(rows: list[Value]) -> Value:
    """Return the matrix `[[a, b], [c, d]]` from its rows."""
    type_ = functools.reduce(meet, (row.type for row in rows))
    assert isinstance(type_, Vector)
    return Value(Matrix(type_.item, len(rows), type_.size), tuple(rows))


def product(matrix: Value, vector: Value, precision: int) -> Value:
    """Return `A @ x`: the inner product of each row with the vector."""
    type_ = concrete(functools.reduce(meet, (row.type for row in matrix.parts), vector.type), precision)
    sides = [(convert(row, type_), convert(vector, type_)) for row in matrix.parts]
    return vector_of([folded("sum", binary("*", row, other, precision), precision) for row, other in sides])


def mean(a: Value, precision: int) -> Value:
    """Return `mean(x)` of the components of a vector."""
    assert isinstance(a.type, Vector)
    size, a = a.type.size, definite(a, precision)
    floats = a if item(a.type).floating else convert(a, Vector(_float(precision), size))
    return binary("/", folded("sum", floats, precision), counter(size), precision)


def place(name: str, a: Value, precision: int) -> Value:
    """Return `argmin(x)` or `argmax(x)`: the first index of the smallest or largest component."""
    data = definite(a, precision).raw
    found = np.argmin(data, axis=-1) if name == "argmin" else np.argmax(data, axis=-1)
    scalar = scalar_named("int", precision)
    return Value(scalar, np.asarray(found).astype(dtype(scalar)))


def vector_of(parts: list[Value]) -> Value:
    """Return the vector `[a, b, ...]`."""
    scalar = functools.reduce(meet, (p.type for p in parts))
    return computed(
        Vector(item(scalar), len(parts)),
        lambda s: np.stack(np.broadcast_arrays(*(elements(p, s) for p in parts)), axis=-1),
        *parts, apart=True,
    )


def bit(a: Value) -> Value:
    """Return `bit(i)`: 1 << i as u64, and 0 for i outside of 0..63."""
    data = elements(definite(a, 64), item(defaulted(INTEGER, 64)))
    inside = (data >= 0) & (data < 64)
    shifted = np.left_shift(np.uint64(1), np.where(inside, data, 0).astype(np.uint64))
    return Value(U64, np.where(inside, shifted, np.uint64(0)))
