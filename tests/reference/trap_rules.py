"""The failures of single operations in trap mode of the reference interpreter: kinds with masks (language.md 6.1)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.reference.values import Array, Value, operand
from vlang.types import I64, Scalar, Type, Vector

__all__ = ["failures_of", "infinite", "operand_of"]


def operand_of(value: Value, type_: Type, scalar: Scalar, number: int, op: str) -> Array:
    """Return an operand, converted to the type in which the operation is computed."""
    if op in ("<<", ">>") and number == 1 and not callable(value.data):
        return value.raw
    if op == "**" and number == 1 and callable(value.data) and scalar.integral:
        return operand(value, I64, I64) if not isinstance(type_, Vector) else operand(value, type_, scalar)
    return operand(value, type_, scalar)


def infinite(data: Array, scalar: Scalar) -> Array:
    if scalar.floating:
        return np.asarray(np.isinf(data))
    if scalar.kind != "int":
        return np.zeros(np.shape(data), np.bool_)
    return np.asarray((data == scalar.highest) | (data == scalar.lowest))


def failures_of(op: str, sides: tuple[Array, ...], made: Array, scalar: Scalar, compared: bool, meant: tuple[bool, ...],
              mode: str) -> Iterator[tuple[str, Array]]:
    """Yield the kinds of failure of an operation, each with a mask of the rows that fail."""
    if scalar.floating:
        yield from _of_floats(op, sides, made)
    elif op in ("<<", ">>"):
        yield "shift", (sides[1] < 0) | (np.asarray(sides[1]).astype(object) >= scalar.bits).astype(bool)
    elif op in ("//", "%"):
        yield "division by zero", sides[1] == 0
        if scalar.kind == "int":
            for side, literal in zip(sides, meant, strict=True):
                if not literal:
                    yield "infinite operand", infinite(side, scalar)
    elif op in ("+", "-", "*", "**", "neg") and mode not in ("wrap", "exact"):
        yield from _of_integers(op, sides, made, scalar, compared, meant)


def _of_floats(op: str, sides: tuple[Array, ...], made: Array) -> Iterator[tuple[str, Array]]:
    if op == "neg":
        return
    far: Array = np.isinf(sides[0])
    lost: Array = np.isnan(sides[0])
    for side in sides[1:]:
        far, lost = np.asarray(far | np.isinf(side)), np.asarray(lost | np.isnan(side))
    zero: Array = np.array(False)
    if op in ("/", "//", "%"):
        zero = np.asarray(sides[1] == 0)
        yield "division by zero", zero & ~np.isnan(sides[0])
    yield "infinite", np.asarray(np.isinf(made) & ~far & ~zero)
    yield "nan", np.asarray(np.isnan(made) & ~lost & ~zero)


def _of_integers(op: str, sides: tuple[Array, ...], made: Array, scalar: Scalar, compared: bool,
                 meant: tuple[bool, ...]) -> Iterator[tuple[str, Array]]:
    exact = [np.asarray(side).astype(object) for side in sides]
    if scalar.kind == "uint":
        true: dict[str, Callable[..., Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul,
                                               "neg": operator.neg}
        if op == "**":
            yield "infinite", (made == scalar.highest) & np.asarray(exact[1] != 1, bool)
        else:
            number = np.asarray(true[op](*exact))
            yield "infinite", np.asarray((number < 0) | (number > scalar.highest), bool)
        return
    far = [infinite(side, scalar) for side in (sides[:1] if op == "**" else sides)]
    any_far = far[0] if len(far) == 1 else far[0] | far[1]
    yield "infinite", infinite(made, scalar) & ~any_far
    if not compared:
        for one, literal in zip(far, meant, strict=False):
            if not literal:
                yield "infinite operand", one
        return
    if op in ("+", "-"):
        (a_up, a_down), (b_up, b_down) = ((side == scalar.highest, side == scalar.lowest) for side in sides)
        yield "infinite operand", (a_up & b_down) | (a_down & b_up) if op == "+" else (a_up & b_up) | (a_down & b_down)
    elif op == "*":
        yield "infinite operand", (far[0] & (sides[1] == 0)) | ((sides[0] == 0) & far[1])
