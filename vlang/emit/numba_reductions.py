"""Reductions as numba text: the components of an accumulator, and how they start, take a value, merge and end.

One worker owns each accumulator here, so every unified operation is a plain update (language.md section 13,
column "numba owned").
"""

from __future__ import annotations

from dataclasses import dataclass

from vlang.emit.numba_expressions import Unwritable, Writer, constant, least, stored_as, typename
from vlang.ir import forms as f
from vlang.reductions import REDUCTIONS, accumulator, identity
from vlang.types import BOOL, F64, I64, Scalar, Tuple

__all__ = ["Accumulation"]

_PLAIN = {"sum": "+", "prod": "*", "bitor": "|", "bitand": "&", "bitxor": "^", "any": "|", "all": "&"}


@dataclass(frozen=True)
class Accumulation:
    """How one reduction is accumulated.

    types: the types of its components: those of the value, then for `mean` the number of contributions, then with a
    `default` (a bool) whether anything contributed.
    """

    reduce: f.Reduce
    types: tuple[Scalar, ...]

    @staticmethod
    def of(reduce: f.Reduce) -> Accumulation:
        """The accumulation of a reduction. Raises Unwritable for those that need all contributions at once."""
        if reduce.user or reduce.name not in REDUCTIONS:
            raise Unwritable("a reduction of your own")
        if REDUCTIONS[reduce.name].holistic:
            raise Unwritable(f"`{reduce.name}`")
        body = reduce.body.type
        over_vertices = not reduce.domain.edges
        if reduce.domain.kind == "set":
            raise Unwritable("a reduction over a vertex set")
        if reduce.name == "count":
            assert isinstance(reduce.type, Scalar)
            types: tuple[Scalar, ...] = (I64 if over_vertices else reduce.type,)
        elif isinstance(body, Tuple):
            types = body.items
        elif isinstance(body, Scalar):
            types = (accumulator(reduce.name, body, over_vertices),)
        else:
            raise Unwritable("a vector")
        if reduce.name == "mean":
            types = (F64, I64)
        if reduce.default is not None:
            types = (*types, BOOL)
        return Accumulation(reduce, types)

    @property
    def stored(self) -> tuple[str, ...]:
        """The names of the types in which the components are stored."""
        return tuple(stored_as(t) for t in self.types)

    @property
    def identity(self) -> tuple[str, ...]:
        """The text of the components of nothing."""
        if self.reduce.name == "mean":
            values: tuple[str, ...] = ("f64(0.0)", "i64(0)")
        elif isinstance(self.reduce.body.type, Tuple):
            values = tuple(constant(identity(self.reduce.name, t), t) for t in self.types[: self._width])
        else:
            values = (constant(identity(self.reduce.name, self.types[0]), self.types[0]),)
        return values if self.reduce.default is None else (*values, "False")

    @property
    def _width(self) -> int:
        """How many components hold the value."""
        return len(self.types) - (self.reduce.default is not None)

    def take(self, writer: Writer, before: tuple[str, ...]) -> tuple[str, ...]:
        """The components after one more contribution (the body at hand, if the condition holds)."""
        values = self._contribution(writer)
        after = self.merge(writer, before, values)
        if self.reduce.cond is None:
            return after
        test = writer.value(self.reduce.cond)
        return tuple(writer.name(f"{a} if {test} else {b}") for a, b in zip(after, before))

    def _contribution(self, writer: Writer) -> tuple[str, ...]:
        """The components of a single contribution."""
        body = self.reduce.body
        if self.reduce.name == "count":
            one = writer.value(body)
            values: tuple[str, ...] = (writer.name(f"{typename(self.types[0])}(1 if {one} else 0)"),)
        elif isinstance(body.type, Tuple):
            values = writer.items(body)
        else:
            values = (writer.name(f"{typename(self.types[0])}({writer.value(body)})")
                      if self.types[0] != BOOL else writer.value(body),)
            if self.reduce.name == "mean":
                values = (*values, "i64(1)")
        if self.reduce.default is None:
            return values
        counts = "True"
        if isinstance(body.type, Tuple):
            first = body.type.items[0]
            counts = writer.name(f"{values[0]} != {constant(identity(self.reduce.name, first), first)}")
        return (*values, counts)

    def merge(self, writer: Writer, a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
        """The components of two accumulators joined, a before b."""
        name, body = self.reduce.name, self.reduce.body.type
        width = self._width
        if isinstance(body, Tuple):
            wins = writer.tuple_wins(name, body, b[:width], a[:width])
            joined = tuple(writer.name(f"{y} if {wins} else {x}") for x, y in zip(a[:width], b[:width]))
        elif name in ("min", "max"):
            joined = (writer.name(least(name, self.types[0], a[0], b[0])),)
        elif name in ("mean", "count"):
            joined = tuple(writer.name(f"{typename(t)}({x} + {y})")
                           for t, x, y in zip(self.types[:width], a[:width], b[:width]))
        else:
            joined = (writer.name(f"{typename(self.types[0])}({a[0]} {_PLAIN[name]} {b[0]})"),)
        return joined if self.reduce.default is None else (*joined, writer.name(f"{a[-1]} | {b[-1]}"))

    def finish(self, writer: Writer, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The value of the reduction from its components; `default` where nothing contributed."""
        result = self.reduce.type
        if isinstance(result, Tuple):
            values = parts[: self._width]
        else:
            text = f"{parts[0]} / f64({parts[1]})" if self.reduce.name == "mean" else parts[0]
            values = (writer.name(f"{typename(result)}({text})" if result != BOOL else text),)
        if self.reduce.default is None:
            return values
        default = writer.items(self.reduce.default)
        return tuple(writer.name(f"{v} if {parts[-1]} else {d}") for v, d in zip(values, default))
