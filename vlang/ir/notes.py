"""Versions of a program that also write notes: bool fields that are true where a value became infinite.

A run only tests whether stored values are infinite. If a stored value is infinite, and finite operands may be the
cause, the program runs once more with a note for each statement that may be the cause. `overflow_watch` inserts notes
for floats, `integer_watch` for integers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce as fold

from vlang.ir.forms import forms as f
from vlang.records import dataclass
from vlang.syntax.tree import Span
from vlang.types import BOOL, I64, Scalar, Tuple, Type, Vector

__all__ = ["Notes", "Place", "Writer", "both", "either", "endless", "infinite", "leaves", "named", "no",
           "parts_of", "reducing"]

_SHORT = 16  # the components of shorter vectors are tested each on its own
Writer = f.Apply | f.InitField | f.Let | f.InitGlobal


@dataclass(frozen=True)
class Place:
    """A statement with a note.

    Attributes:
        note: The bool field that is true where the value of the statement overflowed.
        span: The statement in the text.
        what: The value, as text.
        type: The type of the value.
        vertices: Whether the statement has a value for each vertex, rather than one value for the graph.
        hidden: Whether a `let` or a field of a block holds the value, or is computed from the value.
        terms: Whether the note says that the terms of the value are finite; otherwise, the note says that the operands
            are finite.
    """

    note: str
    span: Span
    what: str
    type: Type
    vertices: bool
    hidden: bool = False
    terms: bool = False


class Notes(ABC):
    """Inserts the statements that write notes into a program.

    Args:
        program: The program.
        given: The fields whose initializers do not run.
    """

    def __init__(self, program: f.Program, given: frozenset[str]) -> None:
        self.program, self._given = program, given
        self.places: list[Place] = []
        self._made: set[str] = set()

    def noted(self) -> tuple[f.Program, tuple[Place, ...]]:
        """The program with notes, and the place of each note."""
        program, body = self.program, self._block(self.program.body)
        start = tuple(f.InitField(p.span, p.note, f.Const(BOOL, False)) for p in self.places)
        fields = tuple(f.FieldDecl(p.note, BOOL, True, False, p.span) for p in self.places)
        names = program.names | {name: name for name in self._made}
        return replace(program, body=start + body, fields=program.fields + fields, names=names), tuple(self.places)

    @abstractmethod
    def concerns(self, expr: f.Expr) -> bool:
        """Return whether a part of an expression may become infinite from finite operands."""

    @abstractmethod
    def reduction(self, statement: f.Statement, reduce: f.Reduce, name: str) -> Iterator[f.Statement]:
        """Yield the statements that write a note on whether the reduction with the result `name` overflowed."""

    @abstractmethod
    def value(self, statement: Writer, value: f.Expr) -> Iterator[f.Statement]:
        """Yield the statements that write a note on whether an operation overflowed, for a value without reductions
        over edges.
        """

    def _block(self, body: tuple[f.Statement, ...]) -> tuple[f.Statement, ...]:
        """A block with notes; `activate when` stays the last statement."""
        return tuple(part for statement in body for part in self._statement(statement))

    def _statement(self, statement: f.Statement) -> Iterator[f.Statement]:
        if isinstance(statement, (f.Where, f.Repeat, f.Sweep, f.ForVertices, f.ForRange)):
            yield replace(statement, body=self._block(statement.body))
            return
        if isinstance(statement, f.Apply):
            yield from self.value(statement, statement.value)
        yield statement
        if isinstance(statement, f.Gather):
            yield from self.reduction(statement, statement.reduce, statement.name)
        elif isinstance(statement, (f.Let, f.InitGlobal, f.InitField)):
            runs = not (isinstance(statement, f.InitField) and statement.name in self._given)
            if runs and self.concerns(statement.value):
                yield from self._written(statement)

    def _written(self, statement: f.Let | f.InitGlobal | f.InitField) -> Iterator[f.Statement]:
        """Yield the notes of the reductions in a value, and of the operations on the results of these reductions."""
        parts: dict[f.Expr, f.Expr] = {}
        for part in dict.fromkeys(f.reductions(statement.value)):
            name = self.fresh("reduced")
            parts[part] = named(part, name)
            yield reducing(part)(statement.span, name, part)
            yield from self.reduction(statement, part, name)
        yield from self.value(statement, _with(statement.value, parts))

    def note(self, statement: f.Statement, value: f.Expr, now: f.Expr, hidden: bool = False,
             terms: bool = False) -> f.Statement:  # fmt: skip
        """The statement that writes a note.

        Args:
            statement: The statement to which the note belongs.
            value: Its value.
            now: Whether the value overflowed.
            hidden: See `Place`.
            terms: See `Place`.
        """
        span = statement.span
        text = " ".join(self.program.source[span.start : span.end].split())
        vertices = not isinstance(statement, (f.Let, f.InitGlobal))
        place = Place(self.fresh("infinite"), span, text, value.type, vertices, hidden, terms)
        self.places.append(place)
        return f.Apply(span, (place.note,), f.Op(BOOL, "or", (f.Field(BOOL, place.note, "self"), now)))

    def fresh(self, wish: str) -> str:
        """A name that is used neither by the program nor by another note."""
        name = f"{wish}_{len(self._made)}"
        while name in self.program.names or name in self._made:
            name += "_"
        self._made.add(name)
        return name


def reducing(reduce: f.Reduce) -> Callable[[Span, str, f.Reduce], f.Statement]:
    """The kind of statement that names a reduction."""
    return f.Gather if reduce.domain.edges else f.Let


def named(reduce: f.Reduce, name: str) -> f.Expr:
    """The value of a reduction that a gather or `let` has named."""
    return f.Accumulator(reduce.type, name) if reduce.domain.edges else f.GraphValue(reduce.type, name, "let")


def _with(expr: f.Expr, parts: Mapping[f.Expr, f.Expr]) -> f.Expr:
    """Return the expression after replacement of each part that is a key of `parts`."""
    if expr in parts:
        return parts[expr]
    return f.rebuild(expr, tuple(_with(child, parts) for child in f.children(expr)))


def parts_of(reduce: f.Reduce, value: f.Expr) -> list[tuple[f.Expr, f.Expr]]:
    """Return the value of a reduction together with its terms. For a tuple, return each item of the value with its
    terms.
    """
    if isinstance(reduce.body, f.Op) and reduce.body.op == "tuple":
        if reduce.part is not None:
            return [(value, reduce.body.args[reduce.part])]
        assert isinstance(reduce.type, Tuple)
        return [(f.Op(type_, "item", (value,), number), term)
                for number, (type_, term) in enumerate(zip(reduce.type.items, reduce.body.args, strict=True))]
    return [(value, reduce.body)]


def leaves(op: f.Op) -> f.Expr:
    """Return the test that the operands of an operation are finite and its result is infinite.

    For a short vector, the test is true if it is true for some component. A long vector is tested as a whole, so an
    infinite component of an operand hides the other components.
    """
    if not isinstance(op.type, Vector) or op.type.size > _SHORT:
        return _left(op)
    item = op.type.item
    return either(_left(f.Op(item, op.op, tuple(_component(arg, k) for arg in op.args), op.data))
                  for k in range(op.type.size))


def _component(value: f.Expr, number: int) -> f.Expr:
    """Return a component of a vector. A scalar, such as the exponent of a power, is returned unchanged."""
    if not isinstance(value.type, Vector):
        return value
    return f.Op(value.type.item, "component", (value, f.Const(I64, number)))


def _left(op: f.Op) -> f.Expr:
    finite = [no(infinite(arg)) for arg in op.args if _item(arg.type).kind in ("int", "float")
              and not isinstance(arg, f.Const)]
    return both([infinite(op), *finite])


def _item(type_: Type) -> Scalar:
    item = type_.item if isinstance(type_, Vector) else type_
    assert isinstance(item, Scalar)
    return item


def endless(type_: Type, ends: tuple[int | float, int | float]) -> bool:
    """Return whether the least or the greatest value of an edge field stands for an infinity of its type."""
    item = _item(type_)
    return any(math.isinf(end) if item.floating else item.kind == "int" and end in (item.lowest, item.highest)
               for end in ends)


def infinite(value: f.Expr) -> f.Expr:
    """Return whether a number, or a component of a vector, is `inf` or `-inf`."""
    item, vector = _item(value.type), isinstance(value.type, Vector)
    if item.floating:
        size: f.Expr = f.Op(value.type, "abs", (value,))
        return f.Op(BOOL, "eq", (f.Op(item, "vmax", (size,)) if vector else size, f.Const(item, float("inf"))))
    if item.kind != "int":
        return f.Const(BOOL, False)
    most, least = (f.Op(item, end, (value,)) if vector else value for end in ("vmax", "vmin"))
    return either([f.Op(BOOL, "eq", (most, f.Const(item, item.highest))),
                    f.Op(BOOL, "eq", (least, f.Const(item, item.lowest)))])


def either(tests: Iterable[f.Expr]) -> f.Expr:
    """Return whether some test holds."""
    return fold(lambda a, b: f.Op(BOOL, "or", (a, b)), tests)


def both(tests: Iterable[f.Expr]) -> f.Expr:
    """Return whether all tests hold."""
    return fold(lambda a, b: f.Op(BOOL, "and", (a, b)), tests)


def no(expr: f.Expr) -> f.Expr:
    """Return whether a test does not hold."""
    return f.Op(BOOL, "not", (expr,))
