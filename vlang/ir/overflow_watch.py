"""Finds floats that overflow to infinity although all terms or operands are finite: the values to watch, and the notes.

A run tests the stored values that depend on an operation which may overflow. If such a value is infinite, the program
runs once more with notes (`vlang.ir.notes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vlang.ir.float_bounds import floating, may_overflow, values_in
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, statements
from vlang.ir.notes import Notes, Place, Writer, both, either, infinite, leaves, named, no, parts_of, reducing
from vlang.maths import MATHS
from vlang.runtime.plan.plan import Watch
from vlang.types import BOOL, Scalar, Tuple

__all__ = ["Risky", "noting", "watch_of"]

Risky = Callable[[f.Expr], bool]
"""Whether an operation or reduction of floats, without its operands, may overflow."""

_UNDEFINED = frozenset({"sub", "mul", "div", "floordiv", "mod", "pow",
                        *(name for name, rule in MATHS.items() if rule.undefined)})
_OPERATIONS = 64  # of one statement that have a test each; more are tested together


def watch_of(program: f.Program, risky: Risky = may_overflow) -> Watch:
    """The vertex fields and graph-level values that may overflow, and the outputs that may become NaN."""
    risks, undefined = _risks(program, risky), _named(program, _undefined)
    outputs = {decl.name for decl in program.fields if decl.output}
    floats = {decl.name for decl in program.fields if floating(decl.type)}
    written: set[str] = set()
    scalars: set[str] = set()
    for statement in statements(program.body):
        if isinstance(statement, (f.Apply, f.InitField)) and _from(statement.value, risks, risky):
            written |= set(statement.fields) if isinstance(statement, f.Apply) else {statement.name}
        elif isinstance(statement, (f.Let, f.InitGlobal)) and isinstance(statement.value.type, Scalar) and \
                statement.value.type.floating and _from(statement.value, risks, risky):
            scalars.add(statement.name)
    written &= floats
    shown = frozenset(decl.name for decl in program.globals)
    nan = {name for s in statements(program.body) if isinstance(s, (f.Apply, f.InitField, f.InitGlobal))
           and (_undefined(s.value) or _reads(s.value, undefined))
           for name in (s.fields if isinstance(s, f.Apply) else (s.name,))}
    nan |= {s.name for s in statements(program.body) if isinstance(s, f.InitGlobal)
            and any(isinstance(e, f.Field) and e.name in nan for e in f.walk(s.value))}
    floats |= {decl.name for decl in program.globals if floating(decl.type)}
    return Watch(frozenset(written & outputs), frozenset(written - outputs), frozenset(scalars & shown),
                 frozenset(scalars - shown), frozenset(nan & floats & (outputs | shown) - written - scalars))


def noting(program: f.Program, given: frozenset[str], watch: Watch, risky: Risky) -> \
        tuple[f.Program, tuple[Place, ...]]:
    """The program with notes, and the place of each note.

    Args:
        program: The program.
        given: The fields whose initializers do not run.
        watch: The values that the run tested.
        risky: The operations that may have overflowed.
    """
    return _Notes(program, given, watch, risky).noted()


class _Notes(Notes):
    """Inserts the notes of floats."""

    def __init__(self, program: f.Program, given: frozenset[str], watch: Watch, risky: Risky) -> None:
        super().__init__(program, given)
        self._hidden, self._risky = watch.hidden | watch.lets, risky
        self._readers = _readers(program)

    def concerns(self, expr: f.Expr) -> bool:
        """Return whether an operation on floats in an expression may overflow."""
        return any(map(self._risky, values_in(expr)))

    def reduction(self, statement: f.Statement, reduce: f.Reduce, name: str) -> Iterator[f.Statement]:
        """Note where a reduction is infinite although its terms, or the operands of its terms, are finite."""
        value = named(reduce, name)
        hidden = not self._hidden.isdisjoint(self._targets(statement))
        if self._risky(reduce) and floating(reduce.type):
            yield from self._folded(statement, reduce, value, hidden)
        for part, term in parts_of(reduce, value):
            inside = self._departures(term) if floating(part.type) or isinstance(part.type, Tuple) else []
            if inside:
                left = self.fresh("left")
                test = reduce.alike(BOOL, "any", either(inside), reduce.cond)
                yield reducing(reduce)(statement.span, left, test)
                for one in _floats(part):
                    yield self.note(statement, one, both([infinite(one), named(test, left)]), hidden)

    def _folded(self, statement: f.Statement, reduce: f.Reduce, value: f.Expr, hidden: bool) -> Iterator[f.Statement]:
        """Note where a reduction with at least one term is infinite although its terms and its `default` are finite."""
        make, far, some = reducing(reduce), self.fresh("terms"), self.fresh("some")
        terms = reduce.alike(BOOL, "any", infinite(reduce.body), reduce.cond)
        yield make(statement.span, far, terms)
        finite = [no(named(terms, far))]
        if reduce.user:
            there = reduce.alike(BOOL, "any", f.Const(BOOL, True), reduce.cond)
            yield make(statement.span, some, there)
            finite.append(named(there, some))
        elif reduce.default is not None:
            finite.append(no(infinite(reduce.default)))
        yield self.note(statement, value, both([infinite(value), *finite]), hidden, terms=True)

    def value(self, statement: Writer, value: f.Expr) -> Iterator[f.Statement]:
        """Note where a written value is infinite because finite operands overflowed."""
        names = statement.fields if isinstance(statement, f.Apply) else (statement.name,)
        hidden = not self._hidden.isdisjoint(names)
        if len(_floats(value)) == 0:
            return
        for part, term in _with_terms(value):
            tests = self._departures(term) if floating(part.type) or isinstance(part.type, Tuple) else []
            for one in _floats(part) if tests else ():
                yield self.note(statement, one, both([infinite(one), either(tests)]), hidden)

    def _targets(self, statement: f.Statement) -> frozenset[str]:
        if isinstance(statement, f.Gather):
            return self._readers.get(statement.name, frozenset())
        return frozenset({statement.name}) if isinstance(statement, (f.Let, f.InitGlobal, f.InitField)) else frozenset()

    def _departures(self, expr: f.Expr) -> list[f.Expr]:
        """Return, for each operation of an expression that may overflow, a test whether the result is infinite for
        finite operands.

        If an expression has more than `_OPERATIONS` operations that may overflow, a single test says whether the value
        is infinite although its operands are finite.
        """
        tests = self._tests(expr)
        if len(tests) <= _OPERATIONS:
            return tests
        sources = [e for e in dict.fromkeys(values_in(expr)) if not f.children(e) and floating(e.type)
                   and not isinstance(e, f.Const)]
        return [both([infinite(one), *(no(infinite(source)) for source in sources)]) for one in _floats(expr)]

    def _tests(self, expr: f.Expr) -> list[f.Expr]:
        if isinstance(expr, f.Reduce):  # inside a reduction: over a group or over common neighbours
            inside = self._departures(expr.body)
            found: list[f.Expr] = [expr.alike(BOOL, "any", either(inside), expr.cond)] if inside else []
            if self._risky(expr) and floating(expr.type):
                found.append(no(expr.alike(BOOL, "any", infinite(expr.body), expr.cond)))
            return [both([infinite(expr), either(found)])] if found and floating(expr.type) else []
        if not isinstance(expr, f.Op) or (isinstance(expr.type, Scalar) and expr.type.kind == "bool"):
            return []
        if expr.op == "select":
            test, *choices = expr.args
            return [both([guard, one]) for guard, choice in zip((test, no(test)), choices, strict=True)
                    for one in self._tests(choice)]
        tests = [test for child in expr.args for test in self._tests(child)]
        return [*tests, _left(expr)] if self._risky(expr) else tests


def _left(op: f.Op) -> f.Expr:
    """Return a test whether an operation gives an infinity for finite operands. A division by 0 does not overflow."""
    if op.op != "div":
        return leaves(op)
    divisor = op.args[1]
    if not isinstance(divisor.type, Scalar):
        return leaves(op)
    return both([leaves(op), f.Op(BOOL, "ne", (divisor, f.Const(divisor.type, 0.0)))])


def _floats(value: f.Expr) -> list[f.Expr]:
    """Return the floats of a value: the value itself, or items of a tuple."""
    if isinstance(value.type, Tuple):
        return [f.Op(type_, "item", (value,), k) for k, type_ in enumerate(value.type.items) if floating(type_)]
    return [value] if floating(value.type) else []


def _with_terms(value: f.Expr) -> list[tuple[f.Expr, f.Expr]]:
    """A value, or the items of a written tuple, each with the expression from which it is computed."""
    if isinstance(value, f.Op) and value.op == "tuple":
        return [(item, item) for item in value.args]
    return [(value, value)]


def _readers(program: f.Program) -> dict[str, frozenset[str]]:
    """Return for each accumulator the fields that are computed from it, directly or through other accumulators."""
    found: dict[str, frozenset[str]] = {}
    for statement in reversed(list(statements(program.body))):
        for expr in expressions(statement):
            targets = frozenset(statement.fields) if isinstance(statement, f.Apply) else \
                found.get(statement.name, frozenset()) if isinstance(statement, f.Gather) else frozenset()
            for part in values_in(expr):
                if isinstance(part, f.Accumulator):
                    found[part.name] = found.get(part.name, frozenset()) | targets
    return found


def _risks(program: f.Program, risky: Risky) -> set[str]:
    """Return the gathers and graph-level values that may overflow, or that are computed from a gather that may
    overflow.
    """
    found: set[str] = set()
    for s in statements(program.body):
        if isinstance(s, (f.Gather, f.Let, f.InitGlobal)) and any(_from(e, found, risky) for e in expressions(s)):
            found.add(s.name)
    return found


def _named(program: f.Program, holds: Callable[[f.Expr], bool]) -> set[str]:
    """Return the gathers and graph-level values that contain an expression for which `holds` is true."""
    return {s.name for s in statements(program.body) if isinstance(s, (f.Gather, f.Let, f.InitGlobal))
            and any(map(holds, expressions(s)))}


def _from(expr: f.Expr, names: set[str], risky: Risky) -> bool:
    """Return whether a value contains an operation that may overflow, or reads a name in `names`."""
    return any(risky(e) or (isinstance(e, (f.Accumulator, f.GraphValue)) and e.name in names) for e in values_in(expr))


def _reads(expr: f.Expr, names: set[str]) -> bool:
    return any(isinstance(e, (f.Accumulator, f.GraphValue)) and e.name in names for e in f.walk(expr))


def _undefined(expr: f.Expr) -> bool:
    """Return whether an expression contains a float operation that may give NaN although its operands are numbers."""
    return any(isinstance(e, f.Op) and e.op in _UNDEFINED and floating(e.type) for e in f.walk(expr))
