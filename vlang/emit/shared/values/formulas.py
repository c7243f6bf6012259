"""Code of IR expressions: straight-line code, in which each line names one value.

Every subexpression is evaluated, even if a conditional does not choose it, because expressions have no effects and no
operation traps. Therefore the code has no branches, and computes equal subexpressions once. Every target uses the same
code, in the syntax of its Dialect.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from vlang.emit.shared.values import integers, vectors
from vlang.emit.shared.values.components import ComponentWriter
from vlang.emit.shared.values.dialect import Dialect, scalars_of
from vlang.emit.shared.values.operations import COMPARE, WRITERS
from vlang.ir.forms import forms as f
from vlang.ir.forms.range_arithmetic import Range, whole
from vlang.ir.forms.ranges import Ranges
from vlang.syntax.tree import Span
from vlang.types import BOOL, F16, F32, VERTEX, Scalar, Tuple, Type, Vector

__all__ = ["Place", "Unwritable", "Writer", "located"]


class Unwritable(Exception):
    """An expression that the writer cannot write.

    Args:
        what: the name of the expression, in terms of the language.
        span: its place.
    """

    def __init__(self, what: str, span: Span | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.span = span


@contextmanager
def located(span: Span) -> Iterator[None]:
    """Add the place `span` to an Unwritable raised inside the context."""
    try:
        yield
    except Unwritable as error:
        raise Unwritable(error.what, error.span or span) from None


class Place(Protocol):
    """How the function being written reads names. Methods return the code of values, one text per component.

    Attributes:
        of: the code of the index of the vertex, for a field or degree of a vertex that an expression computes;
            otherwise None.
        index: returns the code of the index of a vertex from the code of the number of the vertex.
        third: returns the code of the index of the common neighbour, in a reduction over common neighbours.
        between: returns the code of the sum of an edge field over the edges between two vertices; None if the graph has
            no such field.
        state: returns the code of an edge state before the pass, at the current edge or at the opposite edge.
        kept: returns the code of the array element that stores the new value of an edge state.
        reduced: writes the code of a reduction inside the expression; returns its value.
        matrix: returns the code of a pointer to the columns of a matrix; None if no parameter has this shape.
    """

    def field(self, expr: f.Field, of: str | None) -> tuple[str, ...]: ...
    def last_sent(self, expr: f.Field) -> tuple[str, ...]: ...
    def degree(self, expr: f.Degree, of: str | None) -> str: ...
    def edge(self, expr: f.EdgeValue) -> str: ...
    def state(self, expr: f.EdgeState) -> str: ...
    def kept(self, expr: f.Keep) -> str: ...
    def vertex(self, expr: f.Vertex) -> str: ...
    def index(self, number: str) -> str: ...
    def graph(self, expr: f.GraphValue) -> tuple[str, ...]: ...
    def matrix(self, expr: f.GraphValue, shape: tuple[int, int]) -> str | None: ...
    def members(self, expr: f.GraphValue) -> tuple[str, str, str, str]: ...
    def neighbours(self, expr: f.Expr) -> tuple[str, str]: ...
    def numbers(self) -> tuple[str, str, str]: ...
    def accumulator(self, expr: f.Accumulator) -> tuple[str, ...]: ...
    def given(self, expr: f.Expr) -> tuple[str, ...] | None: ...
    def reduction(self, name: str) -> f.UserReduction: ...
    def ranges(self) -> Ranges: ...
    def may_leave(self) -> bool: ...
    def third(self) -> str: ...
    def between(self, writer: Writer, expr: f.Op) -> str | None: ...
    def reduced(self, writer: Writer, expr: f.Reduce) -> tuple[str, ...]: ...


class Writer(ComponentWriter):
    """Writes the body of one function. `lines` is the code so far, without indentation."""

    def __init__(self, place: Place, dialect: Dialect) -> None:
        super().__init__(dialect)
        self.place = place
        self._known: dict[f.Expr, tuple[str, ...]] = {}
        self.guard = ""  # the bool that loops over common neighbours test before they run; "" if they always run
        self.left: list[str] = []  # names of bools that say whether a declared reduction of integers left its type

    def elsewhere(self, place: Place) -> Writer:
        """Return a writer that adds to the same lines, but reads names through another `place`."""
        other = Writer(place, self.d)
        other.lines, other._numbers = self.lines, self._numbers
        return other

    def know(self, expr: f.Expr, names: tuple[str, ...]) -> None:
        """Use the given names for the value of an expression from now on."""
        self._known[expr] = names

    def forget(self) -> None:
        """Forget known values after a write to a field, because the same expression may then have another value."""
        self._known.clear()

    def value(self, expr: f.Expr) -> str:
        """Write the code of a scalar expression; returns the name of its value."""
        (result,) = self.items(expr)
        return result

    def items(self, expr: f.Expr) -> tuple[str, ...]:
        """Write the code of an expression. Return one name for a scalar, or a name for each item of a tuple or vector.
        """
        known = self._known.get(expr)
        if known is None:
            texts = self._write(expr)
            known = self._known[expr] = self.names(scalars_of(expr.type), texts)
        return known

    def _write(self, expr: f.Expr) -> tuple[str, ...]:
        given = self.place.given(expr)
        if given is not None:
            return given
        if isinstance(expr, f.Const):
            return (self.d.constant(expr.value, expr.type),)
        if isinstance(expr, f.Accumulator):
            return self.place.accumulator(expr)
        if isinstance(expr, f.Op):
            return self._operation(expr)
        return self._leaf(expr)

    def _leaf(self, expr: f.Expr) -> tuple[str, ...]:
        if isinstance(expr, f.GraphValue):
            return self.place.graph(expr)
        if isinstance(expr, f.Field) and expr.time == "change":
            return self._change(expr)
        if isinstance(expr, f.Reduce):
            return self.place.reduced(self, expr)
        if isinstance(expr, (f.Field, f.Degree)) and expr.of == f.THIRD:
            index = self.place.third()
            return (self.place.degree(expr, index),) if isinstance(expr, f.Degree) else self.place.field(expr, index)
        if isinstance(expr, (f.Field, f.Degree)) and isinstance(expr.of, f.Expr):
            return self._anywhere(expr, expr.of)
        if isinstance(expr, f.Field):
            return self.place.field(expr, None)
        if isinstance(expr, f.EdgeValue):
            return (self.place.edge(expr),)
        if isinstance(expr, f.EdgeState):
            return (self.place.state(expr),)
        if isinstance(expr, f.Keep):
            return (self._keep(expr),)
        if isinstance(expr, f.Vertex):
            return (self.place.vertex(expr),)
        if isinstance(expr, f.Degree):
            return (self.place.degree(expr, None),)
        raise Unwritable(f"`{type(expr).__name__.lower()}`")

    def _keep(self, expr: f.Keep) -> str:
        """Write code that stores a value at the current edge; return code that tests whether the value differs from the
        old value.
        """
        type_ = expr.value.type
        assert isinstance(type_, Scalar)
        inner, old = self, self.value(f.EdgeState(type_, expr.name))
        if isinstance(expr.value, f.Op) and expr.value.op == "select" and f.pairs(expr.value):
            cond, _, other = expr.value.args
            inner = self.elsewhere(self.place)
            inner.guard = "" if f.pairs(other) else self.value(cond)  # loops over common neighbours run only there
            inner.know(cond, (self.value(cond),))
        new = inner.value(expr.value)
        self.lines.append(self.d.assign(self.place.kept(expr), self.d.store(type_, new)))
        return self.differ(type_, (new,), (old,))

    def _change(self, expr: f.Field) -> tuple[str, ...]:
        """Code of `change`: the present value of a field minus the value last sent."""
        now = self.items(replace(expr, time="now"))
        known = None if isinstance(expr.type, Tuple) else self.known(replace(expr, time="now"))
        return tuple(self.difference(t, a, self.name(b), known)
                     for t, a, b in zip(scalars_of(expr.type), now, self.place.last_sent(expr)))

    def _anywhere(self, expr: f.Field | f.Degree, of: f.Expr) -> tuple[str, ...]:
        """Write a read of a field or degree of an arbitrary vertex; the value is zero if the vertex is `none`."""
        vertex = self.value(of)
        there = self.name(f"{vertex} != {self.d.constant(None, VERTEX)}")
        index = self.name(self.place.index(self.name(self.d.select(there, vertex, "u32(0)"))))
        found = (self.place.degree(expr, index),) if isinstance(expr, f.Degree) else self.place.field(expr, index)
        zeros = (self.d.constant(None if t == VERTEX else False if t == BOOL else 0, t) for t in scalars_of(expr.type))
        return tuple(self.d.select(there, self.name(text), zero) for text, zero in zip(found, zeros))

    # ------------------------------------------------------------------ operations
    def _operation(self, expr: f.Op) -> tuple[str, ...]:
        if expr.op == "tuple":
            return tuple(self.value(arg) for arg in expr.args)
        if expr.op == "item":
            assert isinstance(expr.data, int)
            return (self.items(expr.args[0])[expr.data],)
        if expr.op == "user":
            return self._called(self.place.reduction(str(expr.data)), *map(self.items, expr.args))
        if isinstance(expr.type, Vector) or any(isinstance(arg.type, Vector) for arg in expr.args):
            return vectors.operation(self, expr)
        if isinstance(expr.type, Tuple):
            return self._tuple_operation(expr)
        if any(isinstance(arg.type, Tuple) for arg in expr.args):
            a, b = (self.items(arg) for arg in expr.args)
            kinds = expr.args[0].type
            assert isinstance(kinds, Tuple)
            return (self.lexicographic(expr.op, a, b),)
        method = WRITERS.get(expr.op)
        if method is None or not isinstance(expr.type, Scalar):
            raise Unwritable(f"`{expr.op}`")
        return (method(self, expr),)

    def mixed(self, expr: f.Op) -> str:
        """Code that hashes the two operands of `expr`: a seed, and a key that is a vertex or an integer."""
        seed, key = (self.value(arg) for arg in expr.args)
        if expr.args[1].type == VERTEX:
            key = self.name(f"known({', '.join((key, *self.place.numbers()))})")
        return f"mix({seed}, {key})"

    def _called(self, reduction: f.UserReduction, a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
        """The result of a declared reduction applied to two values of its type."""
        wide, left = self.joined(reduction, self.widened(reduction, a), self.widened(reduction, b))
        result, outside = self.narrowed(reduction, wide)
        if reduction.exact:
            if not self.place.may_leave():
                raise Unwritable("a declared reduction of integers as a function of values of an edge")
            self.left += [*left, *outside]
        return result

    def joined(self, reduction: f.UserReduction, a: tuple[str, ...],
               b: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
        """Return the result of a declared reduction applied to two values of its wide (64-bit) type.

        Returns: The names of the components, and the names of bools that say whether an integer does not fit 64 bits.
        """
        call = next(self._numbers)
        sides: dict[f.Expr, f.Expr] = {
            f.Accumulator(reduction.wide, side): f.Accumulator(reduction.wide, f"{side} {call}")
            for side in (reduction.left, reduction.right)}
        self._known.update(zip(sides.values(), (a, b)))
        before, self.left = self.left, []
        names = self.items(_with(reduction.body, sides))
        left, self.left = self.left, before
        return names, left

    def widened(self, reduction: f.UserReduction, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the components of a value of a declared reduction, converted to its wide (64-bit) type."""
        kinds = zip(names, scalars_of(reduction.type), scalars_of(reduction.wide))
        return tuple(name if a == b else self.name(self.cast(name, a, b)) for name, a, b in kinds)

    def narrowed(self, reduction: f.UserReduction, names: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
        """The components of a wide value of a declared reduction, converted to the type of the reduction.

        Returns: The names of the converted components, and the names of bools that say whether a component does not
            fit.
        """
        values, outside, d = [], [], self.d
        for name, wide, type_ in zip(names, scalars_of(reduction.wide), scalars_of(reduction.type)):
            if wide != type_:
                step = int(type_.kind == "uint")  # in signed types, the extremes are infinities
                tests = [f"{name} >= {d.constant(type_.highest + step, wide)}"]
                if wide.kind == "int":
                    beyond = d.disjunction(*tests, f"{name} <= {d.constant(type_.lowest - step, wide)}")
                    tests = [f"({beyond})", *(f"{name} != {end}" for end in self.bounds(wide))]
                outside.append(self.name(d.conjunction(*tests)))
                name = self.name(self.cast(name, wide, type_))
            values.append(name)
        return tuple(values), outside

    def _tuple_operation(self, expr: f.Op) -> tuple[str, ...]:
        assert isinstance(expr.type, Tuple)
        if expr.op == "cast":
            source = expr.args[0].type
            assert isinstance(source, Tuple)
            names = self.items(expr.args[0])
            return tuple(self.cast(n, s, t) for n, s, t in zip(names, source.items, expr.type.items))
        if expr.op == "select":
            test = self.value(expr.args[0])
            yes, no = self.items(expr.args[1]), self.items(expr.args[2])
            return tuple(self.d.select(test, y, n) for y, n in zip(yes, no))
        if expr.op in ("min", "max"):
            a, b = self.items(expr.args[0]), self.items(expr.args[1])
            wins = self.tuple_wins(expr.op, expr.type, b, a)
            return tuple(self.d.select(wins, y, x) for x, y in zip(a, b))
        raise Unwritable(f"`{expr.op}` of tuples")

    def tuple_wins(self, op: str, type_: Tuple, new: tuple[str, ...], best: tuple[str, ...]) -> str:
        """Return code that tests whether tuple `new` is better than tuple `best` under min or max. A tuple that starts
        with the identity is never better.

        Args:
            op: "min" or "max".
            type_: The type of the two tuples.
            new: The names of the components of `new`.
            best: The names of the components of `best`.
        """
        first = type_.items[0]
        nothing = self.d.constant(None if first == VERTEX else math.inf if op == "min" else -math.inf, first)
        a, b = (self.orderable(op, type_, names) for names in (new, best))
        smaller = self.name(self.lexicographic("lt" if op == "min" else "gt", a, b))
        return self.name(self.d.conjunction(smaller, f"{new[0]} != {nothing}"))

    def orderable(self, op: str, type_: Tuple, names: tuple[str, ...]) -> tuple[str, ...]:
        """Components whose plain order puts `none` last. For max, ids are increased by 1, and `none` wraps to 0."""
        if op == "min":
            return names
        return tuple(self.name(self.d.arithmetic("+", t, n, "u32(1)")) if t == VERTEX else n
                     for n, t in zip(names, type_.items))

    def lexicographic(self, op: str, a: tuple[str, ...], b: tuple[str, ...]) -> str:
        """Code that compares two tuples."""
        if op in ("eq", "ne"):
            same = self.d.conjunction(*(f"{x} == {y}" for x, y in zip(a, b)))
            return same if op == "eq" else self.d.negation(f"({same})")
        text = f"{a[-1]} {COMPARE[op]} {b[-1]}"
        strict = op[0] + "t"
        for x, y in list(zip(a, b))[-2::-1]:
            tie = self.d.conjunction(f"{x} == {y}", text)
            text = f"({self.d.disjunction(f'{x} {COMPARE[strict]} {y}', f'({tie})')})"
        return text

    def cast(self, name: str, source: Type, target: Type, known: Range | None = None) -> str:
        """Code that converts a value to another type.

        An infinite integer stays infinite in other integer types and in floats. A value that is too large for an
        integer type becomes infinite. A 32-bit value is rounded when it becomes an f16.

        Args:
            name: The value.
            source: Its type.
            target: The type to convert to.
            known: The range of an integer value; None if it may have any value of its type.
        """
        assert isinstance(source, Scalar)
        assert isinstance(target, Scalar)
        if target == F16 and source != F16:
            return self.d.load(F16, self.d.store(F16, self.name(self.cast(name, source, F32))))
        if self.d.typename(source) == self.d.typename(target):
            return name
        plain = self.d.convert(target, name)
        if source.integral and target.integral and (target.highest < source.highest or target.lowest > source.lowest):
            return integers.narrowed(self, name, source, target, known)
        if source.kind != "int" or target.kind not in ("int", "float"):
            return plain
        high, low = self.bounds(source)
        up, down = self.bounds(target)
        return self.d.select(f"{name} == {high}", up, self.d.select(f"{name} == {low}", down, plain))

    def bounds(self, type_: Type) -> tuple[str, str]:
        """The constants `inf` and `-inf` of a type."""
        return self.d.constant(math.inf, type_), self.d.constant(-math.inf, type_)

    def known(self, expr: f.Expr) -> Range | None:
        """The range of a scalar; None if it is not an integer."""
        return self.place.ranges().of(expr)

    def range(self, expr: f.Expr) -> Range:
        """The range of an integer."""
        known = self.known(expr)
        assert known is not None, expr.type
        return known

    def sum(self, type_: Type, a: str, b: str) -> str:
        """The name of a + b. The operands may have any values of the type."""
        known = whole(type_)
        if known is None:
            return self.name(self.d.arithmetic("+", type_, a, b))
        return self.name(integers.added(self, known.type, a, b, known, known))

    def difference(self, type_: Type, a: str, b: str, known: Range | None = None) -> str:
        """The name of a - b.

        Args:
            type_: The type of operands and result.
            a: The first operand.
            b: The second operand.
            known: The range of both operands; None if they may have any value of the type.
        """
        known = known or whole(type_)
        if known is None:
            return self.name(self.d.arithmetic("-", type_, a, b))
        return self.name(integers.subtracted(self, known.type, a, b, known, known))


def _with(expr: f.Expr, new: Mapping[f.Expr, f.Expr]) -> f.Expr:
    """Return the expression after replacement of each subexpression that is a key of `new`."""
    if expr in new:
        return new[expr]
    return f.rebuild(expr, tuple(_with(child, new) for child in f.children(expr)))
