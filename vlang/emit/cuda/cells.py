"""Cells: memory in which contributions to one vertex are joined by unified operations (vlang.emit.cuda.unified).

Every component of an accumulator has its own cell, except that the two components of a pair share a word if each has at
most 32 bits. The order of the words is the order of the pairs. Under max, vertex numbers are stored increased by 1, so
that `none` wraps to 0 and is the least number.
"""

from __future__ import annotations

from collections.abc import Sequence

from vlang.emit.cuda.unified import Places, places
from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.reductions.holistic import Holistic
from vlang.emit.shared.values.dialect import Dialect
from vlang.emit.shared.values.formulas import Writer
from vlang.ir.forms import forms as f
from vlang.records import dataclass
from vlang.reductions import REDUCTIONS, identity
from vlang.types import BOOL, F64, U8, VERTEX, Scalar, Tuple, Vector

__all__ = ["Cell", "cells_of", "groups"]

_MOST = 8  # the largest number of components of a vector, each with a cell of 4 or 8 bytes


@dataclass(frozen=True)
class Cell:
    """One cell of a vertex.

    Attributes:
        reduction: the reduction that joins contributions.
        types: the types of the components in the cell.
        first: the position of the first component of the cell among the components of the accumulator.
        places: the unified operations on the cell.
        declared: the declaration of the reduction, if the program declares it; otherwise None.
    """

    reduction: str
    types: tuple[Scalar, ...]
    first: int
    places: Places
    declared: f.UserReduction | None = None

    @property
    def merge(self) -> str:
        """The operator that joins two values; "" if the program declares the reduction."""
        monoid = None if self.declared is not None else REDUCTIONS[self.reduction].monoid
        return "" if monoid is None else monoid.merge

    @property
    def type(self) -> Scalar:
        """The type of the cell."""
        assert self.places.cell is not None
        return self.places.cell

    @property
    def dtype(self) -> str:
        """The name of the type of the cell in memory."""
        return "u8" if self.type == BOOL else self.type.name

    @property
    def bytes(self) -> int:
        """The size of the cell."""
        return self.type.bits // 8

    def nothing(self, writer: Writer) -> str:
        """Return code of the initial content of the cell, before any contribution."""
        d = writer.d
        if self.declared is not None:
            return self.of(d, writer.items(self.declared.identity))
        return self.of(d, [d.constant(identity(self.reduction, t), t) for t in self.types])

    def of(self, d: Dialect, values: Sequence[str]) -> str:
        """Code of the content of a cell that holds the given components."""
        if self.declared is not None:
            return f"pack(word_of({values[0]}), word_of({values[1]}))" if len(values) == 2 else values[0]
        if len(self.types) == 2:
            first, second = (f"order_key({self._moved(d, t, v)})" for t, v in zip(self.types, values))
            return f"pack({first}, {second})"
        (value,) = values
        if self.type == BOOL:
            return d.convert(U8, value)
        moved = self._moved(d, self.types[0], value)
        wider = self.type == F64  # a contribution is sent as 32 bits
        return moved if self._plain(d) and not wider else d.convert(self.type, moved)

    def _plain(self, d: Dialect) -> bool:
        """Return whether the cell has the same type as its only component."""
        return d.typename(self.types[0]) == self.type.name

    def _moved(self, d: Dialect, type_: Scalar, value: str) -> str:
        return d.arithmetic("+", type_, value, "u32(1)") if self._moves(type_) else value

    def _moves(self, type_: Scalar) -> bool:
        return type_ == VERTEX and self.merge == "max"

    def parts(self, d: Dialect, cell: str) -> tuple[str, ...]:
        """Code of each component that a cell holds."""
        if len(self.types) == 2:
            keys = (f"packed_first({cell})", f"packed_second({cell})")
            name = "key_value" if self.declared is None else "word_value"
            values = [f"{name}<{d.typename(t)}>({key})" for t, key in zip(self.types, keys)]
            if self.declared is not None:
                return tuple(values)
        elif self.type == BOOL:
            return (f"{cell} != 0",)
        else:
            values = [cell if self._plain(d) else d.convert(self.types[0], cell)]
        return tuple(d.arithmetic("-", t, v, "u32(1)") if self._moves(t) else v for t, v in zip(self.types, values))

    def contributes(self, d: Dialect, item: str) -> str:
        """Return code that tests whether a contribution must be joined into the cell; "" if every contribution must be
        joined.

        A pair is not joined if its first component is the identity or NaN.
        """
        if len(self.types) == 1 or self.declared is not None:
            return ""
        nothing = d.constant(identity(self.reduction, self.types[0]), self.types[0])
        value = d.part(item, self.first)
        if self.types[0] == VERTEX:
            return f"{value} != {nothing}"
        return f"{value} {'<' if self.merge == 'min' else '>'} {nothing}"

    def by_declaration(self, writer: Writer, a: Sequence[str], b: Sequence[str]) -> tuple[str, list[str]]:
        """Code that joins components by the declared reduction.

        Returns: The content of a cell, and the names of bools that say whether an integer does not fit 64 bits.
        """
        assert self.declared is not None
        first, second = (tuple(map(writer.name, side)) for side in (a, b))
        joined, left = writer.joined(self.declared, first, second)
        return self.of(writer.d, joined), left

    def joined(self, d: Dialect, a: str, b: str) -> str:
        """Code that joins two cells by a built-in reduction, without atomic operations."""
        if self.merge in ("min", "max"):
            return d.select(f"{b} {'<' if self.merge == 'min' else '>'} {a}", b, a)
        if self.type == BOOL:
            return f"u8({a} {self.merge} {b})"
        if self.merge == "*" and self.type.integral:
            return d.saturated("mul", self.type, a, b)
        return d.arithmetic(self.merge, self.type, a, b)

    def values(self, d: Dialect, packed: str) -> list[str]:
        """Code of this cell's components in a packed accumulator or item."""
        return [d.part(packed, self.first + i) for i in range(len(self.types))]


