"""Finds integer fields that may become infinite from finite operands; if a field did, a second run finds the statement.

Some operations on finite integers may give an infinity. At the end of a run, the outputs that such operations write are
tested for infinities. If an output has an infinity, and the values of the run do not rule out an overflow, the program
runs once more. In that run, every statement with such an operation also writes a bool field (a note) that records the
overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce as fold

from vlang.ir.facts import Facts
from vlang.ir.forms import forms as f
from vlang.ir.forms.range_arithmetic import whole
from vlang.ir.forms.ranges import Ranges
from vlang.ir.forms.visible import statements
from vlang.ir.overflow_watch import Place
from vlang.maths import WHOLE
from vlang.records import dataclass
from vlang.syntax.tree import Span
from vlang.types import BOOL, I64, Scalar, Tuple, Type, Vector

__all__ = ["Leaving", "leaving", "noting_integers"]

NOTHING: Mapping[str, tuple[int, int]] = {}
_OPERATIONS = frozenset({"add", "sub", "mul", "neg", "abs", "floordiv", "pow", "cast", "vsum", "dot", *WHOLE})
_SUMS = frozenset({"sum", "prod"})
_SHORT = 16  # the components of shorter vectors are tested each on its own


@dataclass(frozen=True)
class Leaving:
    """The output fields that operations on finite operands may make infinite.

    Attributes:
        fields: The output fields that become infinite if such an operation overflows.
        globals: The `global`s that become infinite if such an operation overflows.
        bounded: Whether all such operations are in loops under rule A. The final values of loops under rule A bound all
            intermediate values.
    """

    fields: frozenset[str]
    globals: frozenset[str]
    bounded: bool


Actual = Mapping[str, tuple[int, int]]
"""The least and largest finite value of each vertex field and edge field, after a run."""


def leaving(program: f.Program, facts: Facts, ranges: Ranges, actual: Actual = NOTHING) -> Leaving:
    """The output fields that may become infinite from finite operands.

    Args:
        program: The program.
        facts: Its facts.
        ranges: The values that the program's integers may have.
        actual: Values measured in a run, which narrow the ranges.
    """
    steps = {expr for loop in facts.loops for expr in _bounded_steps(program, facts, loop, ranges)}
    ordered = {one for loop, fact in facts.loops.items() if fact.order.granted and fact.kind == "fixpoint"
               for one in statements(loop.body)}
    named, fields, bounded = set(), set(), True
    for statement in statements(program.body):
        risky = any(op not in steps for expr in _values(statement) for op in _risky(expr, ranges, actual))
        reads = any(isinstance(e, (f.Accumulator, f.GraphValue)) and e.name in named
                    for expr in _values(statement) for e in f.walk(expr))
        bounded = bounded and (not risky or statement in ordered)
        if (risky or reads) and isinstance(statement, (f.Gather, f.Let, f.InitGlobal)):
            named.add(statement.name)
        elif risky or reads:
            fields |= set(statement.fields) if isinstance(statement, f.Apply) else \
                {statement.name} if isinstance(statement, f.InitField) else set()
    outputs = {decl.name for decl in program.fields if decl.output and whole(decl.type) is not None}
    graph = {decl.name for decl in program.globals if whole(decl.type) is not None}
    return Leaving(frozenset(fields & outputs), frozenset(named & graph), bounded)


def _values(statement: f.Statement) -> tuple[f.Expr, ...]:
    """The expressions that a statement computes."""
    if isinstance(statement, f.Gather):
        return (statement.reduce,)
    return (statement.value,) if isinstance(statement, (f.Apply, f.InitField, f.Let, f.InitGlobal)) else ()


def _risky(expr: f.Expr, ranges: Ranges, actual: Actual = NOTHING) -> Iterator[f.Op | f.Reduce]:
    """The operations on signed integers inside an expression that may give an infinity from finite operands."""
    if isinstance(expr, f.Reduce):
        type_ = _signed(expr.type)
        if not expr.user and expr.name in _SUMS and type_ is not None:
            low, high = _side(expr.body, ranges.within(expr.cond), actual) or (0, 0)
            most = ranges.terms(expr)
            plain = expr.name == "sum" or -1 <= low <= high <= 1
            if not plain or not (type_.lowest < min(0, low * most) and max(0, high * most) < type_.highest):
                yield expr
        yield from _risky(expr.body, ranges.within(expr.cond), actual)
        return
    for child in f.children(expr):
        yield from _risky(child, ranges, actual)
    own = _signed(expr.type)
    if isinstance(expr, f.Op) and expr.op in _OPERATIONS and own is not None and expr.data != "wrap":
        exact = _exact(expr, ranges, actual)
        if exact is None or not (own.lowest < exact[0] and exact[1] < own.highest):
            yield expr


def _signed(type_: Type) -> Scalar | None:
    """The type of a signed integer, or of the components of a vector of them; None for any other type."""
    kind = whole(type_)
    return kind.type if kind is not None and kind.type.kind == "int" else None


def _side(expr: f.Expr, ranges: Ranges, actual: Actual) -> tuple[int, int] | None:
    """The least and largest finite value of an operand; None if it has no finite value."""
    while isinstance(expr, f.Op) and expr.op == "cast" and whole(expr.args[0].type) is not None:
        (expr,) = expr.args
    if isinstance(expr, (f.Field, f.EdgeValue)) and expr.name in actual:
        return actual[expr.name]
    known = ranges.of(expr)
    return known.finite if known is not None else None


def _exact(expr: f.Op, ranges: Ranges, actual: Actual) -> tuple[int, int] | None:
    """The least and largest exact result of finite operands; None where these are not known."""
    if expr.op == "pow" or expr.op in WHOLE:
        return None
    if expr.op == "cast":
        (known,) = (whole(arg.type) and _side(arg, ranges, actual) for arg in expr.args)
        return known or ((0, 0) if isinstance(expr.args[0].type, Scalar) and expr.args[0].type.kind == "bool" else None)
    sides = [_side(arg, ranges, actual) or (0, 0) for arg in expr.args]
    (a, b), (c, d) = sides[0], sides[-1]
    most, first = max(-a, b), expr.args[0].type
    if expr.op in ("neg", "abs", "floordiv"):  # `x // -1` is `-x`
        return (0, 0) if expr.op == "floordiv" and not c <= -1 <= d else (-most, most)
    terms = first.size if expr.op in ("vsum", "dot") and isinstance(first, Vector) else 1
    if expr.op == "vsum":
        return terms * a, terms * b
    if expr.op in ("mul", "dot"):
        corners = (a * c, a * d, b * c, b * d)
        return terms * min(corners), terms * max(corners)
    return (a + c, b + d) if expr.op == "add" else (a - d, b - c)


def _bounded_steps(program: f.Program, facts: Facts, loop: f.Repeat, ranges: Ranges) -> Iterator[f.Expr]:
    """The sums `u.x + c` of a shortest-path search that cannot overflow, since a path has at most N edges."""
    inside = set(statements(loop.body))
    elsewhere = {name for s in statements(program.body) if isinstance(s, f.Apply) and s not in inside
                 for name in s.fields}
    for write in facts.loop(loop).writes:
        body = write.joined.reduce.body if write.joined is not None and write.direction == "down" else None
        body = body.args[0] if isinstance(body, f.Op) and body.op == "tuple" else body
        if not (isinstance(body, f.Op) and body.op == "add" and isinstance(body.type, Scalar)):
            continue
        name, step = write.fields[0], body.args[1]
        starts = [s.value for s in statements(program.body) if isinstance(s, f.InitField) and s.name == name]
        finite = [value for start in starts for value in _constants(start)]
        own = body.args[0] == f.Field(body.type, name, "other")
        plain = own and name not in elsewhere and None not in finite
        if plain and isinstance(step, f.Const) and isinstance(step.value, int):
            first = max((v for v in finite if v is not None and v != body.type.highest), default=0)
            if step.value >= 0 and first + step.value * ranges.sizes.vertices < body.type.highest:
                yield body


def _constants(expr: f.Expr) -> list[int | None]:
    """The constants among which an expression chooses; None for anything else."""
    if isinstance(expr, f.Op) and expr.op == "select":
        return _constants(expr.args[1]) + _constants(expr.args[2])
    return [expr.value] if isinstance(expr, f.Const) and isinstance(expr.value, int) else [None]


# --------------------------------------------------------------------------------------------------------- notes


def noting_integers(program: f.Program, given: frozenset[str], ranges: Ranges) -> \
        tuple[f.Program, tuple[Place, ...]]:
    """The program with notes, and the place of each note. given: fields whose initializers do not run."""
    notes = _Notes(program, given, ranges)
    body = notes.block(program.body)
    start = tuple(f.InitField(p.span, p.note, f.Const(BOOL, False)) for p in notes.places)
    fields = tuple(f.FieldDecl(p.note, BOOL, True, False, p.span) for p in notes.places)
    names = program.names | {name: name for name in notes.made}
    return replace(program, body=start + body, fields=program.fields + fields, names=names), tuple(notes.places)


class _Notes:
    """Inserts the statements that write notes into a program."""

    def __init__(self, program: f.Program, given: frozenset[str], ranges: Ranges) -> None:
        self._program, self._given, self._ranges = program, given, ranges
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
            yield from self._gather(statement, statement.reduce, statement.name)
        elif isinstance(statement, f.Apply):
            yield from self._value(statement, statement.value)
            yield statement
        elif isinstance(statement, f.InitField) and statement.name not in self._given:
            yield statement
            for part in dict.fromkeys(f.reductions(statement.value)):
                if part.domain.edges and any(True for _ in _risky(part, self._ranges)):
                    name = self._fresh("gathered")
                    yield f.Gather(statement.span, name, part)
                    yield from self._gather(statement, part, name)
            if not any(isinstance(part, f.Reduce) for part in f.walk(statement.value)):
                yield from self._value(statement, statement.value)
        elif isinstance(statement, (f.Let, f.InitGlobal)):
            yield statement
            if any(True for _ in _risky(statement.value, self._ranges)):
                yield from self._graph_value(statement)
        else:
            yield statement

    def _graph_value(self, statement: f.Let | f.InitGlobal) -> Iterator[f.Statement]:
        """Add a note: a bool that is true if a reduction over vertices, or an operation on such values, is infinite."""
        parts: dict[f.Expr, f.Expr] = {}
        for part in dict.fromkeys(f.walk(statement.value)):
            if isinstance(part, f.Reduce):
                name = self._fresh("reduced")
                parts[part] = _named(part, name)
                yield f.Let(statement.span, name, part)
                yield from self._gather(statement, part, name)
        yield from self._value(statement, _with(statement.value, parts))

    def _gather(self, statement: f.Statement, reduce: f.Reduce, name: str) -> Iterator[f.Statement]:
        """Add a note: a bool that is true where a reduction is infinite, although its terms or the operands in them are
        finite.
        """
        make: Callable[[Span, str, f.Reduce], f.Statement] = f.Gather if reduce.domain.edges else f.Let
        found = list(_risky(reduce, self._ranges))
        value = _named(reduce, name)
        if reduce.user:
            return
        for part, term in _parts(reduce, value):
            inside = _departures(term, self._ranges.within(reduce.cond))
            if inside and _signed(part.type) is not None:
                left = self._fresh("left")
                test = replace(reduce, type=BOOL, name="any", default=None, part=None, body=_either(inside))
                yield make(statement.span, left, test)
                yield self._note(statement, part, _both([_infinite(part), _named(test, left)]))
        if reduce in found:
            terms = self._fresh("terms")
            test = replace(reduce, type=BOOL, name="any", default=None, body=_infinite(reduce.body))
            yield make(statement.span, terms, test)
            yield self._note(statement, value, _both([_infinite(value), _not(_named(test, terms))]))

    def _value(self, statement: f.Apply | f.InitField | f.Let | f.InitGlobal, value: f.Expr) -> Iterator[f.Statement]:
        """Add a note: a bool that is true where a written value is infinite because finite operands overflowed."""
        found = [op for op in _risky(value, self._ranges) if isinstance(op, f.Op)]
        if found and _signed(value.type) is not None:
            yield self._note(statement, value, _both([_infinite(value), _either(map(_leaves, found))]))

    def _note(self, statement: f.Statement, value: f.Expr, now: f.Expr) -> f.Statement:
        span = statement.span
        text = " ".join(self._program.source[span.start : span.end].split())
        place = Place(self._fresh("infinite"), span, text, value.type, not isinstance(statement, (f.Let, f.InitGlobal)))
        self.places.append(place)
        return f.Apply(span, (place.note,), f.Op(BOOL, "or", (f.Field(BOOL, place.note, "self"), now)))

    def _fresh(self, wish: str) -> str:
        """A name that is used neither by the program nor by another note."""
        name = f"{wish}_{len(self.made)}"
        while name in self._program.names or name in self.made:
            name += "_"
        self.made.add(name)
        return name


def _named(reduce: f.Reduce, name: str) -> f.Expr:
    """The value of a reduction that a gather or `let` has named."""
    return f.Accumulator(reduce.type, name) if reduce.domain.edges else f.GraphValue(reduce.type, name, "let")


def _with(expr: f.Expr, parts: Mapping[f.Expr, f.Expr]) -> f.Expr:
    """The expression with the parts that are keys of `parts` replaced."""
    if expr in parts:
        return parts[expr]
    return f.rebuild(expr, tuple(_with(child, parts) for child in f.children(expr)))


def _parts(reduce: f.Reduce, value: f.Expr) -> list[tuple[f.Expr, f.Expr]]:
    """Return the value of a reduction with its terms; for a tuple, each item of the value with its terms."""
    if isinstance(reduce.body, f.Op) and reduce.body.op == "tuple":
        if reduce.part is not None:
            return [(value, reduce.body.args[reduce.part])]
        assert isinstance(reduce.type, Tuple)
        return [(f.Op(type_, "item", (value,), number), term)
                for number, (type_, term) in enumerate(zip(reduce.type.items, reduce.body.args, strict=True))]
    return [(value, reduce.body)]


def _departures(expr: f.Expr, ranges: Ranges) -> list[f.Expr]:
    """For each operation of an expression that is risky, whether it makes an infinity of finite operands.

    For a reduction inside the expression, over a group or over common neighbours: whether it does so for some
    contribution.
    """
    if isinstance(expr, f.Reduce):
        inside = _departures(expr.body, ranges.within(expr.cond))
        found: list[f.Expr] = [expr.alike(BOOL, "any", _either(inside), expr.cond)] if inside else []
        if any(one is expr for one in _risky(expr, ranges)):
            found.append(_not(expr.alike(BOOL, "any", _infinite(expr.body), expr.cond)))
        return [_both([_infinite(expr), _either(found)])] if found and _signed(expr.type) is not None else []
    below = [test for child in f.children(expr) for test in _departures(child, ranges)]
    return [*below, *(_leaves(op) for op in _risky(expr, ranges) if op is expr and isinstance(op, f.Op))]


def _leaves(op: f.Op) -> f.Expr:
    """Return the test that the operands of an operation are finite and its result is infinite.

    For a short vector, the test is true if it is true of any component. A long vector is tested as a whole, so an
    infinite component of an operand hides the other components.
    """
    if not isinstance(op.type, Vector) or op.type.size > _SHORT:
        return _left(op)
    item = op.type.item
    return _either(_left(f.Op(item, op.op, tuple(_component(arg, k) for arg in op.args), op.data))
                   for k in range(op.type.size))


def _component(value: f.Expr, number: int) -> f.Expr:
    """Return a component of a vector. A scalar, such as the exponent of a power, is returned unchanged."""
    if not isinstance(value.type, Vector):
        return value
    return f.Op(value.type.item, "component", (value, f.Const(I64, number)))


def _left(op: f.Op) -> f.Expr:
    finite = [_not(_infinite(arg)) for arg in op.args if _item(arg.type).kind in ("int", "float")
              and not isinstance(arg, f.Const)]
    return _both([_infinite(op), *finite])


def _item(type_: Type) -> Scalar:
    item = type_.item if isinstance(type_, Vector) else type_
    assert isinstance(item, Scalar)
    return item


def _infinite(value: f.Expr) -> f.Expr:
    """Whether a number, or a component of a vector, is `inf` or `-inf`."""
    item, vector = _item(value.type), isinstance(value.type, Vector)
    if item.floating:
        size: f.Expr = f.Op(value.type, "abs", (value,))
        return f.Op(BOOL, "eq", (f.Op(item, "vmax", (size,)) if vector else size, f.Const(item, float("inf"))))
    if item.kind != "int":
        return f.Const(BOOL, False)
    most, least = (f.Op(item, end, (value,)) if vector else value for end in ("vmax", "vmin"))
    return _either([f.Op(BOOL, "eq", (most, f.Const(item, item.highest))),
                    f.Op(BOOL, "eq", (least, f.Const(item, item.lowest)))])


def _either(tests: Iterable[f.Expr]) -> f.Expr:
    return fold(lambda a, b: f.Op(BOOL, "or", (a, b)), tests)


def _both(tests: Iterable[f.Expr]) -> f.Expr:
    return fold(lambda a, b: f.Op(BOOL, "and", (a, b)), tests)


def _not(expr: f.Expr) -> f.Expr:
    return f.Op(BOOL, "not", (expr,))
