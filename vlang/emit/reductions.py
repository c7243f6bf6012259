"""Reductions as text: the components of an accumulator, and how they start, take a value, merge and end.

One worker owns each accumulator here, so every unified operation is a plain update (language.md section 13, column
"numba owned"); what a GPU does where several meet stands in vlang.emit.cuda.places.
"""

from __future__ import annotations

from dataclasses import dataclass

from vlang.emit.dialect import Dialect, stored_as
from vlang.emit.expressions import Unwritable, Writer
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

    def identity(self, d: Dialect, types: tuple[Scalar, ...] | None = None) -> tuple[str, ...]:
        """The text of the components of nothing; types: other than those of the accumulator."""
        kinds = types or self.types
        if self.reduce.name == "mean":
            values: tuple[str, ...] = (d.constant(0.0, kinds[0]), d.constant(0, kinds[1]))
        elif isinstance(self.reduce.body.type, Tuple):
            values = tuple(d.constant(identity(self.reduce.name, t), t) for t in kinds[: self.width])
        else:
            values = (d.constant(identity(self.reduce.name, kinds[0]), kinds[0]),)
        return values if self.reduce.default is None else (*values, d.false)

    @property
    def width(self) -> int:
        """How many components hold the value."""
        return len(self.types) - (self.reduce.default is not None)

    def take(self, writer: Writer, before: tuple[str, ...]) -> tuple[str, ...]:
        """The components after one more contribution (the body at hand, if the condition holds)."""
        after = self.merge(writer, before, self.contribution(writer, self.types))
        return self._chosen(writer, after, before)

    def sent(self, writer: Writer, types: tuple[Scalar, ...]) -> tuple[str, ...]:
        """The components, in `types`, of one contribution as it travels: those of nothing if the condition fails."""
        return self._chosen(writer, self.contribution(writer, types), self.identity(writer.d, types))

    def _chosen(self, writer: Writer, yes: tuple[str, ...], no: tuple[str, ...]) -> tuple[str, ...]:
        if self.reduce.cond is None:
            return yes
        test = writer.value(self.reduce.cond)
        return tuple(writer.name(writer.d.select(test, a, b)) for a, b in zip(yes, no))

    def contribution(self, writer: Writer, types: tuple[Scalar, ...]) -> tuple[str, ...]:
        """The components of a single contribution, in `types`."""
        body, d = self.reduce.body, writer.d
        if self.reduce.name == "count":
            one = writer.value(body)
            values: tuple[str, ...] = (writer.name(d.convert(types[0], d.select(one, "1", "0"))),)
        elif isinstance(body.type, Tuple):
            values = writer.items(body)
        else:
            values = (writer.name(d.convert(types[0], writer.value(body))) if types[0] != BOOL else writer.value(body),)
            if self.reduce.name == "mean":
                values = (*values, d.constant(1, types[1]))
        if self.reduce.default is None:
            return values
        counts = d.true
        if isinstance(body.type, Tuple):
            first = body.type.items[0]
            counts = writer.name(f"{values[0]} != {d.constant(identity(self.reduce.name, first), first)}")
        return (*values, counts)

    def merge(self, writer: Writer, a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
        """The components of two accumulators joined, a before b."""
        name, body, d = self.reduce.name, self.reduce.body.type, writer.d
        width = self.width
        if isinstance(body, Tuple):
            wins = writer.tuple_wins(name, body, b[:width], a[:width])
            joined = tuple(writer.name(d.select(wins, y, x)) for x, y in zip(a[:width], b[:width]))
        elif name in ("min", "max"):
            joined = (writer.name(writer.least(name, self.types[0], a[0], b[0])),)
        elif name in ("mean", "count"):
            joined = tuple(writer.name(d.arithmetic("+", t, x, y))
                           for t, x, y in zip(self.types[:width], a[:width], b[:width]))
        else:
            joined = (writer.name(d.arithmetic(_PLAIN[name], self.types[0], a[0], b[0])),)
        return joined if self.reduce.default is None else (*joined, writer.name(d.either(a[-1], b[-1])))

    def finish(self, writer: Writer, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The value of the reduction from its components; `default` where nothing contributed."""
        result, d = self.reduce.type, writer.d
        if isinstance(result, Tuple):
            values = parts[: self.width]
        else:
            text = f"{parts[0]} / f64({parts[1]})" if self.reduce.name == "mean" else parts[0]
            values = (writer.name(d.convert(result, text) if result != BOOL else text),)
        if self.reduce.default is None:
            return values
        default = writer.items(self.reduce.default)
        return tuple(writer.name(d.select(parts[-1], v, e)) for v, e in zip(values, default))
