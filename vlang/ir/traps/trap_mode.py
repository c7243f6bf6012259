"""Trap mode: the program with a test after every operation that can fail, and the place of each test in the text.

Each operation that can fail has a number, and the numbers increase in the order of evaluation. Statements inserted
before each statement (and also after a gather) compute the number of the first operation that fails in the statement,
or 0. A field holds the numbers of failures at vertices. `let`s hold the numbers for graph-level values and for
reductions over vertices. After every step and superstep, the engine reads these numbers and ends the run if a number is
not 0 (language.md 6.1).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace

from vlang.ir.forms import forms as f
from vlang.ir.traps import build as b
from vlang.ir.traps.failing import reduction_failures
from vlang.ir.traps.operations import Failing, failing, in_groups, in_terms
from vlang.records import dataclass
from vlang.runtime.plan.plan import Watch
from vlang.syntax.tree import Span
from vlang.types import BOOL, U32, VERTEX

__all__ = ["Site", "Trapping", "trapping"]

_NONE = f.Const(U32, U32.highest)
_ZERO = f.Const(U32, 0)
_SELF = f.Vertex(VERTEX, "self")


@dataclass(frozen=True)
class Site:
    """An operation that can fail.

    Attributes:
        kind: The kind of failure, one of vlang.ir.traps.failing.KINDS.
        span: The place of the operation in the text.
        statement: The number of the statement, in the order of the text.
    """

    kind: str
    span: Span
    statement: int


@dataclass(frozen=True)
class Trapping:
    """A program in trap mode.

    Attributes:
        program: The program with tests.
        sites: The operations by number: number k stands for sites[k - 1].
        watch: The values from which the engine reads the numbers.
    """

    program: f.Program
    sites: tuple[Site, ...]
    watch: Watch


def trapping(program: f.Program, given: frozenset[str]) -> Trapping:
    """The program in trap mode.

    Args:
        given: fields that the caller passes. The initializers of these fields do not run.
    """
    tests = _Tests(program, given)
    body = tests.block(program.body)
    start = f.InitField(_nowhere(program), tests.note, _ZERO)
    decl = f.FieldDecl(tests.note, U32, True, False, start.span)
    names = program.names | {name: name for name in tests.made}
    whole = replace(program, body=(start, *body), fields=(*program.fields, decl), names=names)
    return Trapping(whole, tuple(tests.sites), Watch(note=tests.note, numbers=tuple(tests.numbers)))


def _nowhere(program: f.Program) -> Span:
    return program.body[0].span if program.body else Span(0, 0, 1, 1)


class _Tests:
    """Inserts tests into a program."""

    def __init__(self, program: f.Program, given: frozenset[str]) -> None:
        self._program, self._given = program, given
        self.sites: list[Site] = []
        self.numbers: list[tuple[str, str]] = []
        self.made: set[str] = set()
        self._statement = 0
        self.note = self._fresh("note")

    def block(self, body: tuple[f.Statement, ...]) -> tuple[f.Statement, ...]:
        """A block with tests; `activate when` stays the last statement."""
        return tuple(part for one in body for part in self._tested(one))

    def _tested(self, one: f.Statement) -> Iterator[f.Statement]:
        self._statement += 1
        if isinstance(one, f.Gather) and isinstance(one.reduce.body, f.Keep):
            # The values are tested before the store, from which the tests would read no other values: a store is seen
            # by the next statement only.
            yield from self._terms(replace(one.reduce, body=one.reduce.body.value), one.span)
            yield one
        elif isinstance(one, f.Gather):
            yield from self._terms(one.reduce, one.span)
            yield one
            yield from self._result(one.reduce, f.Accumulator(one.reduce.type, one.name), one.span)
        elif isinstance(one, f.Apply):
            yield from self._at_vertices(one.value, one.span)
            yield one
        elif isinstance(one, f.Activate):
            yield from self._at_vertices(one.cond, one.span)
            yield one
        elif isinstance(one, f.InitField):
            if one.name not in self._given:
                yield from self._at_vertices(one.value, one.span)
            yield one
        elif isinstance(one, (f.Let, f.InitGlobal)):
            yield from self._at_graph((one.value,), one.span)
            yield one
        else:
            yield from self._block(one)

    def _block(self, one: f.Statement) -> Iterator[f.Statement]:
        """A statement with a block; `until` is tested at the end of the block, before `activate`."""
        if isinstance(one, f.Where):
            yield from self._at_vertices(one.cond, one.span)
            yield replace(one, body=self.block(one.body))
        elif isinstance(one, (f.Repeat, f.ForRange)):
            before = (one.limit,) if isinstance(one, f.Repeat) else (one.low, one.high)
            yield from self._at_graph([e for e in before if e is not None], one.span)
            last = len(one.body) - (bool(one.body) and isinstance(one.body[-1], f.Activate))
            body = self.block(one.body[:last])
            self._statement += 1
            tested = () if one.until is None or _reads_change(one.until) else (one.until,)
            yield replace(one, body=(*body, *self._at_graph(tested, one.span), *self.block(one.body[last:])))
        elif isinstance(one, (f.Sweep, f.ForVertices)):
            yield replace(one, body=self.block(one.body))
        else:
            yield one

    # -------------------------------------------------------------------------------------------------- statements
    def _at_vertices(self, value: f.Expr, span: Span) -> Iterator[f.Statement]:
        """Yield the tests of an expression that is evaluated for each vertex."""
        value = yield from self._named(value, span)
        yield from self._noted(self._number(failing(value, span)), span)

    def _at_graph(self, values: Iterable[f.Expr], span: Span) -> Iterator[f.Statement]:
        """Yield the tests of expressions that are evaluated once."""
        for value in values:
            value = yield from self._named(value, span)
            number = self._number(failing(value, span))
            if number is not None:
                yield self._let(span, "number", number, "")

    def _named(self, value: f.Expr, span: Span) -> Generator[f.Statement, None, f.Expr]:
        """Yield the tests of the reductions in an expression. Return the expression with names in place of reductions.
        """
        if isinstance(value, f.Reduce):
            span = value.span or span
            if value.domain.edges:
                yield from self._terms(value, span)
                gather = f.Gather(span, self._fresh("gathered"), value)
                yield gather
                accumulator = f.Accumulator(value.type, gather.name)
                yield from self._result(value, accumulator, span)
                return accumulator
            return (yield from self._over_vertices(value, span))
        children = []
        for child in f.children(value):
            children.append((yield from self._named(child, span)))
        return f.rebuild(value, tuple(children)) if children else value

    def _terms(self, reduce: f.Reduce, span: Span) -> Iterator[f.Statement]:
        """Yield the tests for a reduction over edges: the tests of its terms and of its default."""
        span = reduce.span or span
        least = reduce.alike(U32, "min", _NONE, _active(reduce))
        if reduce.group is not None:
            yield from self._first(in_terms(reduce, span), replace(least, key=None, group=None, having=None), span)
            yield from self._first(in_groups(reduce, span), replace(least, cond=reduce.cond, having=None), span)
        else:
            yield from self._first(in_terms(reduce, span), least, span)
        if reduce.default is not None:
            yield from self._at_vertices(reduce.default, span)

    def _first(self, found: Iterable[Failing], least: f.Reduce, span: Span) -> Iterator[f.Statement]:
        """Record the first failing operation inside a reduction.

        Args:
            least: a reduction by minimum over the same contributions, in which the numbers of the operations replace
                the body.
        """
        number = self._number(found)
        if number is not None:
            name = self._fresh("terms")
            yield f.Gather(span, name, replace(least, body=number))
            yield from self._noted(f.Accumulator(U32, name), span)

    def _result(self, reduce: f.Reduce, value: f.Expr, span: Span) -> Iterator[f.Statement]:
        """Yield the tests of the result of a reduction over edges."""
        span = reduce.span or span
        asked: list[tuple[str, f.Expr]] = []

        def some(test: f.Expr) -> f.Expr:
            asked.append((self._fresh("some"), test))
            return f.Accumulator(BOOL, asked[-1][0])

        found = [Failing(kind, span, test) for kind, test in reduction_failures(reduce, value, some)]
        for name, test in asked:
            yield f.Gather(span, name, reduce.alike(BOOL, "any", test, _active(reduce, reduce.cond)))
        yield from self._noted(self._number(found), span)

    def _over_vertices(self, reduce: f.Reduce, span: Span) -> Generator[f.Statement, None, f.Expr]:
        """Yield the tests of a reduction over vertices, and return a read of the `let` that holds the value of the
        reduction.
        """
        number = self._number(in_terms(reduce, span))
        if number is not None:
            fails = b.compare("ne", number, _NONE)
            who = f.Let(span, self._fresh("who"), f.Reduce(VERTEX, "min", _SELF, reduce.domain, fails, None))
            yield who
            here = b.compare("eq", _SELF, f.GraphValue(VERTEX, who.name, "let"))
            yield self._let(span, "number", f.Reduce(U32, "min", number, reduce.domain, here, None), who.name)
        if reduce.default is not None:
            yield from self._at_graph((reduce.default,), span)
        value = f.Let(span, self._fresh("reduced"), reduce)
        yield value
        name = f.GraphValue(reduce.type, value.name, "let")
        tests: list[f.Let] = []

        def some(test: f.Expr) -> f.Expr:
            any_ = f.Reduce(BOOL, "any", test, reduce.domain, reduce.cond, None)
            tests.append(f.Let(span, self._fresh("some"), any_))
            return f.GraphValue(BOOL, tests[-1].name, "let")

        found = [Failing(kind, span, test) for kind, test in reduction_failures(reduce, name, some)]
        yield from tests
        result = self._number(found)
        if result is not None:
            yield self._let(span, "number", result, "")
        return name

    # ------------------------------------------------------------------------------------------------------ numbers
    def _number(self, found: Iterable[Failing]) -> f.Expr | None:
        """Return an expression for the number of the first operation that fails (the largest u32 if none fails); None
        if no operation can fail.
        """
        listed: list[tuple[f.Const, f.Expr]] = []
        for failure in found:
            if failure.test != f.Const(BOOL, False):
                self.sites.append(Site(failure.kind, failure.span, self._statement))
                listed.append((f.Const(U32, len(self.sites)), b.both(*failure.guards, failure.test)))
        number: f.Expr = _NONE
        for place, test in reversed(listed):
            number = f.Op(U32, "select", (test, place, number))
        return number if listed else None

    def _noted(self, number: f.Expr | None, span: Span) -> Iterator[f.Statement]:
        """Store a number in the note field of a vertex, unless the field already holds a number."""
        if number is not None:
            before = f.Field(U32, self.note, "self")
            keep = b.some(b.no(b.equal(before, 0)), b.compare("eq", number, _NONE))
            yield f.Apply(span, (self.note,), f.Op(U32, "select", (keep, before, number)))

    def _let(self, span: Span, wish: str, number: f.Expr, who: str) -> f.Let:
        let = f.Let(span, self._fresh(wish), number)
        self.numbers.append((let.name, who))
        return let

    def _fresh(self, wish: str) -> str:
        """A name that is used neither by the program nor by another test."""
        name = f"{wish}_{len(self.made)}"
        while name in self._program.names or name in self.made:
            name += "_"
        self.made.add(name)
        return name


def _active(reduce: f.Reduce, cond: f.Expr | None = None) -> f.Expr | None:
    """Add to `cond` a read of the `change` in `reduce`, so that a gather for tests reads the same edges as `reduce`."""
    sent = next((e for e in f.walk(reduce) if isinstance(e, f.Field) and e.time == "change" and e.of != "self"), None)
    if sent is None:
        return cond
    read = b.some(b.compare("eq", sent, sent), f.Const(BOOL, True))
    return read if cond is None else b.both(read, cond)


def _reads_change(expr: f.Expr) -> bool:
    """Return whether an expression reads the `change` of a field.

    The value of a `change` at the end of a superstep differs from its value during the superstep.
    """
    return any(isinstance(e, f.Field) and e.time == "change" for e in f.walk(expr))
