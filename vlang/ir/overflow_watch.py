"""Float sums that overflow to infinity although every term is finite: which values to watch, and how to find the sum.

A run only tests whether a stored value that depends on a float sum is infinite. If such a value is infinite, the
program runs once more with a note for every such sum: a bool field that says for each vertex whether the sum
overflowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, statements
from vlang.maths import MATHS
from vlang.records import dataclass
from vlang.runtime.plan.plan import Watch
from vlang.syntax.tree import Span
from vlang.types import BOOL, Scalar, Tuple, Type, Vector

__all__ = ["Place", "noting", "watch_of"]

_UNDEFINED = frozenset({"sub", "mul", "div", "floordiv", "mod", "pow",
                        *(name for name, rule in MATHS.items() if rule.undefined)})

_ROWS = 64


@dataclass(frozen=True)
class Place:
    """A statement with a note.

    Attributes:
        note: The bool field that is true where the value of the statement overflowed.
        span: The statement in the text.
        what: The value, as text.
        type: The type of the value.
        vertices: Whether the statement has a value for each vertex, rather than one for the graph.
    """

    note: str
    span: Span
    what: str
    type: Type
    vertices: bool


def watch_of(program: f.Program) -> Watch:
    """The vertex fields and graph-level values that depend on a float sum, and the outputs that may become NaN."""
    names = _named(program, _sums)
    undefined = _named(program, _undefined)
    outputs = {decl.name for decl in program.fields if decl.output}
    fields: set[str] = set()
    scalars: set[str] = set()
    for statement in statements(program.body):
        if isinstance(statement, (f.Apply, f.InitField)) and _from(statement.value, names):
            fields |= set(statement.fields) if isinstance(statement, f.Apply) else {statement.name}
        elif isinstance(statement, (f.Let, f.InitGlobal)) and _float(statement.value.type) and \
                isinstance(statement.value.type, Scalar) and _from(statement.value, names):
            scalars.add(statement.name)
    fields &= {decl.name for decl in program.fields if _float(decl.type)}
    shown = frozenset(decl.name for decl in program.globals)
    nan = {name for s in statements(program.body) if isinstance(s, (f.Apply, f.InitField, f.InitGlobal))
           and (_undefined(s.value) or _reads(s.value, undefined))
           for name in (s.fields if isinstance(s, f.Apply) else (s.name,))}
    floats = {decl.name for decl in program.fields if _float(decl.type)} | \
        {decl.name for decl in program.globals if _float(decl.type)}
    return Watch(frozenset(fields & outputs), frozenset(fields - outputs), frozenset(scalars & shown),
                 frozenset(scalars - shown), frozenset(nan & floats & (outputs | shown) - fields - scalars))


def _named(program: f.Program, holds: Callable[[f.Expr], bool]) -> set[str]:
    """The gathers and graph-level values with an expression for which `holds` is true."""
    return {s.name for s in statements(program.body) if isinstance(s, (f.Gather, f.Let, f.InitGlobal))
            and any(map(holds, expressions(s)))}


def noting(program: f.Program, given: frozenset[str]) -> tuple[f.Program, tuple[Place, ...]]:
    """The program with notes, and the place of each note. given: fields whose initializers do not run."""
    notes = _Notes(program, given)
    body = notes.block(program.body)
    start = tuple(f.InitField(p.span, p.note, f.Const(BOOL, False)) for p in notes.places)
    fields = tuple(f.FieldDecl(p.note, BOOL, True, False, p.span) for p in notes.places)
    names = program.names | {name: name for name in notes.made}
    return replace(program, body=start + body, fields=program.fields + fields, names=names), tuple(notes.places)


class _Notes:
    """Inserts the statements that write notes into a program."""

    def __init__(self, program: f.Program, given: frozenset[str]) -> None:
        self._program, self._given = program, given
        watch = watch_of(program)
        self._watched = watch.fields | watch.hidden
        self.places: list[Place] = []
        self.made: set[str] = set()

    def block(self, body: tuple[f.Statement, ...]) -> tuple[f.Statement, ...]:
        """A block with notes; `activate when` stays the last statement."""
        return tuple(part for statement in body for part in self._statement(statement))

    def _statement(self, statement: f.Statement) -> Iterator[f.Statement]:
        if isinstance(statement, (f.Where, f.Repeat, f.Sweep, f.ForVertices, f.ForRange)):
            yield replace(statement, body=self.block(statement.body))
        elif isinstance(statement, f.Gather):
            yield statement
            if _sum_of_floats(statement.reduce):
                yield from self._sum(statement.span, statement.reduce, statement.name)
            yield from self._inside(statement.span, statement.reduce, statement.name)
            yield from self._folded_terms(statement)
        elif isinstance(statement, f.Apply):
            yield from self._addition(statement)
            yield from self._folded(statement)
            yield statement
        else:
            yield statement
            skipped = isinstance(statement, f.InitField) and statement.name in self._given
            if isinstance(statement, (f.InitField, f.Let, f.InitGlobal)) and not skipped:
                for part in dict.fromkeys(f.reductions(statement.value)):
                    if _sum_of_floats(part):
                        yield from self._sum(statement.span, part, None)
                    yield from self._inside(statement.span, part, None)
                if isinstance(statement, f.InitField):
                    yield from self._folded(statement)

    def _sum(self, span: Span, reduce: f.Reduce, name: str | None) -> Iterator[f.Statement]:
        """Add a note: a bool that is true where a sum is infinite although no term and no `default` is infinite.

        name: the accumulator of the sum, if any.
        """
        make: Callable[[Span, str, f.Reduce], f.Statement] = f.Gather if reduce.domain.edges else f.Let
        if name is None:
            name = self._fresh("summed")
            yield make(span, name, reduce)
        terms = reduce.alike(BOOL, "any", _infinite(reduce.body), reduce.cond)
        other = self._fresh("terms")
        yield make(span, other, terms)
        finite: list[f.Expr] = [_not(self._value(terms, other))]
        if reduce.default is not None:
            finite.append(_not(_infinite(reduce.default)))
        yield self._note(span, self._value(reduce, name), finite, reduce.domain.edges)

    def _inside(self, span: Span, reduce: f.Reduce, name: str | None) -> Iterator[f.Statement]:
        """Add a note that is true where a sum inside a reduction is infinite, and none of its terms is.

        name: the accumulator of the reduction, if any.
        """
        sums = [e for e in dict.fromkeys(f.walk(reduce)) if e != reduce and isinstance(e, f.Reduce) and
                _sum_of_floats(e)]
        if not sums or not any(map(_float, _items(reduce.type))):
            return
        if name is None:
            name = self._fresh("summed")
            yield f.Gather(span, name, reduce)
        found: f.Expr | None = None
        for one in sums:
            test = f.Op(BOOL, "and", (_infinite(one), _not(one.alike(BOOL, "any", _infinite(one.body), one.cond))))
            found = test if found is None else f.Op(BOOL, "or", (found, test))
        assert found is not None
        some = self._fresh("inside")
        yield f.Gather(span, some, reduce.alike(BOOL, "any", found, reduce.cond))
        value = self._value(reduce, name)
        for number, type_ in enumerate(_items(reduce.type)):
            if _float(type_):
                part = f.Op(type_, "item", (value,), number) if isinstance(reduce.type, Tuple) else value
                yield self._note(span, part, [f.Accumulator(BOOL, some)], True)

    def _addition(self, apply: f.Apply) -> Iterator[f.Statement]:
        """Add a note: a bool that is true where the sum of two finite values is infinite."""
        value = apply.value
        while isinstance(value, f.Op) and value.op == "cast":
            (value,) = value.args
        if isinstance(value, f.Op) and value.op in ("add", "sub") and self._watched & set(apply.fields) and \
                _float(value.type):
            yield self._note(apply.span, apply.value, [_not(_infinite(side)) for side in value.args], True)

    def _folded(self, statement: f.Apply | f.InitField) -> Iterator[f.Statement]:
        """Add a note: a bool that is true where a value is infinite and contains an infinite fold of finite vectors."""
        value = statement.value
        test = _left(value) if _float(value.type) and not any(True for _ in f.reductions(value)) else None
        if test is not None:
            yield self._note(statement.span, value, [test], True)

    def _folded_terms(self, gather: f.Gather) -> Iterator[f.Statement]:
        """Add a note: a bool that is true where a gather has a term with an infinite fold of finite vectors."""
        reduce = gather.reduce
        left = _left(reduce.body) if _float(reduce.type) else None
        if left is not None:
            test = reduce.alike(BOOL, "any", left, reduce.cond)
            name = self._fresh("folded")
            yield f.Gather(gather.span, name, test)
            yield self._note(gather.span, self._value(reduce, gather.name), [self._value(test, name)], True)

    def _note(self, span: Span, value: f.Expr, finite: list[f.Expr], vertices: bool) -> f.Statement:
        place = Place(self._fresh("left"), span, self._text(span), value.type, vertices)
        self.places.append(place)
        now = _infinite(value)
        for test in finite:
            now = f.Op(BOOL, "and", (now, test))
        return f.Apply(span, (place.note,), f.Op(BOOL, "or", (f.Field(BOOL, place.note, "self"), now)))

    def _text(self, span: Span) -> str:
        return " ".join(self._program.source[span.start : span.end].split())

    @staticmethod
    def _value(reduce: f.Reduce, name: str) -> f.Expr:
        return f.Accumulator(reduce.type, name) if reduce.domain.edges else f.GraphValue(reduce.type, name, "let")

    def _fresh(self, wish: str) -> str:
        """A name that is used neither by the program nor by another note."""
        name = f"{wish}_{len(self.made)}"
        while name in self._program.names or name in self.made:
            name += "_"
        self.made.add(name)
        return name


def _sum_of_floats(expr: f.Expr) -> bool:
    """Whether an expression is a float sum over edges or vertices."""
    return isinstance(expr, f.Reduce) and expr.name == "sum" and not expr.user and _float(expr.type)


def _folds(expr: f.Expr) -> bool:
    """Whether an expression adds up the components of a vector of floats, or the products of two vectors."""
    return isinstance(expr, f.Op) and expr.op in ("vsum", "dot") and _float(expr.type)


def _left(expr: f.Expr) -> f.Expr | None:
    """Return the test that a sum or product of vectors in an expression is infinite, although all components are
    finite.

    Return None if the expression has no sum or product of vectors. A product with a large matrix consists of one
    product for each row; only the first rows are tested.
    """
    found: f.Expr | None = None
    for op in islice(dict.fromkeys(filter(_folds, f.walk(expr))), _ROWS):
        test = _infinite(op)
        for arg in f.children(op):
            test = f.Op(BOOL, "and", (test, _not(_infinite(arg))))
        found = test if found is None else f.Op(BOOL, "or", (found, test))
    return found


def _sums(expr: f.Expr) -> bool:
    """Whether an expression contains a float sum: a reduction, or a sum or product of vectors."""
    return any(_sum_of_floats(e) or _folds(e) for e in f.walk(expr))


def _from(expr: f.Expr, names: set[str]) -> bool:
    """Whether a value depends directly on a float sum: it contains such a sum, or reads a name in `names`."""
    return _sums(expr) or _reads(expr, names)


def _reads(expr: f.Expr, names: set[str]) -> bool:
    return any(isinstance(e, (f.Accumulator, f.GraphValue)) and e.name in names for e in f.walk(expr))


def _undefined(expr: f.Expr) -> bool:
    """Whether an expression contains a float operation that may give NaN although its operands are numbers."""
    return any(isinstance(e, f.Op) and e.op in _UNDEFINED and _float(e.type) for e in f.walk(expr))


def _items(type_: Type) -> tuple[Type, ...]:
    return type_.items if isinstance(type_, Tuple) else (type_,)


def _float(type_: Type) -> bool:
    item = type_.item if isinstance(type_, Vector) else type_
    return isinstance(item, Scalar) and item.floating


def _infinite(value: f.Expr) -> f.Expr:
    """Whether a float, or some component of a vector, is `inf` or `-inf`."""
    type_: Type = value.type
    size = f.Op(type_, "abs", (value,))
    if isinstance(type_, Vector):
        type_ = type_.item
        size = f.Op(type_, "vmax", (size,))
    return f.Op(BOOL, "eq", (size, f.Const(type_, float("inf"))))


def _not(expr: f.Expr) -> f.Expr:
    return f.Op(BOOL, "not", (expr,))
