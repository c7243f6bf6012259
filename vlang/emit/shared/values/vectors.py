"""Code of operations on vectors, component by component, so that targets and skeletons handle only scalars."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vlang.emit.shared.values import integers
from vlang.emit.shared.values.dialect import scalars_of
from vlang.emit.shared.values.wide import spans
from vlang.ir.forms import forms as f
from vlang.ir.forms.range_arithmetic import whole
from vlang.types import F32, F64, I64, U8, Scalar, Vector

if TYPE_CHECKING:
    from vlang.emit.shared.values.formulas import Writer

__all__ = ["operation"]


def operation(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """Write an operation that takes or returns vectors; return the names of the components of the result."""
    special = _SPECIAL.get(expr.op)
    if special is not None:
        return special(writer, expr)
    if isinstance(expr.type, Vector):
        item = expr.type.item
        if writer.d.wides and expr.op in _WIDE and spans(scalars_of(expr.type)) and all(map(_computable, expr.args)):
            return _whole(writer, expr)
        return tuple(writer.value(f.Op(item, expr.op, tuple(_component(arg, k) for arg in expr.args), expr.data))
                     for k in range(expr.type.size))
    return (_FOLDS[expr.op](writer, expr),)


_WIDE = frozenset({"add", "sub", "mul", "div", "min", "max", "neg", "abs", "sqrt", "select", "cast"})


def _computable(arg: f.Expr) -> bool:
    """Return whether an operand may be used in operations on long vectors: it is a scalar or a vector of floats."""
    return not isinstance(arg.type, Vector) or arg.type.item in (F32, F64)


def _whole(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """An operation on long vectors of floats, in one line."""
    assert isinstance(expr.type, Vector)
    operands = [writer.items(arg) if isinstance(arg.type, Vector) else writer.value(arg) for arg in expr.args]
    op = writer.d.typename(expr.type.item) if expr.op == "cast" else expr.op
    return writer.wide(op, expr.type.size, *operands)


def _component(arg: f.Expr, number: int) -> f.Expr:
    """Return component `number` of an operand. A scalar operand is used for every component."""
    if not isinstance(arg.type, Vector):
        return arg
    if isinstance(arg, f.Op) and arg.op == "broadcast":
        return arg.args[0]
    if isinstance(arg, f.Op) and arg.op == "vector" and _factors(arg) is None:
        return arg.args[number]
    if isinstance(arg, f.Op) and arg.op == "part" and isinstance(arg.data, int):
        return _component(arg.args[0], arg.data + number)
    return f.Op(arg.type.item, "component", (arg, f.Const(I64, number)))


def _listed(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    product = _product(writer, expr)
    if product is not None:
        return product
    return tuple(writer.value(arg) for arg in expr.args)


_MOST_UNROLLED = 64
"""The largest matrix for which each product of two components has a line of its own, in components."""


def _product(writer: Writer, expr: f.Op) -> tuple[str, ...] | None:
    """Write `A @ x` as a loop over columns, for a large matrix A of floats that is a parameter. The result is None for
    other vectors.
    """
    factors = _factors(expr)
    if factors is None:
        return None
    row, vector = factors
    assert isinstance(row.type, Vector)
    matrix, rows, columns = row.args[0], len(expr.args), row.type.size
    assert isinstance(matrix, f.GraphValue)
    whole = tuple(f.Op(row.type.item, "dot", (f.Op(row.type, "part", (matrix,), number * columns), vector))
                  for number in range(rows))
    pointer = writer.place.matrix(matrix, (rows, columns)) if expr.args == whole else None
    if pointer is None:
        return None
    name = writer.name(writer.d.product(row.type.item, pointer, rows, writer.items(vector)))
    return tuple(writer.d.product_row(name, number, rows) for number in range(rows))


def _factors(expr: f.Op) -> tuple[f.Op, f.Expr] | None:
    """Return the operands of a matrix-vector product that a list of inner products may be: the first row of a large
    matrix, and a vector. Return None for other lists.
    """
    first = expr.args[0]
    if not (isinstance(first, f.Op) and first.op == "dot" and isinstance(first.args[0], f.Op)):
        return None
    row, vector = first.args
    assert isinstance(row, f.Op)
    if row.op != "part" or not isinstance(row.args[0], f.GraphValue) or not isinstance(row.type, Vector):
        return None
    large = len(expr.args) * row.type.size > _MOST_UNROLLED
    return (row, vector) if large and row.type.item in (F32, F64) else None


def _broadcast(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    assert isinstance(expr.type, Vector)
    return (writer.value(expr.args[0]),) * expr.type.size


def _reverse(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    return writer.items(expr.args[0])[::-1]


def _hll_unit(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """Write a sketch with one nonzero register: the position of the first 1 bit in the rest of the hash."""
    mixed = writer.name(writer.mixed(expr))
    register = writer.name(f"{mixed} & u64(63)")
    rank = writer.name(writer.d.convert(U8, f"hll_rank({mixed} >> u64(6))"))
    return tuple(writer.d.select(f"{register} == u64({k})", rank, writer.d.constant(0, U8)) for k in range(64))


def _hll_size(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    registers = writer.d.registers(writer.items(expr.args[0]))
    return (writer.d.convert(expr.type, f"hll_size({registers})"),)


def _part(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """Write some consecutive components of a vector, without code for the other components."""
    (vector,) = expr.args
    assert isinstance(expr.type, Vector)
    assert isinstance(expr.data, int)
    if isinstance(vector, f.GraphValue):
        return writer.place.graph(vector)[expr.data : expr.data + expr.type.size]
    return tuple(writer.value(_component(vector, expr.data + k)) for k in range(expr.type.size))


def _one(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """Write `x[i]`, which is component i of x, or the last component if i is out of range."""
    vector, index = expr.args
    if isinstance(vector, f.GraphValue) and isinstance(index, f.Const):
        names = writer.place.graph(vector)  # no code for the other components
    else:
        names = writer.items(vector)
    if isinstance(index, f.Const):
        assert isinstance(index.value, int)
        return (names[index.value if 0 <= index.value < len(names) else -1],)
    at, result = writer.value(index), names[-1]
    for number in range(len(names) - 1):
        test = writer.name(f"{at} == {writer.d.constant(number, index.type)}")
        result = writer.name(writer.d.select(test, names[number], result))
    return (result,)


_SPECIAL: Mapping[str, Callable[[Writer, f.Op], tuple[str, ...]]] = {
    "vector": _listed, "broadcast": _broadcast, "reverse": _reverse, "component": _one, "part": _part,
    "hll_unit": _hll_unit, "hll_size": _hll_size,
}  # fmt: skip


# ----------------------------------------------------------------------------------------------- to one scalar
def _names(writer: Writer, arg: f.Expr) -> tuple[tuple[str, ...], Scalar]:
    assert isinstance(arg.type, Vector)
    return writer.items(arg), arg.type.item


def _total(writer: Writer, expr: f.Op) -> str:
    names, item = _names(writer, expr.args[0])
    if writer.d.wides and spans((item,) * len(names)):
        return writer.fold("sum", len(names), names)
    return functools.reduce(lambda a, b: writer.sum(item, a, b), names)


def _extreme(writer: Writer, expr: f.Op) -> str:
    names, item = _names(writer, expr.args[0])
    return functools.reduce(lambda a, b: writer.name(writer.least(expr.op[1:], item, a, b)), names)


def _dot(writer: Writer, expr: f.Op) -> str:
    (left, item), (right, _) = (_names(writer, arg) for arg in expr.args)
    if writer.d.wides and spans((item,) * len(left)):
        return writer.fold("dot", len(left), left, right)
    known = whole(item)
    products = [writer.name(writer.d.arithmetic("*", item, a, b) if known is None else
                            integers.multiplied(writer, item, a, b, known, known)) for a, b in zip(left, right)]
    return functools.reduce(lambda a, b: writer.sum(item, a, b), products)


def _place(writer: Writer, expr: f.Op) -> str:
    """Write the index of the least or greatest component. Of several equal components, the first is chosen."""
    names, _ = _names(writer, expr.args[0])
    best, place = names[0], writer.d.constant(0, expr.type)
    for number, name in enumerate(names[1:], 1):
        better = writer.name(f"{name} {'<' if expr.op == 'vargmin' else '>'} {best}")
        best = writer.name(writer.d.select(better, name, best))
        place = writer.name(writer.d.select(better, writer.d.constant(number, expr.type), place))
    return place


def _equal(writer: Writer, expr: f.Op) -> str:
    (left, _), (right, _) = (_names(writer, arg) for arg in expr.args)
    same = writer.d.conjunction(*(f"{a} == {b}" for a, b in zip(left, right)))
    return same if expr.op == "eq" else writer.d.negation(f"({same})")


def _differs(writer: Writer, expr: f.Op) -> str:
    return writer.differ(expr.args[0].type, writer.items(expr.args[0]), writer.items(expr.args[1]))


_FOLDS: Mapping[str, Callable[[Writer, f.Op], str]] = {
    "vsum": _total, "vmin": _extreme, "vmax": _extreme, "vargmin": _place, "vargmax": _place,
    "dot": _dot, "eq": _equal, "ne": _equal, "differs": _differs,
}  # fmt: skip
