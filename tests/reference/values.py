"""Values of the reference interpreter: NumPy arrays with a type of the language.

A graph-level value has shape (), and a value per row (vertex or edge) has shape [rows]. Vectors have one more axis.
Literals and counters are *weak*: their data is a function, which returns the array for the scalar type of the place of
use. An expression of literals is therefore computed in the type in which it is used, as the language defines.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vlang.syntax import tree as t
from vlang.types import (
    BOOL,
    F16,
    F32,
    I64,
    INTEGER,
    NUMBER,
    TEXT,
    TIMES,
    VERTEX,
    VERTICES,
    Matrix,
    Scalar,
    Tuple,
    Type,
    Vector,
    VertexSet,
    common,
    converts,
    defaulted,
    scalar_named,
)

Array = NDArray[Any]
Lazy = Callable[[Scalar], Array]

_DTYPES: dict[str, Any] = {
    "bool": np.bool_, "vertex": np.int64, "category": np.int64, **dict.fromkeys(TIMES, np.int64),
    **{f"{kind}{bits}": np.dtype(f"{kind}{bits // 8}") for kind in "iu" for bits in (8, 16, 32, 64)},
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}


@dataclass(frozen=True, eq=False)
class Value:
    """A value and its type.

    Attributes:
        data: an array, the components of a tuple, the rows of a matrix, or a function for a weak type.
    """

    type: Type
    data: Array | tuple[Value, ...] | Lazy

    @property
    def parts(self) -> tuple[Value, ...]:
        """The components of a tuple."""
        assert isinstance(self.data, tuple)
        return self.data

    @property
    def raw(self) -> Array:
        """The array of this value. The type of the value must be final and not a tuple."""
        assert not isinstance(self.data, tuple), f"{self.type} is a tuple"
        assert not callable(self.data), f"{self.type} has no width"
        return np.asarray(self.data)


def dtype(scalar: Scalar) -> Any:
    """Return the NumPy type that holds a scalar type. Vertices are dense int64 numbers, with -1 for `none`."""
    return _DTYPES[scalar.name]


def item(type_: Type) -> Scalar:
    """Return a scalar type itself, or the scalar type of the components of a vector."""
    if isinstance(type_, Vector):
        return type_.item
    if not isinstance(type_, Scalar):
        raise TypeError(f"{type_} is not a number, bool or vertex")
    return type_


def computing(type_: Type) -> Type:
    """Return the type in which a stored value is computed: f32 for f16, otherwise the type itself."""
    if isinstance(type_, Vector):
        return Vector(cast(Scalar, computing(type_.item)), type_.size)
    if isinstance(type_, Matrix):
        return Matrix(cast(Scalar, computing(type_.item)), type_.rows, type_.columns)
    if isinstance(type_, Tuple):
        return Tuple(tuple(cast(Scalar, computing(i)) for i in type_.items))
    return F32 if type_ == F16 else type_


def concrete(type_: Type, precision: int) -> Type:
    """Return the final type for a weak type, also inside vectors and tuples."""
    if isinstance(type_, Vector):
        return Vector(cast(Scalar, defaulted(type_.item, precision)), type_.size)
    if isinstance(type_, Matrix):
        return Matrix(cast(Scalar, defaulted(type_.item, precision)), type_.rows, type_.columns)
    if isinstance(type_, Tuple):
        return Tuple(tuple(cast(Scalar, defaulted(i, precision)) for i in type_.items))
    return defaulted(type_, precision)


def declared(written: t.TypeExpr, precision: int) -> Type:
    """Return the type in a declaration."""
    if written.kind == "vertex":
        return VERTEX
    if written.kind == "vertices":
        return VERTICES
    if written.kind == "tuple":
        return Tuple(tuple(cast(Scalar, declared(i, precision)) for i in written.items))
    scalar = scalar_named(written.name, precision)
    if written.kind == "array":
        assert isinstance(written.size, t.Literal)
        assert isinstance(written.size.value, int)
        if isinstance(written.columns, t.Literal):
            assert isinstance(written.columns.value, int)
            return Matrix(scalar, written.size.value, written.columns.value)
        return Vector(scalar, written.size.value)
    return scalar


# ------------------------------------------------------------------ making values


def literal(value: bool | int | float | None) -> Value:
    """Return the value of a literal in the text. A float inf represents the word `inf`, which is valid for integers and
    floats.
    """
    if value is None:
        return Value(VERTEX, np.array(-1, np.int64))
    if isinstance(value, bool):
        return Value(BOOL, np.array(value))
    if isinstance(value, int) or value == float("inf"):
        return counter(value)
    number = float(value)
    return Value(NUMBER, lambda scalar: np.array(number, dtype(scalar)))


@dataclass(frozen=True)
class _Weak:
    """The data of a weak value: elements that are computed in the type of the place of use.

    Attributes:
        make: A function that computes the elements in a scalar type.
        counts: Whether a counter (`N`, `iteration`) is part of the expression. Elements of an expression with a counter
            are computed in 64 bits and then converted.
        apart: Whether the operands, rather than the value, are converted to the type of the place.
        literal: The value of an integer literal.
    """

    make: Lazy
    counts: bool = False
    apart: bool = False
    literal: int | float | None = None

    def __call__(self, scalar: Scalar) -> Array:
        if self.counts and not self.apart and scalar.integral and scalar != I64:
            return cast_array(self.make(I64), I64, scalar)
        return self.make(scalar)


def counter(number: int | float, counts: bool = False) -> Value:
    """Return an integer (or inf) whose width depends on the place of use.

    Args:
        counts: True for `N`, `M`, `iteration` and loop variables.
    """

    def at(scalar: Scalar) -> Array:
        if number in (float("inf"), float("-inf")):
            return np.array(scalar.highest if number > 0 else scalar.lowest, dtype(scalar))
        return np.array(min(max(int(number), scalar.lowest), scalar.highest), dtype(scalar))

    return Value(INTEGER, _Weak(at, counts, literal=None if counts else number))


def literal_number(value: Value) -> int | float | None:
    """Return the value of an integer literal, or of an exact operation on literals."""
    return value.data.literal if isinstance(value.data, _Weak) else None


_FOLDED: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow,
}


def folded_literals(op: str, a: Value, b: Value) -> Value | None:
    """Return the exact result of an operation on two finite integer literals; None for other operands."""
    left, right = literal_number(a), literal_number(b)
    if op not in _FOLDED or not (isinstance(left, int) and isinstance(right, int)):
        return None
    if (op in ("//", "%") and right == 0) or (op == "**" and not 0 <= right <= 64):
        return None
    return counter(_FOLDED[op](left, right))


def tuple_of(parts: tuple[Value, ...]) -> Value:
    """Return a tuple with these values as components."""
    return Value(Tuple(tuple(item(p.type) for p in parts)), parts)


# ------------------------------------------------------------------ conversions


def cast_array(data: Array, source: Scalar, target: Scalar) -> Array:
    """Return elements converted between final types. A value that does not fit becomes the nearest limit; `inf` stays
    `inf`.
    """
    if source == target:
        return data
    if not (source.numeric and target.numeric) or (source.floating and target.integral):
        raise TypeError(f"{source} does not become {target}")
    result = np.asarray(data).astype(dtype(target))
    if source.integral and target.integral:
        limited = [min(max(number, target.lowest), target.highest) for number in np.ravel(data).tolist()]
        result = np.array(limited, dtype(target)).reshape(np.shape(data))
    if source.kind == "int":
        top, bottom = (np.inf, -np.inf) if target.floating else (target.highest, target.lowest)
        result = np.where(data == source.highest, np.asarray(top, result.dtype), result)
        result = np.where(data == source.lowest, np.asarray(bottom, result.dtype), result)
    return np.asarray(result)


def exactly(data: Array) -> Array:
    """Return integers as Python integers, which cannot overflow."""
    return np.asarray(np.asarray(data).astype(object), object)


def elements(value: Value, scalar: Scalar) -> Array:
    """Return the array of a scalar or vector value, with elements of type `scalar`."""
    own = item(value.type)
    if not callable(value.data):
        return cast_array(value.raw, own, scalar)
    if own == TEXT or scalar.named:
        return value.data(scalar)
    if own == INTEGER and scalar.integral:
        return value.data(scalar)
    if own == INTEGER:
        number = literal_number(value)
        data = cast_array(value.data(I64), I64, F32 if scalar == F16 else scalar) if number is None else \
            np.array(float(number), np.float32 if scalar == F16 else dtype(scalar))
        return data.astype(dtype(scalar))
    if scalar == F16:
        return value.data(F32).astype(np.float16)
    if not scalar.floating:
        raise TypeError(f"a fraction does not become {scalar}")
    return value.data(scalar)


def elements_as(value: Value, type_: Type) -> Array:
    """Return the array of a value as `type_`. A scalar becomes every component of a vector."""
    data = elements(value, item(type_))
    if isinstance(type_, Vector) and not isinstance(value.type, Vector):
        data = np.broadcast_to(data[..., None], (*data.shape, type_.size))
    return data


def convert(value: Value, type_: Type) -> Value:
    """Return the value converted to `type_`. Raises TypeError if the language does not convert the type of the value to
    `type_`.
    """
    if isinstance(type_, VertexSet) or value.type == type_:
        return value
    if not converts(value.type, type_):
        raise TypeError(f"{value.type} stands where {type_} is needed")
    if isinstance(type_, Matrix):
        rows = value.parts if isinstance(value.type, Matrix) else (value,) * type_.rows
        return Value(type_, tuple(convert(row, Vector(type_.item, type_.columns)) for row in rows))
    if isinstance(type_, Tuple):
        return Value(type_, tuple(convert(p, i) for p, i in zip(value.parts, type_.items, strict=True)))
    return computed(type_, lambda scalar: operand(value, type_, scalar))


def definite(value: Value, precision: int) -> Value:
    """Return the value with a final type: literals become `int` or `float`."""
    return convert(value, concrete(value.type, precision))


def meet(a: Type, b: Type) -> Type:
    """Return the type of a choice between two values. Raises TypeError if the two values have no common type."""
    if a == b:
        return a
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        return Tuple(tuple(cast(Scalar, meet(x, y)) for x, y in zip(a.items, b.items, strict=True)))
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Scalar) and (one.named or one == TEXT) and converts(other, one):
            return one
    both = common(a, b)
    if both is None:
        raise TypeError(f"{a} and {b} have no common type")
    return both


def computed(type_: Type, make: Callable[[Scalar], Array], *operands: Value, apart: bool = False) -> Value:
    """Return a value of `type_`.

    `make` computes the elements in a scalar type. For a weak type, `make` is called when the type of the context is
    known.

    Args:
        operands: the operands of `make`.
        apart: whether the operands, rather than the value, get the type of the place of use.
    """
    scalar = item(type_)
    if not scalar.weak:
        return Value(type_, np.asarray(make(scalar)))
    counts = any(isinstance(one.data, _Weak) and one.data.counts for one in operands)
    return Value(type_, _Weak(make, counts, apart))


def operand(value: Value, type_: Type, scalar: Scalar) -> Array:
    """Return the array of an operand. The operation has a result of type `type_` and is computed in `scalar`."""
    return elements_as(value, Vector(scalar, type_.size) if isinstance(type_, Vector) else scalar)


# ------------------------------------------------------------------ rows


def take(value: Value, rows: Array) -> Value:
    """Select rows of a value of vertices or edges. Graph-level values are returned unchanged."""
    if isinstance(value.data, tuple):
        return Value(value.type, tuple(take(p, rows) for p in value.data))
    rank = 1 if isinstance(value.type, Vector) else 0
    return Value(value.type, value.raw if value.raw.ndim == rank else value.raw[rows])


def spread(value: Value, rows: int) -> Value:
    """Return the value with one entry for each row. The type of the value must be final."""
    if isinstance(value.data, tuple):
        return Value(value.type, tuple(spread(p, rows) for p in value.data))
    tail = (value.type.size,) if isinstance(value.type, Vector) else ()
    return Value(value.type, np.array(np.broadcast_to(value.raw, (rows, *tail))))
