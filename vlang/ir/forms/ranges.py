"""The least and largest possible value of each integer of a program, derived from types, literals, contracts and
writes.

If the exact result of an operation always fits its type, targets compute the operation with plain instructions. If a
value may be infinite, its range includes the bit patterns of `inf` and `-inf`.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import NamedTuple

from vlang.ir.forms import forms as f
from vlang.ir.forms.moves import Known
from vlang.ir.forms.range_arithmetic import (
    Found,
    Range,
    arithmetic,
    both,
    compared,
    converted,
    difference,
    limited,
    parts,
    whole,
    widened,
)
from vlang.ir.forms.visible import statements
from vlang.reductions import identity
from vlang.runtime.plan.derived import COMMON
from vlang.types import Scalar, Tuple, Type, VertexSet

__all__ = ["MOST_EDGES", "SIZES", "USUAL", "Ranges", "Sizes", "sizes_of"]

MOST_EDGES = (1 << 31) - 2
"""The most edges in one row: a graph with a longer row is refused."""

_PATIENCE = 3  # how often a range may grow before it is widened
_MOST_SUPERSTEPS = (1 << 31) - 2
"""The most supersteps of a loop that reads `iteration`: the loop ends before its number needs more than 32 bits."""


class Sizes(NamedTuple):
    """Upper bounds on the size of a graph: the number of its vertices, and of its stored edges."""

    vertices: int
    edges: int

    @property
    def row(self) -> int:
        """The largest total number of in-edges and out-edges of a vertex."""
        return min(2 * self.edges, MOST_EDGES)


_SMALL = Sizes(1 << 18, 1 << 24)
USUAL = Sizes((1 << 31) - 2, 1 << 40)
_LARGE = Sizes((1 << 32) - 2, 1 << 48)
SIZES = (_SMALL, USUAL, _LARGE)
"""The classes of graph sizes. Plans are made for a class, so that few different kernels are compiled."""


def sizes_of(vertices: int, edges: int) -> Sizes:
    """The smallest class of graph sizes that contains a graph."""
    return next((size for size in SIZES if vertices <= size.vertices and edges <= size.edges), _LARGE)


class Ranges:
    """The ranges of a program's values.

    Args:
        program: The program; if None, every value ranges over its whole type.
        given: The fields that the caller passes in place of their initializers.
        sizes: Upper bounds on the vertices and edges of the graph.
    """

    def __init__(self, program: f.Program | None = None, given: frozenset[str] = frozenset(),
                 sizes: Sizes = USUAL) -> None:
        self.sizes = sizes
        self._columns = frozenset(decl.name for decl in program.edges) if program is not None else frozenset()
        self._names: dict[str, Found] = {}
        self._known = Known(program, {}) if program is not None else None
        self._memo: dict[f.Expr, Found] = {}
        if program is not None:
            self._solve(program, given)

    @property
    def common(self) -> int:
        """The largest number of common neighbours that two vertices can have."""
        return min(self.sizes.row, self.sizes.vertices)

    def of(self, expr: f.Expr) -> Range | None:
        """The range of a scalar, or of the components of a vector; None if they are not integers."""
        return self._of(expr)[0]

    def terms(self, reduce: f.Reduce) -> int:
        """The largest number of terms that a reduction can have."""
        return self.common if reduce.domain.kind == "common" else \
            self.sizes.row if reduce.domain.stored else self.sizes.vertices

    def term(self, reduce: f.Reduce) -> Range | None:
        """Return the range of a term, in the type of the term before its conversion for the sum."""
        body = reduce.body
        while isinstance(body, f.Op) and body.op == "cast" and whole(body.args[0].type) is not None:
            (body,) = body.args
        return self.within(reduce.cond).of(body)

    def within(self, cond: f.Expr | None) -> Ranges:
        """Return the ranges of values under the assumption that a condition holds."""
        limits: dict[f.Expr, Found] = {}
        for test in _conjuncts(cond):
            a, b = test.args
            for value, op, other in ((a, test.op, b), (b, _TURNED[test.op], a)):
                known, bound = self._of(value)[0], self._of(other)[0]
                if known is not None and bound is not None:
                    before = limits.get(value, (known,))[0] or known
                    limits[value] = (compared(before, op, bound),)
        if not limits:
            return self
        narrower = copy(self)
        narrower._memo = limits
        return narrower

    # ----------------------------------------------------------------- names
    def _solve(self, program: f.Program, given: frozenset[str]) -> None:
        """Join the values of all writes into the ranges of the names, until no range grows."""
        found: dict[str, Found] = {}
        for decl in program.fields:
            if decl.required or decl.name in given:
                found[decl.name] = self._contracted(f.Field(decl.type, decl.name, "self"))
        grown: dict[str, int] = {}
        self._names = found
        changed = True
        while changed:
            changed = False
            for name, value in _writes(program, given):
                new = self._joined(found.get(name), value if isinstance(value, tuple) else self._of(value))
                if new != found.get(name):
                    changed, grown[name] = True, grown.get(name, 0) + 1
                    found[name] = new if grown[name] < _PATIENCE else widened(found.get(name), new)
                    self._memo.clear()

    @staticmethod
    def _joined(a: Found | None, b: Found) -> Found:
        return b if a is None else tuple(x and x.joined(y) for x, y in zip(a, b, strict=True))

    def _contracted(self, expr: f.Expr) -> Found:
        """Return the range of an input, narrowed by contracts."""
        known, assumed = whole(expr.type), self._known
        if known is None or assumed is None or not isinstance(expr.type, Scalar):
            return parts(expr.type)
        return (limited(*assumed.bounds(expr, known.low, known.high), expr.type),)

    # ----------------------------------------------------------- expressions
    def _of(self, expr: f.Expr) -> Found:
        known = self._memo.get(expr)
        if known is None:
            known = self._memo[expr] = self._find(expr)
        return known

    def _find(self, expr: f.Expr) -> Found:
        if isinstance(expr.type, VertexSet):
            return (None,)
        if isinstance(expr, f.Const):
            kind, value = whole(expr.type), expr.value
            return (Range(value, value, kind.type) if kind and isinstance(value, int) else kind,)
        if isinstance(expr, f.Field):
            return self._field(expr)
        if isinstance(expr, f.Op):
            return self._tuple(expr) if isinstance(expr.type, Tuple) else (self._op(expr),)
        if isinstance(expr, f.Reduce):
            return _reduced(expr, self)
        if isinstance(expr, f.Degree) and isinstance(expr.type, Scalar):
            return (limited(0, self.sizes.row, expr.type),)
        if isinstance(expr, f.EdgeValue) and expr.name not in self._columns and isinstance(expr.type, Scalar):
            most = self.common if expr.name == COMMON else self.sizes.row
            return (limited(0, most, expr.type),)  # a count that the graph computes for each edge
        if isinstance(expr, f.EdgeValue):
            return self._contracted(expr)
        if isinstance(expr, f.GraphValue) and expr.kind == "parameter":
            return self._contracted(expr)
        if isinstance(expr, f.GraphValue) and expr.kind == "builtin":
            most = {"N": self.sizes.vertices, "M": self.sizes.edges}.get(expr.name, _MOST_SUPERSTEPS)
            return (limited(0, most, expr.type),) if isinstance(expr.type, Scalar) else parts(expr.type)
        if isinstance(expr, (f.GraphValue, f.Accumulator)):
            found = self._names.get(expr.name)
            return found if found is not None and len(found) == len(parts(expr.type)) else parts(expr.type)
        return parts(expr.type)

    def _field(self, expr: f.Field) -> Found:
        found = self._names.get(expr.name, parts(expr.type))
        if expr.time == "change":  # the first change is the whole value: nothing has been sent before
            return tuple(part and (difference(part, part).joined(part) if part.type.kind == "int" else whole(part.type))
                         for part in found)
        if isinstance(expr.of, f.Expr):  # a field read at `none` is 0
            return tuple(part and part.joined(Range(0, 0, part.type)) for part in found)
        return found

    def _tuple(self, expr: f.Op) -> Found:
        if expr.op == "tuple":
            return tuple(self._of(arg)[0] for arg in expr.args)
        if expr.op in ("min", "max", "select"):
            a, b = (self._of(arg) for arg in expr.args[-2:])
            return self._joined(a, b)
        return parts(expr.type)

    def _op(self, expr: f.Op) -> Range | None:
        kind = whole(expr.type)
        if kind is None:
            return None
        if expr.op == "item":
            assert isinstance(expr.data, int)
            return self._of(expr.args[0])[expr.data]
        if expr.op == "select":
            return both(self.of(expr.args[1]), self.of(expr.args[2]))
        args = [self.of(arg) for arg in expr.args]
        if expr.op == "vector":
            result = args[0]
            for arg in args[1:]:
                result = both(result, arg)
            return result
        if expr.op in ("component", "part", "broadcast", "reverse", "vmin", "vmax"):
            return args[0]
        if expr.op == "common":
            return limited(0, self.common, kind.type)
        if expr.op == "ordinal" or (expr.op == "between" and not expr.data):  # between: a number of parallel edges
            return limited(0, self.sizes.row, kind.type)
        if expr.op == "len":
            return limited(0, self.sizes.vertices, kind.type)
        if expr.op == "position":
            return limited(-1, self.sizes.vertices, kind.type)
        if expr.op == "cast":
            return kind if args[0] is None or expr.data == "wrap" else converted(args[0], kind.type)
        if any(arg is None for arg in args):
            return kind
        return arithmetic(expr.op, [arg for arg in args if arg is not None], kind)


_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def _conjuncts(cond: f.Expr | None) -> Iterator[f.Op]:
    """Return the comparisons that must be true if a condition is true."""
    if isinstance(cond, f.Op) and cond.op == "and":
        for part in cond.args:
            yield from _conjuncts(part)
    elif isinstance(cond, f.Op) and cond.op in _TURNED:
        yield cond


def _writes(program: f.Program, given: frozenset[str]) -> Iterator[tuple[str, f.Expr | Found]]:
    """Yield, for each write, the written name together with the written value or its ranges."""
    types = {decl.name: decl.type for decl in program.fields}
    for statement in statements(program.body):
        if isinstance(statement, f.InitField):
            if statement.name not in given:
                yield statement.name, statement.value
        elif isinstance(statement, (f.Let, f.InitGlobal)):
            yield statement.name, statement.value
        elif isinstance(statement, f.Gather):
            yield statement.name, statement.reduce
        elif isinstance(statement, f.Apply):
            for number, name in enumerate(statement.fields):
                alone = len(statement.fields) == 1
                yield name, statement.value if alone else _part(statement.value, number, types[name])
        elif isinstance(statement, f.ForRange):
            yield statement.name, statement.low
            yield statement.name, statement.high


def _part(value: f.Expr, number: int, type_: Type) -> f.Expr:
    """Component `number` of a tuple value."""
    if isinstance(value, f.Op) and value.op == "tuple":
        return value.args[number]
    return f.Op(type_, "item", (value,), number)


def _reduced(expr: f.Reduce, ranges: Ranges) -> Found:
    """The ranges of a reduction."""
    if expr.user or expr.part is not None:
        return parts(expr.type)
    if isinstance(expr.type, Tuple):
        return parts(expr.type)
    kind = whole(expr.type)
    if kind is None:
        return (None,)
    body = ranges.term(expr)
    found = _combined(expr, body, kind, ranges.terms(expr))
    if expr.default is None:
        return (found,)
    return (both(found, ranges.of(expr.default)),)


def _combined(expr: f.Reduce, body: Range | None, kind: Range, most: int) -> Range:
    """The range of a reduction without `default`.

    Args:
        most: the largest number of terms.
    """
    if expr.counts:
        return limited(0, most, kind.type)
    if expr.name in ("hindex", "mex"):
        return Range(0, kind.high, kind.type)
    if body is None:
        return kind
    if expr.operator == "+":
        low, high = body.finite or (0, 0)
        return limited(kind.low if body.down else min(0, low * most), kind.high if body.up else max(0, high * most),
                       kind.type)
    body = converted(body, kind.type)
    if expr.operator in ("min", "max") or expr.name in ("mode", "median"):
        none = identity(expr.name, kind.type) if expr.operator in ("min", "max") else 0
        if expr.default is not None or not isinstance(none, int):
            return body
        return Range(min(none, body.low), max(none, body.high), body.type)
    if expr.operator in ("|", "^") and body.low >= 0:
        return Range(0, (1 << body.high.bit_length()) - 1, body.type)
    return Range(0, kind.high, kind.type) if expr.operator == "*" and body.low >= 0 else kind
