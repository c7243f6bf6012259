"""A view of one loop for the analysis: its statements in order, the fields that it writes, and its constant values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from vlang.ir.forms import forms as f
from vlang.records import dataclass

__all__ = ["Leaf", "LoopScope", "above", "expressions", "loops_of", "statements"]

_INNER = (f.Repeat, f.Sweep, f.ForVertices, f.ForRange)


@dataclass(frozen=True, eq=False)
class Leaf:
    """A statement without a block, and the `where`s of the loop around the statement, outermost first."""

    statement: f.Statement
    wheres: tuple[f.Where, ...]


def statements(body: Iterable[f.Statement]) -> Iterator[f.Statement]:
    """Yield every statement; a statement with a block comes before the statements in the block."""
    for statement in body:
        yield statement
        if isinstance(statement, (f.Where, *_INNER)):
            yield from statements(statement.body)


def loops_of(program: f.Program) -> tuple[f.Repeat, ...]:
    """Every `repeat` of a program, in the order of the text."""
    return tuple(s for s in statements(program.body) if isinstance(s, f.Repeat))


def expressions(statement: f.Statement) -> tuple[f.Expr, ...]:
    """Yield the expressions that a statement evaluates, without the expressions in its block."""
    if isinstance(statement, f.Gather):
        return (statement.reduce,)
    if isinstance(statement, (f.Apply, f.Let, f.InitField, f.InitGlobal)):
        return (statement.value,)
    if isinstance(statement, (f.Where, f.Activate)):
        return (statement.cond,)
    found: tuple[f.Expr | None, ...] = ()
    if isinstance(statement, f.Repeat):
        found = (statement.limit, statement.until)
    elif isinstance(statement, f.ForRange):
        found = (statement.low, statement.high, statement.until)
    return tuple(e for e in found if e is not None)


def above(program: f.Program, wanted: f.Statement) -> tuple[f.Statement, ...]:
    """The blocks around a statement, outermost first."""

    def search(body: tuple[f.Statement, ...], path: tuple[f.Statement, ...]) -> tuple[f.Statement, ...] | None:
        for statement in body:
            if statement is wanted:
                return path
            if isinstance(statement, (f.Where, *_INNER)):
                found = search(statement.body, (*path, statement))
                if found is not None:
                    return found
        return None

    return search(program.body, ()) or ()


def _leaves(body: tuple[f.Statement, ...], wheres: tuple[f.Where, ...]) -> Iterator[Leaf]:
    for statement in body:
        if isinstance(statement, f.Where):
            yield from _leaves(statement.body, (*wheres, statement))
        elif not isinstance(statement, (f.Activate, *_INNER)):
            yield Leaf(statement, wheres)


@dataclass(frozen=True, eq=False)
class LoopScope:
    """A loop, together with the program that contains it."""

    program: f.Program
    loop: f.Repeat

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The gathers, applies, lets and local initializers in order, without the statements of inner loops."""
        return tuple(_leaves(self.loop.body, ()))

    @cached_property
    def inner(self) -> f.Statement | None:
        """The first loop inside this loop; None if there is none."""
        return next((s for s in statements(self.loop.body) if isinstance(s, _INNER)), None)

    @cached_property
    def local(self) -> frozenset[str]:
        """Fields declared inside the loop."""
        return frozenset(s.name for s in statements(self.loop.body) if isinstance(s, f.InitField))

    @cached_property
    def written(self) -> frozenset[str]:
        """Every field that the loop writes."""
        applied = {name for s in statements(self.loop.body) if isinstance(s, f.Apply) for name in s.fields}
        return self.local | applied

    @cached_property
    def gathers(self) -> dict[str, f.Gather]:
        """The gathers of the loop by name, in order."""
        return {s.name: s for s in statements(self.loop.body) if isinstance(s, f.Gather)}

    @cached_property
    def lets(self) -> frozenset[str]:
        """The `let`s of the loop."""
        return frozenset(s.name for s in statements(self.loop.body) if isinstance(s, f.Let))

    @cached_property
    def reads_iteration(self) -> bool:
        """Whether the loop reads `iteration`.

        Reads in an inner loop do not count, since there `iteration` counts the supersteps of the inner loop.
        """
        blocks = {s for s in statements(self.loop.body) if isinstance(s, f.Repeat)}
        inner = {s for block in blocks for s in statements(block.body)}
        own = [s for s in statements(self.loop.body) if s not in inner]
        exprs = [e for s in own if s not in blocks for e in expressions(s)]
        exprs += [self.loop.until] if self.loop.until is not None else []
        return any(isinstance(e, f.GraphValue) and e.name == "iteration" for expr in exprs for e in f.walk(expr))

    def seen(self, expr: f.Expr) -> Iterator[f.Expr]:
        """The expression and its subexpressions; for an accumulator of the loop, also the expressions of its gather."""
        for part in f.walk(expr):
            yield part
            if isinstance(part, f.Accumulator) and part.name in self.gathers:
                yield from self.seen(self.gathers[part.name].reduce)

    def word(self, name: str) -> str:
        """Return the name in the program text that belongs to a unique name."""
        return self.program.names.get(name, name)

    def varying(self, expr: f.Expr, sent: bool = False, own_old: bool = False) -> str | None:
        """Return the first value in an expression that may change in every superstep, as program text; None if there is
        no such value.

        Such values are `iteration`, a `let` of the loop, `old` and `change`.

        Args:
            sent: whether to ignore `change`, which neighbours send in a delta loop.
            own_old: whether to ignore `old` of fields of the vertex itself.
        """
        for part in self.seen(expr):
            if isinstance(part, f.GraphValue):
                if part.kind == "builtin" and part.name == "iteration":
                    return "iteration"
                if part.kind == "let" and part.name in self.lets:
                    return self.word(part.name)
            if isinstance(part, f.Field) and part.name in self.written:
                if part.time == "change" and not sent:
                    return f"change({self.word(part.name)})"
                if part.time == "old" and not (own_old and part.of == "self"):
                    return f"old({self.word(part.name)})"
        return None

    def steady(self, expr: f.Expr) -> bool:
        """Return whether an expression is constant in the loop: it reads no varying value, and no field that the loop
        writes.
        """
        return self.varying(expr) is None and not any(
            isinstance(part, f.Field) and part.name in self.written for part in self.seen(expr)
        )

    def distant(self, expr: f.Expr) -> f.Field | None:
        """Return a read of a field that the loop writes, at an arbitrary vertex (`label.label`); None if there is no
        such read.
        """
        for part in self.seen(expr):
            if isinstance(part, f.Field) and isinstance(part.of, f.Expr) and part.name in self.written:
                return part
        return None

    def own(self, expr: f.Expr) -> frozenset[str]:
        """The fields written in the loop that an expression reads at the vertex itself, except through accumulators."""
        return frozenset(e.name for e in _outside_vertices(expr)
                         if isinstance(e, f.Field) and e.of == "self" and e.name in self.written)

    def neighbour(self, expr: f.Expr) -> frozenset[str]:
        """The fields written in the loop that an expression reads at neighbours, except through accumulators."""
        return frozenset(e.name for e in f.walk(expr)
                         if isinstance(e, f.Field) and e.of == "other" and e.name in self.written)


def _outside_vertices(expr: f.Expr) -> Iterator[f.Expr]:
    """Yield the parts of an expression outside of reductions over vertices. Inside such reductions, "self" means every
    vertex.
    """
    if isinstance(expr, f.Reduce) and not expr.domain.edges:
        return
    yield expr
    for child in f.children(expr):
        yield from _outside_vertices(child)
