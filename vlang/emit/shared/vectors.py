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


def _one(writer: Writer, expr: f.Op) -> tuple[str, ...]:
    """`x[i]`: component i; the last component if i is out of range."""
    names, index = writer.items(expr.args[0]), expr.args[1]
    if isinstance(index, f.Const):
        assert isinstance(index.value, int)
        return (names[index.value if 0 <= index.value < len(names) else -1],)
    at, result = writer.value(index), names[-1]
    for number in range(len(names) - 1):
        test = writer.name(f"{at} == {writer.d.constant(number, index.type)}")
        result = writer.name(writer.d.select(test, names[number], result))
    return (result,)


_SPECIAL: Mapping[str, Callable[[Writer, f.Op], tuple[str, ...]]] = {
    "vector": _listed, "broadcast": _broadcast, "reverse": _reverse, "component": _one, "hll_unit": _hll_unit,
    "hll_size": _hll_size,
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


def _equal(writer: Writer, expr: f.Op) -> str:
    (left, _), (right, _) = (_names(writer, arg) for arg in expr.args)
    same = writer.d.conjunction(*(f"{a} == {b}" for a, b in zip(left, right)))
    return same if expr.op == "eq" else writer.d.negation(f"({same})")


def _differs(writer: Writer, expr: f.Op) -> str:
    return writer.differ(expr.args[0].type, writer.items(expr.args[0]), writer.items(expr.args[1]))


_FOLDS: Mapping[str, Callable[[Writer, f.Op], str]] = {
    "vsum": _total, "vmin": _extreme, "vmax": _extreme, "dot": _dot, "eq": _equal, "ne": _equal, "differs": _differs,
}  # fmt: skip