def cells_of(accumulations: Sequence[Accumulation]) -> tuple[list[Cell], str]:
    """Return the cells of the accumulators of a stage, in order. If some accumulator has no cell, return [] and the
    reason.
    """
    cells: list[Cell] = []
    at = 0
    for accumulation in accumulations:
        if isinstance(accumulation, Grouped):
            return [], "a grouped gather needs all contributions of a vertex at once (rule R)"
        if isinstance(accumulation, Holistic):
            return [], f"`{accumulation.reduce.name}` needs all contributions of a vertex at once (rule R)"
        value = accumulation.reduce.body.type
        if isinstance(value, Vector) and value.size > _MOST:
            return [], f"a vector of more than {_MOST} components: too few vertices would share the memory of a block"
        for reduction, types in groups(accumulation):
            found = places(reduction, Tuple(types) if len(types) > 1 else types[0])
            if found.cell is None:
                return [], found.shared.reason
            own = accumulation.declared if reduction == accumulation.reduce.name else None
            cells.append(Cell(reduction, types, at, found, own))
            at += len(types)
    return cells, ""


def groups(accumulation: Accumulation) -> list[tuple[str, tuple[Scalar, ...]]]:
    """Return groups of components of an accumulator, each with its reduction. The components of a group are joined
    together.
    """
    name, types = accumulation.reduce.name, accumulation.types
    values = types[: accumulation.width]
    if accumulation.declared is not None and accumulation.declared.exact:
        groups = [(name, values[:-1]), ("any", values[-1:])]
    elif accumulation.declared is not None or isinstance(accumulation.reduce.body.type, Tuple):
        groups = [(name, values)]
    elif accumulation.result == "float":
        groups = [("sum", (values[0],)), ("count", (values[1],))]
    elif accumulation.exact is not None:
        groups = [("any" if value == BOOL else name, (value,)) for value in values]
    else:
        groups = [(name, (value,)) for value in values]
    return groups if len(values) == len(types) else [*groups, ("any", (BOOL,))]
