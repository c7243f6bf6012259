"""Declared reductions of the reference interpreter. Integers have 64 bits inside of a reduction, and overflow is an
error.
"""

from __future__ import annotations

from dataclasses import fields
from typing import cast

import numpy as np

from tests.reference.graph import Array
from tests.reference.values import Value, cast_array, item
from vlang.syntax import tree as t
from vlang.types import I64, U64, Scalar, Tuple, Type

__all__ = ["computes", "narrowed", "refuse_infinite", "widest"]


def widest(type_: Type) -> Type:
    """Return the type with all integers widened to 64 bits. The integers become u64 if any component is u64, and
    otherwise i64.
    """
    if isinstance(type_, Tuple):
        unsigned = U64 if U64 in type_.items else I64
        return Tuple(tuple(cast(Scalar, unsigned if i.kind == "uint" else widest(i)) for i in type_.items))
    assert isinstance(type_, Scalar)
    if type_.kind == "uint":
        return U64 if type_ == U64 else I64
    return I64 if type_.kind == "int" else type_


def computes(node: object) -> bool:
    """Return whether an expression contains arithmetic outside `wrap`."""
    if isinstance(node, t.Call):
        return node.name != "wrap" and any(map(computes, node.args))
    if isinstance(node, t.Binary) and node.op in ("+", "-", "*", "**"):
        return True
    if isinstance(node, t.Unary) and node.op == "-" and not isinstance(node.value, t.Literal):
        return True
    parts = [getattr(node, part.name) for part in fields(node)] if isinstance(node, t.Node) else \
        list(node) if isinstance(node, tuple) else []
    return any(map(computes, parts))


def refuse_infinite(sides: tuple[Value, ...], result: Value) -> None:
    """Raise OverflowError if finite integers of 64 bits gave an infinite result."""
    if callable(result.data) or item(result.type) != I64:
        return
    far = _infinite(result.raw)
    if not far.any():
        return
    for side in sides:
        far = far & ~_infinite(np.zeros(1) if callable(side.data) else side.raw)
    if far.any():
        raise OverflowError("a declared reduction leaves 64 bits")


def _infinite(data: Array) -> Array:
    infinite: Array = (data == I64.highest) | (data == I64.lowest)
    return infinite


def narrowed(value: Value, type_: Type) -> Value:
    """Return a value with integers of 64 bits, converted to `type_`. Raises OverflowError if a finite value does not
    fit.
    """
    if isinstance(type_, Tuple):
        return Value(type_, tuple(narrowed(p, i) for p, i in zip(value.parts, type_.items, strict=True)))
    source, target = item(value.type), item(type_)
    if source == target:
        return value
    data, whole = value.raw, target.kind == "uint"
    outside = (data >= target.highest + whole) | (data <= target.lowest - whole)
    if source.kind == "int" and np.any(outside & (data != source.highest) & (data != source.lowest)):
        raise OverflowError("a declared reduction leaves its type")
    return Value(type_, cast_array(data, source, target))
