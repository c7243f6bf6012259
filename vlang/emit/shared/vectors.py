"""Code of operations on vectors, component by component, so that targets and skeletons handle only scalars."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from vlang.emit.shared import integers
from vlang.ir.forms import forms as f
from vlang.ir.forms.range_arithmetic import whole
from vlang.types import I64, U8, Scalar, Vector

if TYPE_CHECKING:
    from vlang.emit.shared.formulas import Writer

__all__ = ["operation"]


def operation(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """The names of the result's components, for an operation that takes or returns vectors."""
    special = _SPECIAL.get(expr.op)
    if special is not None:
        return special(writer, expr)
    if isinstance(expr.type, Vector):
        item = expr.type.item
        return tuple(writer.value(f.Op(item, expr.op, tuple(_component(arg, k) for arg in expr.args), expr.data))
                     for k in range(expr.type.size))
    return (_FOLDS[expr.op](writer, expr),)


def _component(arg: f.Expr, number: int) -> f.Expr:
    """Component `number` of an operand; a scalar operand stands for every component."""
    if not isinstance(arg.type, Vector):
        return arg
    if isinstance(arg, f.Op) and arg.op == "broadcast":
        return arg.args[0]
    if isinstance(arg, f.Op) and arg.op == "vector":
        return arg.args[number]
    if isinstance(arg, f.Op) and arg.op == "part" and isinstance(arg.data, int):
        return _component(arg.args[0], arg.data + number)
    return f.Op(arg.type.item, "component", (arg, f.Const(I64, number)))


def _listed(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    return tuple(writer.value(arg) for arg in expr.args)


def _broadcast(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    assert isinstance(expr.type, Vector)
    return (writer.value(expr.args[0]),) * expr.type.size


def _reverse(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    return writer.items(expr.args[0])[::-1]


def _hll_unit(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """A sketch in which one register is set, to the position of the first 1 bit in the rest of the hash."""
    mixed = writer.name(writer.mixed(expr))
    register = writer.name(f"{mixed} & u64(63)")
    rank = writer.name(writer.d.convert(U8, f"hll_rank({mixed} >> u64(6))"))
    return tuple(writer.d.select(f"{register} == u64({k})", rank, writer.d.constant(0, U8)) for k in range(64))


def _hll_size(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    registers = writer.d.registers(writer.items(expr.args[0]))
    return (writer.d.convert(expr.type, f"hll_size({registers})"),)


def _part(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """Some consecutive components of a vector, without code for the others."""
    (vector,) = expr.args
    assert isinstance(expr.type, Vector)
    assert isinstance(expr.data, int)
    if isinstance(vector, f.GraphValue):
        return writer.place.graph(vector)[expr.data : expr.data + expr.type.size]
    return tuple(writer.value(_component(vector, expr.data + k)) for k in range(expr.type.size))


def _one(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """`x[i]`: component i; the last component if i is out of range."""
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
    return functools.reduce(lambda a, b: writer.sum(item, a, b), names)


def _extreme(writer: Writer, expr: f.Op) -> str:
    names, item = _names(writer, expr.args[0])
    return functools.reduce(lambda a, b: writer.name(writer.least(expr.op[1:], item, a, b)), names)


def _dot(writer: Writer, expr: f.Op) -> str:
    (left, item), (right, _) = (_names(writer, arg) for arg in expr.args)
    known = whole(item)
    products = [writer.name(writer.d.arithmetic("*", item, a, b) if known is None else
                            integers.multiplied(writer, item, a, b, known, known)) for a, b in zip(left, right)]
    return functools.reduce(lambda a, b: writer.sum(item, a, b), products)


def _place(writer: Writer, expr: f.Op) -> str:
    """The index of the least or greatest component, the first one in a tie."""
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
