"""The state of a running program: fields, columns, names, rows for which expressions are evaluated, and loops."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.reference.values import Array, Value, computing, convert, dtype, item, take
from vlang.types import VERTEX, Tuple, Type, Vector


@dataclass(eq=False)
class Store:
    """A vertex field or an accumulator. data: an array [n] or [n, k]; for tuples, one such array per component."""

    type: Type
    value: Value

    def rows(self, index: Array) -> Value:
        """Return the values of some vertices. For vertex -1 (`none`) the value is the zero of the type."""
        return read(take(_with_none(self.value), index), self.type)


def _with_none(value: Value) -> Value:
    """Return a value with one more row at the end, the zero of its type, so that index -1 reads a zero."""
    if isinstance(value.data, tuple):
        return Value(value.type, tuple(_with_none(p) for p in value.data))
    return Value(value.type, np.concatenate([value.raw, zeros(value.type, 1).raw]))


def zeros(type_: Type, rows: int) -> Value:
    """Return `rows` rows of the zero of a type. For vertices the zero is `none`."""
    if isinstance(type_, Tuple):
        return Value(type_, tuple(zeros(i, rows) for i in type_.items))
    shape = (rows, type_.size) if isinstance(type_, Vector) else (rows,)
    return Value(type_, np.full(shape, -1 if type_ == VERTEX else 0, dtype(item(type_))))


def read(value: Value, type_: Type) -> Value:
    """Return a stored value, converted to the type in which it is computed (f16 becomes f32)."""
    return convert(value, computing(type_))


@dataclass(eq=False)
class Column:
    """An edge field or an edge state: one value per stored edge.

    Attributes:
        rows: For an edge state, a vertex field with the number of statements that changed a value of an in-edge of the
            vertex.
    """

    type: Type
    value: Value
    rows: Store | None = None


Binding = Value | Store | Column
Env = ChainMap[str, Binding]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows for which an expression is evaluated.

    Attributes:
        count: The number of rows, None at graph level.
        own: The vertex that is `self` in each row.
        members: The other vertex variables.
        edge: The stored edge of each row.
        undirected: Whether the rows are the edges of `u -- self`, which have no direction.
    """

    count: int | None = None
    own: Array | None = None
    members: Mapping[str, Array] = field(default_factory=dict)
    edge: Array | None = None
    undirected: bool = False


GRAPH_LEVEL = Rows()


@dataclass(eq=False)
class Frame:
    """One running `repeat`.

    Attributes:
        iteration: The number of the superstep.
        old: The values of the fields at the start of the superstep.
        sent: The values last sent.
        active: The active vertices.
    """

    iteration: int
    old: dict[Store, Value]
    sent: dict[Store, Array]
    active: Array


def as_input(data: Any, type_: Type) -> Array:
    """Return a user's array or number as elements of `type_`. Floats for an integer type must be whole or inf."""
    scalar = item(type_)
    array = np.asarray(data)
    if scalar == VERTEX:
        return array.astype(np.int64)
    if scalar.kind == "int" and array.dtype.kind == "f":
        high, low = array == np.inf, array == -np.inf
        whole = np.where(high | low, 0, array).astype(dtype(scalar))
        whole = np.where(high, np.asarray(scalar.highest, whole.dtype), whole)
        return np.where(low, np.asarray(scalar.lowest, whole.dtype), whole)
    return array.astype(dtype(scalar))

