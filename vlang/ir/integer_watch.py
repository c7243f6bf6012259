"""Finds integer fields that may become infinite by operations on finite operands. If a field became infinite, a second
run finds the statement.

Some operations on finite integers may give an infinity. At the end of a run, the outputs that such operations write are
tested for infinities. If an output is infinite, and the values of the run do not rule out an overflow, the program runs
once more. In the second run, every statement with such an operation also writes a bool field (a note) that records the
overflow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from vlang.ir.facts import Facts
from vlang.ir.forms import forms as f
from vlang.ir.forms.range_arithmetic import whole
from vlang.ir.forms.ranges import Ranges
from vlang.ir.forms.visible import statements
from vlang.ir.notes import Notes, Place, Writer, both, either, infinite, leaves, named, no, parts_of, reducing
from vlang.maths import WHOLE
from vlang.records import dataclass
from vlang.types import BOOL, Scalar, Type, Vector

__all__ = ["Leaving", "leaving", "noting_integers", "wrapped_lines"]

NOTHING: Mapping[str, tuple[int, int]] = {}
_OPERATIONS = frozenset({"add", "sub", "mul", "neg", "abs", "floordiv", "pow", "cast", "vsum", "dot", "between",
                         *WHOLE})
_SUMS = frozenset({"+", "*"})


@dataclass(frozen=True)
class Leaving:
    """The outputs that may become infinite by operations on finite operands.

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
    """Return the output fields that may become infinite by operations on finite operands.

    Args:
        program: The program.
        facts: Its facts.
        ranges: The values that the program's integers may have.
        actual: The values that occurred in a run, which narrow the ranges.
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
        if expr.operator in _SUMS and type_ is not None:
            low, high = _side(expr.body, ranges.within(expr.cond), actual) or (0, 0)
            most = ranges.terms(expr)
            plain = expr.operator == "+" or -1 <= low <= high <= 1
            if not plain or not (type_.lowest < min(0, low * most) and max(0, high * most) < type_.highest):
                yield expr
        yield from _risky(expr.body, ranges.within(expr.cond), actual)
        return
    for child in f.children(expr):
        yield from _risky(child, ranges, actual)
    own = _signed(expr.type)
    if isinstance(expr, f.Op) and expr.op in _OPERATIONS and own is not None and expr.data not in ("wrap", ""):
        exact = _exact(expr, ranges, actual)
        if exact is None or not (own.lowest < exact[0] and exact[1] < own.highest):
            yield expr


def _signed(type_: Type) -> Scalar | None:
    """The signed integer type of a value, or of the components of a vector; None for any other type."""
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
    """The least and largest exact result of finite operands; None if they are not known."""
    if expr.op == "between":
        least, most = _side(f.EdgeValue(expr.type, str(expr.data)), ranges, actual) or (0, 0)
        return min(0, least * ranges.sizes.row), max(0, most * ranges.sizes.row)
    if expr.op in WHOLE:
        number = expr.args[0].value if isinstance(expr.args[0], f.Const) else None
        if not isinstance(number, (int, float)) or not math.isfinite(number):
            return None
        return int(number) - 1, int(number) + 1
    if expr.op == "pow":
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
    """Return the sums `u.x + c` of a shortest-path search that cannot overflow, because a path has at most N edges."""
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


def noting_integers(program: f.Program, given: frozenset[str], ranges: Ranges, far: frozenset[str] = frozenset()) -> \
        tuple[f.Program, tuple[Place, ...]]:
    """The program with notes, and the place of each note.

    Args:
        program: The program.
        given: The fields whose initializers do not run.
        ranges: The values that the program's integers may have.
        far: The edge fields with infinite values. Notes leave out sums `weight(a, b)` of these fields, because an
            infinite term cannot be distinguished from an overflow.
    """
    return _Notes(program, given, ranges, far).noted()


def wrapped_lines(program: f.Program, ranges: Ranges) -> list[int]:
    """Return the lines, in order, with an operation that wrapped around in older versions if the result did not fit its
    type.

    Rounding a float, as in `int(x)`, never wrapped.
    """
    return sorted({statement.span.line for statement in statements(program.body) for expr in _values(statement)
                   for op in _risky(expr, ranges) if _whole_operands(op)})


def _whole_operands(op: f.Op | f.Reduce) -> bool:
    return isinstance(op, f.Reduce) or all(whole(arg.type) is not None for arg in op.args if op.op != "between")


class _Notes(Notes):
    """Inserts the notes of integers."""

    def __init__(self, program: f.Program, given: frozenset[str], ranges: Ranges, far: frozenset[str]) -> None:
        super().__init__(program, given)
        self._ranges, self._far = ranges, far

    def concerns(self, expr: f.Expr) -> bool:
        """Return whether an operation on integers in an expression is risky."""
        return any(True for _ in _risky(expr, self._ranges))

    def reduction(self, statement: f.Statement, reduce: f.Reduce, name: str) -> Iterator[f.Statement]:
        """Add a note: a bool that is true where a reduction is infinite although its terms, or the operands of its
        terms, are finite.
        """
        make = reducing(reduce)
        found = list(_risky(reduce, self._ranges))
        value = named(reduce, name)
        if reduce.user:
            return
        for part, term in parts_of(reduce, value):
            inside = _departures(term, self._ranges.within(reduce.cond), self._far)
            if inside and _signed(part.type) is not None:
                left = self.fresh("left")
                test = replace(reduce, type=BOOL, name="any", default=None, part=None, body=either(inside))
                yield make(statement.span, left, test)
                yield self.note(statement, part, both([infinite(part), named(test, left)]))
        if reduce in found:
            terms = self.fresh("terms")
            test = replace(reduce, type=BOOL, name="any", default=None, body=infinite(reduce.body))
            yield make(statement.span, terms, test)
            yield self.note(statement, value, both([infinite(value), no(named(test, terms))]))

    def value(self, statement: Writer, value: f.Expr) -> Iterator[f.Statement]:
        """Add a note: a bool that is true where a written value is infinite because finite operands overflowed."""
        found = [op for op in _risky(value, self._ranges) if isinstance(op, f.Op)]
        if found and _signed(value.type) is not None:
            yield self.note(statement, value, both([infinite(value), either(map(leaves, found))]))


def _departures(expr: f.Expr, ranges: Ranges, far: frozenset[str]) -> list[f.Expr]:
    """Return, for each risky operation of an expression, a test whether the operation gives an infinity for finite
    operands. Inside a reduction over a group or over common neighbours, the test says whether this happens for some
    contribution.
    """
    if isinstance(expr, f.Reduce):
        inside = _departures(expr.body, ranges.within(expr.cond), far)
        found: list[f.Expr] = [expr.alike(BOOL, "any", either(inside), expr.cond)] if inside else []
        if any(one is expr for one in _risky(expr, ranges)):
            found.append(no(expr.alike(BOOL, "any", infinite(expr.body), expr.cond)))
        return [both([infinite(expr), either(found)])] if found and _signed(expr.type) is not None else []
    below = [test for child in f.children(expr) for test in _departures(child, ranges, far)]
    return [*below, *(leaves(op) for op in _risky(expr, ranges) if op is expr and isinstance(op, f.Op)
                      and not (op.op == "between" and op.data in far))]
