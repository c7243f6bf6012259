"""Trap mode of the reference interpreter, which finds the first operation that fails (language.md 6.1).

Each operation is tested when it is evaluated, with a mask of the rows for which it is evaluated. An argument of a `fn`
is evaluated where the body names the argument. This module shares only the names of failures with
vlang.ir.traps.trap_mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from tests.reference import operators as ops
from tests.reference.constants import sized
from tests.reference.evaluate import Evaluator, _keep, reads_change, walk
from tests.reference.graph import RefGraph
from tests.reference.grouped import Groups, groups_of, of_groups, weighted_mode
from tests.reference.interpreter import _Machine
from tests.reference.outcome import Outcome
from tests.reference.reductions import put, reduce_groups, with_default
from tests.reference.state import Binding, Column, Env, Frame, Rows, Store, read
from tests.reference.trap_rules import failures_of, infinite, operand_of
from tests.reference.values import (
    Array,
    Value,
    _Weak,
    concrete,
    convert,
    declared,
    definite,
    elements,
    item,
    literal,
    literal_number,
    meet,
    spread,
    take,
)
from vlang.syntax import tree as t
from vlang.types import BOOL, CONVERSIONS, F16, F64, I64, INTEGER, VERTEX, Scalar, Tuple, Type, Vector

__all__ = ["Failed", "run_trapping"]


@dataclass(frozen=True)
class Failed(Exception):
    """The first failure.

    Attributes:
        vertex: the dense number, or None for a graph-level value.
    """

    kind: str
    line: int
    column: int
    vertex: int | None


def run_trapping(file: t.File, graph: RefGraph, params: Mapping[str, Any], fields: Mapping[str, Any] | None = None,
                max_rounds: int | None = None, precision: int = 32) -> Outcome:
    """Run a program in trap mode. Raises Failed."""
    with np.errstate(all="ignore"):
        file, constants = sized(file, params)
        machine = _Checking(file, graph, precision, max_rounds, dict(fields or {}))
        machine.bind(params, dict(graph.columns), constants)
        machine.watcher.on = True
        return machine.run()


@dataclass(frozen=True, eq=False)
class _Later(Value):
    """An argument of a `fn`, with a function that computes the argument."""

    compute: Callable[[], Value] | None = None


class _Watcher(Evaluator):
    """Evaluates expressions and records failures."""

    def __init__(self, file: t.File, graph: RefGraph, precision: int) -> None:
        super().__init__(file, graph, precision)
        self.on = False
        self._found: list[tuple[tuple[int, int, int], t.Span, str, int | None]] = []
        self._at: Array | None = None  # the vertex of each row
        self._guard: Array = np.array(True)
        self._compared = False
        self._inside = False  # whether an expression is being evaluated
        self._reducing = 0
        self._tickets = 0
        self._known: dict[int, Value] = {}  # the values of the reductions inside a grouped gather, by `id`

    def at(self, selected: Array) -> None:
        """Set the vertices for which the following expressions are computed."""
        self._at, self._guard = selected, np.array(True)

    def stop(self) -> None:
        """Raise the first failure of the statement, if it has one."""
        if self._found:
            _, span, kind, vertex = min(self._found, key=lambda one: one[0])
            raise Failed(kind, span.line, span.column, vertex)

    # ------------------------------------------------------------------------------------------------------- notes
    def _ticket(self) -> tuple[int, int]:
        self._tickets += 1
        return (0 if self._reducing else 1, self._tickets)

    def note(self, span: t.Span, kind: str, fails: Array, ticket: tuple[int, int] | None = None,
             guard: Array | None = None, at: Array | None = None, whole: bool = False) -> None:
        """Record a failure at the first row where `fails` is true.

        Args:
            whole: whether the value is graph-level.
        """
        if not self.on:
            return
        ticket = ticket or self._ticket()
        at = self._at if at is None and not whole else at
        fails = np.asarray(fails) & (self._guard if guard is None else guard)
        if at is None:
            if fails.any():
                self._found.append(((self.graph.n, *ticket), span, kind, None))
            return
        rows = np.flatnonzero(np.broadcast_to(fails, len(at)))
        if len(rows):
            vertex = int(at[rows].min())
            self._found.append(((vertex, *ticket), span, kind, vertex))

    @contextmanager
    def _under(self, *tests: Array) -> Iterator[None]:
        outer = self._guard
        for test in tests:
            self._guard = self._guard & test
        try:
            yield
        finally:
            self._guard = outer

    @contextmanager
    def _comparing(self, compared: bool) -> Iterator[None]:
        outer, self._compared = self._compared, compared
        try:
            yield
        finally:
            self._compared = outer

    # ------------------------------------------------------------------------------------------------- expressions
    def eval(self, expr: t.Expr, rows: Rows, env: Env) -> Value:
        """Evaluate an expression as `Evaluator.eval` does, and record its failures."""
        if not self.on or self._inside:
            return self._checked(expr, rows, env)
        self._inside, self._at, self._guard, self._compared = True, rows.own, np.array(True), False
        try:
            return self._checked(expr, rows, env)
        finally:
            self._inside = False

    def _checked(self, expr: t.Expr, rows: Rows, env: Env) -> Value:
        if not self.on:
            return super().eval(expr, rows, env)
        compared, self._compared = self._compared, False
        try:
            return self._watched(expr, rows, env, compared)
        finally:
            self._compared = compared

    def _part(self, expr: t.Expr, rows: Rows, env: Env, compared: bool = False) -> Value:
        with self._comparing(compared):
            return self.eval(expr, rows, env)

    def _watched(self, expr: t.Expr, rows: Rows, env: Env, compared: bool) -> Value:
        match expr:
            case t.Unary(op="-"):
                a = self._part(expr.value, rows, env, compared)
                result = self._within((a,), ops.negate(a, self._mode == "wrap"))
                return self.arithmetic(expr.span, "neg", (a,), result, compared)
            case t.Binary(op="@"):
                matrix, vector = (self._part(side, rows, env) for side in (expr.left, expr.right))
                type_ = concrete(reduce(meet, (row.type for row in matrix.parts), vector.type), self.precision)
                sides = [(convert(row, type_), convert(vector, type_)) for row in matrix.parts]
                return ops.vector_of([self._inner(expr.span, a, b, compared) for a, b in sides])
            case t.Binary(op=op):
                hands = compared and op in ("+", "-", "*")
                a, b = (self._part(side, rows, env, hands) for side in (expr.left, expr.right))
                result = self._within((a, b), ops.binary(op, a, b, self.precision, self._mode == "wrap"))
                return self.arithmetic(expr.span, op, (a, b), result, compared)
            case t.Compare(op=op):
                a, b = (self._part(side, rows, env, True) for side in (expr.left, expr.right))
                wide = 64 if a.type == b.type == INTEGER else self.precision
                result = ops.compare(op, a, b, wide)
                if op not in ("==", "!="):
                    self._ordered(expr.span, a, b)
                    if a.type == b.type == VERTEX:
                        self.note(expr.span, "none", (a.raw < 0) | (b.raw < 0))
                return result
            case t.Logical(op=op):
                left = ops.truth(self._part(expr.left, rows, env))
                with self._under(left if op == "and" else ~left):
                    right = ops.truth(self._part(expr.right, rows, env))
                return Value(BOOL, np.asarray(left & right if op == "and" else left | right))
            case t.Conditional():
                test = ops.truth(self._part(expr.test, rows, env))
                with self._under(test):
                    yes = self._part(expr.yes, rows, env, compared)
                with self._under(~test):
                    no = self._part(expr.no, rows, env, compared)
                return ops.choose(test, yes, no)
            case t.TupleExpr() | t.VectorExpr():
                with self._comparing(compared):
                    return super().eval(expr, rows, env)
            case t.Index():
                return self._indexed(expr, rows, env, compared)
            case t.Member():
                index = self._vertex(expr.value, rows, env)
                if not isinstance(expr.value, t.Name) or expr.value.name not in rows.members:
                    self.note(expr.span, "none", index < 0)
                return super().eval(_Fixed.member(expr, index), rows, env)
            case t.Name():
                with self._comparing(compared):
                    return super().eval(expr, rows, env)
            case t.Call():
                with self._comparing(compared):
                    return self._called(expr, rows, env)
        return super().eval(expr, rows, env)

    def _vertex(self, expr: t.Expr, rows: Rows, env: Env) -> Array:
        return expr.index if isinstance(expr, _Fixed) else super()._vertex(expr, rows, env)

    def _indexed(self, expr: t.Index, rows: Rows, env: Env, compared: bool) -> Value:
        value = self._part(expr.value, rows, env, compared)
        if isinstance(value.type, Tuple):
            return value.parts[int(definite(self._part(expr.index, rows, env), self.precision).raw)]
        assert isinstance(value.type, Vector)
        index = definite(self._part(expr.index, rows, env), self.precision)
        self.note(expr.span, "index", (index.raw < 0) | (index.raw >= value.type.size))
        parts = ops.components(value)
        result = parts[-1]
        for place in range(len(parts) - 1):
            result = ops.choose(np.asarray(index.raw == place), parts[place], result)
        return result

    def _name(self, name: str, rows: Rows, env: Env) -> Value:
        bound = env.get(name)
        if isinstance(bound, _Later) and bound.compute is not None:
            return bound.compute()
        return super()._name(name, rows, env)

    # ------------------------------------------------------------------------------------------------------- calls
    def _called(self, expr: t.Call, rows: Rows, env: Env) -> Value:
        name, compared = expr.name, self._compared
        if name == "wrap":
            with self._computing("wrap"):
                return self.eval(expr.args[0], rows, env)
        bound = name not in self.functions and name not in self.reductions and name in env  # an edge field
        first = expr.args[0] if expr.args else None
        of_state = name == "reverse" and isinstance(first, t.Name) and isinstance(env.get(first.name), Column)
        if name in ("old", "change", "changed", "edges") or bound or of_state:
            return super()._call(expr, rows, env)
        if name in self.functions:
            return self._substituted(self.functions[name], expr, rows, env)
        if (longer := self.written_out(expr)) is not None:
            return self._part(longer, rows, env, compared)
        least = name in ("min", "max")
        args = [value for a in expr.args for value in
                (self._edge_keys(rows) if isinstance(a, t.EdgeKey) else (self._part(a, rows, env, least),))]
        if name in self.reductions:
            return self.join(self.reductions[name], args[0], args[1], env)
        if name in ("min", "max", "sum") and len(args) == 1:
            return self._folded(expr.span, name, ops.components(args[0]), compared)
        if least:
            result = args[0]
            for other in args[1:]:
                self._ordered(expr.span, result, other)
                result = ops.extreme(name, result, other, self.precision)
            return result
        if name == "dot":
            type_ = meet(args[0].type, args[1].type)
            return self._inner(expr.span, convert(args[0], type_), convert(args[1], type_), compared)
        result = self._built_in(name, args)
        self._function_failed(expr.span, name, args[0], result)
        return result

    def _inner(self, span: t.Span, a: Value, b: Value, compared: bool) -> Value:
        """Return the inner product of two vectors."""
        products = []
        for one, other in zip(ops.components(a), ops.components(b), strict=True):
            product = ops.binary("*", one, other, self.precision)
            products.append(self.arithmetic(span, "*", (one, other), product, compared))
        return self._folded(span, "sum", products, compared)

    def _folded(self, span: t.Span, name: str, parts: list[Value], compared: bool) -> Value:
        result = parts[0]
        for part in parts[1:]:
            if name == "sum":
                total = ops.binary("+", result, part, self.precision)
                result = self.arithmetic(span, "+", (result, part), total, compared)
            else:
                self._ordered(span, result, part)
                result = ops.extreme(name, result, part, self.precision)
        return result

    def _substituted(self, function: t.Function, expr: t.Call, rows: Rows, env: Env) -> Value:
        """Return the value of the body of a `fn`. Each argument is evaluated where the body names it."""
        inner: dict[str, Binding] = {}
        outer_mode = self._mode
        for place, param in enumerate(function.params):
            type_ = self._argument_type(param, env)
            given = expr.args[place] if place < len(expr.args) else param.default
            mode = outer_mode if place < len(expr.args) else ""

            def compute(given: t.Expr | None = given, type_: Type = type_, mode: str = mode) -> Value:
                assert given is not None
                with self._computing(mode):
                    return read(convert(self.eval(given, rows, env), type_), type_)

            inner[param.name] = _Later(type_, np.array(0), compute)
        with self._computing(""):
            result = self.eval(function.value, rows, env.new_child(inner))
        if function.type is None:
            return definite(result, self.precision)
        type_ = declared(function.type, self.precision)
        return read(convert(result, type_), type_)

    def _between(self, expr: t.Call, rows: Rows, env: Env) -> Value:
        value = super()._between(expr, rows, env)
        kind = item(value.type)
        column = env.get(expr.name)
        of_state = isinstance(column, Column) and column.rows is not None  # one value, and not a sum
        if expr.name != "edges" and not of_state:  # the terms are finite, or trap mode refuses the run
            raw = definite(value, self.precision).raw
            fails = infinite(raw, kind) if kind.kind != "uint" else np.asarray(raw == kind.highest)
            self._somewhere(expr.span, "infinite", fails, value.type)
        return value

    def _function_failed(self, span: t.Span, name: str, a: Value, result: Value) -> None:
        if name in (t.CONTAINED, "len", "position"):
            return
        r = definite(result, self.precision)
        if item(r.type).integral and item(a.type).floating and name != "isnan":
            x, kind = definite(a, self.precision).raw, item(r.type)
            self._somewhere(span, "nan operand", np.isnan(x), r.type)
            outside = infinite(r.raw, kind) & ~np.isinf(x) if kind.kind == "int" else \
                (np.trunc(x) < 0) | (np.trunc(x) > kind.highest)
            self._somewhere(span, "infinite", outside, r.type)
        elif name in ("sqrt", "exp", "log", "log1p", "exp2", "log2", "sin", "cos", "tan"):
            x = elements(a, item(r.type))
            if name in ("exp", "log", "log1p", "exp2", "log2"):
                self._somewhere(span, "infinite", np.isinf(r.raw) & ~np.isinf(x), r.type)
            if name not in ("exp", "exp2"):
                self._somewhere(span, "nan", np.isnan(r.raw) & ~np.isnan(x), r.type)
        elif name in CONVERSIONS and item(a.type).numeric and not item(a.type).weak:
            self._narrowed(span, a, r)

    def _narrowed(self, span: t.Span, a: Value, r: Value) -> None:
        """Check the conversion of a number to a type that does not hold all values of the number's type."""
        source, target = item(a.type), item(r.type)
        if target.floating:
            self._somewhere(span, "infinite", np.isinf(r.raw) & ~infinite(a.raw, source), r.type)
            return
        both = source.kind == target.kind == "int"
        far = infinite(a.raw, source) if both else np.zeros(np.shape(a.raw), np.bool_)
        low, high = (target.lowest + 1, target.highest - 1) if target.kind == "int" else (0, target.highest)
        wrong = np.array([not low <= int(x) <= high for x in a.raw.ravel()], np.bool_).reshape(np.shape(a.raw))
        if source != target:
            self._somewhere(span, "infinite", wrong & ~far, r.type)

    # -------------------------------------------------------------------------------------------------- operations
    def _somewhere(self, span: t.Span, kind: str, fails: Array, type_: Type) -> None:
        """Record a failure if any component of a value fails."""
        self.note(span, kind, np.asarray(fails.any(axis=-1) if isinstance(type_, Vector) else fails))

    def _ordered(self, span: t.Span, a: Value, b: Value) -> None:
        """Check the operands of a minimum, maximum or ordering comparison."""
        fails: Array = np.array(False)
        pairs = list(zip(a.parts, b.parts, strict=True)) if isinstance(a.type, Tuple) else [(a, b)]
        for x, y in pairs:
            for one in (x, y):
                if item(one.type).floating:
                    data = definite(one, self.precision).raw
                    bad: Array = np.isnan(data)
                    fails = np.asarray(fails | (bad.any(axis=-1) if isinstance(one.type, Vector) else bad))
        self.note(span, "nan operand", fails)

    def arithmetic(self, span: t.Span, op: str, args: tuple[Value, ...], result: Value, compared: bool) -> Value:
        """Test the result of an operation. A weak value is tested later, when it gets its type."""
        if literal_number(result) is not None or not self.on:
            return result
        ticket, guard, at, mode = self._ticket(), self._guard, self._at, self._mode
        meant = tuple(literal_number(a) is not None for a in args)

        def test(made: Array, type_: Type) -> None:
            scalar = item(type_)
            sides = tuple(operand_of(a, type_, scalar, k, op) for k, a in enumerate(args))
            for kind, fails in failures_of(op, sides, made, scalar, compared, meant, mode):
                if isinstance(type_, Vector):
                    fails = np.asarray(np.broadcast_to(fails, np.shape(made)).any(axis=-1))
                self.note(span, kind, fails, ticket, guard, at, at is None)

        if not callable(result.data):
            test(result.raw, result.type)
            return result
        data, type_ = result.data, result.type

        def make(scalar: Scalar) -> Array:
            inner = data.make if isinstance(data, _Weak) else data
            made = inner(scalar)
            place: Type = Vector(scalar, type_.size) if isinstance(type_, Vector) else scalar
            if scalar.floating and item(type_) == INTEGER:
                return made
            test(made, place)
            return made

        weak = data if isinstance(data, _Weak) else _Weak(data)
        return Value(type_, replace(weak, make=make))

    def stored(self, span: t.Span, value: Value, type_: Type) -> None:
        """Test a value before it is stored, since it may be too large for an f16."""
        if self.on and not isinstance(type_, Tuple) and item(type_) == F16 and value.type != type_:
            before, after = definite(value, self.precision), convert(value, type_)
            fails = np.isinf(after.raw) & ~infinite(before.raw, item(before.type))
            self._somewhere(span, "infinite", fails, type_)

    # -------------------------------------------------------------------------------------------------- reductions
    def reduce(self, expr: t.Reduce, rows: Rows, env: Env) -> Value:
        """Evaluate a reduction as `Evaluator.reduce` does, and record its failures."""
        if not self.on:
            return super().reduce(expr, rows, env)
        if id(expr) in self._known:
            return self._known[id(expr)]
        outer = self._at, self._guard
        self._reducing += 1
        try:
            if expr.group is not None or (expr.weight is not None and not expr.keys):
                return self._of_groups(expr, rows, env, outer[0])
            return self._reduced(expr, rows, env, *outer)
        finally:
            self._at, self._guard = outer
            self._reducing -= 1

    def _reduced(self, expr: t.Reduce, rows: Rows, env: Env, outside: Array | None, guard: Array) -> Value:
        on, self.on = self.on, False
        expr, inner, group, over_vertices = self.reached(expr, rows, env)
        place = self._places(expr, inner) if expr.keys else np.zeros(0, np.int64)
        self.on, groups = on, 1 if over_vertices else rows.count or 0
        guard = guard if expr.domain.kind == "common" else np.array(True)  # evaluated for an edge, where its value is

        def here(rows: Rows) -> None:
            self._at = rows.members[expr.domain.name] if over_vertices else rows.own
            self._guard = np.broadcast_to(guard, groups)[group]

        here(inner)
        if expr.cond is not None:
            holds = definite(self._part(expr.cond, inner, env), self.precision)
            kept = np.broadcast_to(ops.truth(holds), len(group))
            place = place[kept] if expr.keys else place
            inner, group = _keep(inner, group, kept)
            here(inner)
        if expr.keys:
            keys = [self._part(key, inner, env) for key in expr.keys]
            weight = None if expr.weight is None else self._part(expr.weight, inner, env)
            body = self._part(expr.body, inner, env, True)
            self._at, self._guard = outside, np.array(True)
            value = literal(None) if expr.default is None else self._part(expr.default, rows, env)
            chosen = self.chosen(expr, inner, group, (keys, place, weight, body), value, groups)
            self._result(expr, definite(body, self.precision), group, groups, chosen, False)
            return chosen
        user = expr.name in self.reductions
        body = self._part(expr.body, inner, env, expr.name in ("min", "max") and not user)
        result, counts = self._fold(expr, body, group, groups, env, over_vertices)
        self._at, self._guard = None if over_vertices else outside, guard
        default = None if expr.default is None else self._part(expr.default, rows, env)
        self._result(expr, definite(body, self.precision), group, groups, result, over_vertices)
        if default is not None:
            result = with_default(result, counts, default)
        return take(result, np.array(0)) if over_vertices else result

    def _of_groups(self, expr: t.Reduce, rows: Rows, env: Env, outside: Array | None) -> Value:
        """Check a grouped gather, or `mode` with weights: first the expressions that are evaluated at edges, then the
        expressions that are evaluated for groups.
        """
        def here(of: Rows) -> None:
            self._at, self._guard = of.own, np.array(True)

        _, inner, row, _ = self.reached(expr, rows, env)
        here(inner)
        if expr.cond is not None:
            holds = definite(self._part(expr.cond, inner, env), self.precision)
            inner, row = _keep(inner, row, np.broadcast_to(ops.truth(holds), len(row)))
            here(inner)
        key = self._part(expr.body if expr.group is None else expr.group.key, inner, env)
        groups = groups_of(key, inner, row, self.precision)
        assert rows.own is not None
        within = Rows(len(groups.row), rows.own[groups.row])
        if expr.group is None:
            result, counts = self._weighted(expr, groups, within, rows.count or 0, env)
            self._at, self._guard = outside, np.array(True)
            return result if expr.default is None else with_default(result, counts, self._part(expr.default, rows, env))
        grouping, named, user = expr.group, env.new_child({expr.group.name: groups.keys}), expr.name in self.reductions
        inside = [node for part in (grouping.cond, expr.body) for node in walk(part) if isinstance(node, t.Reduce)]
        terms = []
        for node in inside:
            edges, group = groups.edges, groups.group
            here(edges)
            if node.cond is not None:
                holds = definite(self._part(node.cond, edges, env), self.precision)
                kept = np.broadcast_to(ops.truth(holds), len(group))
                edges, group = _keep(edges, group, kept)
                here(edges)
            plain = node.name in ("min", "max") and node.name not in self.reductions
            terms.append((node, self._part(node.body, edges, env, plain), group))
        for node, body, group in terms:
            here(within)
            default = None if node.default is None else self._part(node.default, within, named)
            value, counts = self._fold(node, body, group, len(groups.row), env, False)
            self._result(node, definite(body, self.precision), group, len(groups.row), value, False)
            self._known[id(node)] = value if default is None else with_default(value, counts, default)
        here(within)
        kept = np.array(True) if grouping.cond is None else ops.truth(self._part(grouping.cond, within, named))
        with self._under(kept):
            body = self._part(expr.body, within, named, expr.name in ("min", "max") and not user)
        for node in inside:
            del self._known[id(node)]
        body, chosen = of_groups(groups, definite(body, self.precision), kept)
        result, counts = self._fold(expr, body, chosen, rows.count or 0, env, False)
        self._at, self._guard = outside, np.array(True)
        default = None if expr.default is None else self._part(expr.default, rows, env)
        self._result(expr, body, chosen, rows.count or 0, result, False)
        return result if default is None else with_default(result, counts, default)

    def _weighted(self, expr: t.Reduce, groups: Groups, within: Rows, rows: int, env: Env) -> tuple[Value, Array]:
        """Check `mode` with weights, which sums the weights of each group; the largest sum wins."""
        assert expr.weight is not None
        self._at, self._guard = groups.edges.own, np.array(True)
        weights = spread(definite(self._part(expr.weight, groups.edges, env), self.precision), len(groups.group))
        wide = convert(weights, F64 if item(weights.type).floating else I64)
        self._narrowed(expr.weight.span, weights, wide)
        weights = wide
        count = len(groups.row)
        total, _ = reduce_groups("sum", weights, groups.group, count, False, self.precision)
        self._at, self._guard = within.own, np.array(True)
        summed = replace(expr, name="sum", span=expr.weight.span)
        self._result(summed, weights, groups.group, count, total, False)
        if item(total.type).floating:
            self.note(expr.span, "nan operand", np.isnan(total.raw))
        return weighted_mode(groups, weights, rows, self.precision)

    def _result(self, expr: t.Reduce, body: Value, group: Array, groups: int, result: Value,
                over_vertices: bool) -> None:
        def some(fails: Array) -> Array:
            fails = _any(fails)
            return np.bincount(group[fails], minlength=groups).astype(bool)

        def noted(kind: str, fails: Array) -> None:
            fails = _any(fails)
            self.note(expr.span, kind, np.asarray(fails.any()) if over_vertices else fails, whole=over_vertices)

        user, name = expr.name in self.reductions, expr.name
        terms = [b for b in (body.parts if isinstance(body.type, Tuple) else (body,)) if item(b.type).floating]
        nans = np.zeros(groups, bool)
        for term in terms:
            nans |= some(_spread(np.isnan(term.raw), len(group), term))
        if not user and name in ("min", "max", "median", "pick"):
            if terms:
                noted("nan operand", nans)
            return
        values = [r for r in (result.parts if isinstance(result.type, Tuple) else (result,)) if item(r.type).floating]
        if ((user or name in ("sum", "prod")) and terms) or (name == "mean" and not user):
            for value in values:
                noted("nan", _any(np.isnan(value.raw)) & ~nans)
            if not user:
                far = np.zeros(groups, bool)
                for term in terms:
                    far |= some(_spread(np.isinf(term.raw), len(group), term))
                if name == "mean" and not terms:  # a mean of integers is a float
                    far |= some(_spread(infinite(body.raw, item(body.type)), len(group), body))
                for value in values:
                    noted("infinite", _any(np.isinf(value.raw)) & ~far)
        elif not user and name in ("sum", "prod"):
            scalar = item(result.type)
            bad = _any(infinite(result.raw, scalar) if scalar.kind == "int" else
                       np.asarray(result.raw == scalar.highest))
            far = some(_spread(infinite(body.raw, item(body.type)), len(group), body))
            noted("infinite operand", far)
            noted("infinite", bad & ~far)


def _any(fails: Array) -> Array:
    """Return for each value whether any of its components fails."""
    return np.asarray(fails.any(axis=-1) if fails.ndim > 1 else fails)


def _spread(fails: Array, rows: int, value: Value) -> Array:
    if isinstance(value.type, Vector):
        return np.broadcast_to(fails, (rows, value.type.size))
    return np.broadcast_to(fails, rows)


class _Fixed(t.Expr):
    """An expression that stands for a vertex whose number is already known."""

    index: Array

    @staticmethod
    def member(expr: t.Member, index: Array) -> t.Member:
        """Return the member expression, with a known vertex instead of its vertex expression."""
        fixed = _Fixed(expr.value.span)
        object.__setattr__(fixed, "index", index)
        return replace(expr, value=fixed)


class _Checking(_Machine):
    """Executes statements. The first statement that fails raises Failed."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.watcher = _Watcher(self.file, self.graph, self.precision)
        self.evaluator = self.watcher

    def execute(self, statement: t.Statement, selected: Array, env: Env) -> None:
        super().execute(statement, selected, env)
        self.watcher.stop()

    def _truth(self, cond: t.Expr, selected: Array, env: Env) -> Array:
        found = super()._truth(cond, selected, env)
        self.watcher.stop()
        return found

    def _holds(self, cond: t.Expr, env: Env) -> bool:
        on = self.watcher.on
        self.watcher.on = on and not reads_change(cond)
        try:
            found = super()._holds(cond, env)
        finally:
            self.watcher.on = on
        self.watcher.stop()
        return found

    def _integer(self, expr: t.Expr, env: Env) -> int:
        found = super()._integer(expr, env)
        self.watcher.stop()
        return found

    def _activity(self, loop: t.Repeat, frame: Frame, stores: list[Store], selected: Array, env: Env) -> Array:
        if loop.until is not None:
            self._holds(loop.until, env)
        return super()._activity(loop, frame, stores, selected, env)

    def _field(self, statement: t.VertexField, env: Env) -> None:
        type_ = declared(statement.type, self.precision)
        if self.watcher.on and statement.init is not None and item(type_) == F16:
            value = self.watcher.eval(statement.init, self._rows(self.all), env)
            self.watcher.at(self.all)
            self.watcher.stored(statement.init.span, value, type_)
        super()._field(statement, env)

    def _edge_state(self, statement: t.EdgeState, env: Env) -> None:
        if self.watcher.on and statement.init is not None:
            rows = Rows(self.graph.m, self.graph.dst, {}, np.arange(self.graph.m))
            self.watcher.eval(statement.init, rows, env)
        with self._unwatched():
            super()._edge_state(statement, env)

    def _apply_edges(self, statement: t.Apply, domain: t.Domain, selected: Array, env: Env) -> None:
        """Evaluate the values of all edges as one expression, and then execute the write without tests."""
        name = t.Name(statement.span, statement.target.names[0])
        value = statement.value
        if statement.op != "=":
            value = t.Binary(statement.span, statement.op[:-1], name, value)
        if statement.cond is not None:
            value = t.Conditional(statement.value.span, value, statement.cond, name)
        at = np.flatnonzero(np.isin(self.graph.dst, selected))
        rows = Rows(len(at), self.graph.dst[at], {domain.name: self.graph.src[at]}, at)
        self.watcher.eval(value, rows, env)
        with self._unwatched():
            super()._apply_edges(statement, domain, selected, env)

    @contextmanager
    def _unwatched(self) -> Iterator[None]:
        on, self.watcher.on = self.watcher.on, False
        try:
            yield
        finally:
            self.watcher.on = on

    def _apply(self, statement: t.Apply, selected: Array, env: Env) -> None:
        """Execute a write as `_Machine._apply` does. An update such as `+=` is also an operation that may fail."""
        rows, watcher, span = self._rows(selected), self.watcher, statement.value.span
        stores = [env[name] for name in statement.target.names]
        value = watcher.eval(statement.value, rows, env)
        watcher.at(selected)
        if statement.op != "=":
            span, op = statement.span, statement.op[:-1]
            before = watcher.eval(t.Name(span, statement.target.names[0]), rows, env)
            made = ops.binary(op, before, value, self.precision)
            watcher.at(selected)
            value = watcher.arithmetic(span, op, (before, value), made, False)
        many = statement.target.many
        items = statement.value.items if many and isinstance(statement.value, t.TupleExpr) else ()
        for number, store in enumerate(stores):
            assert isinstance(store, Store)
            part = value.parts[number] if many else value
            watcher.stored(items[number].span if items else span, part, store.type)
            store.value = put(store.value, selected, spread(convert(part, store.type), len(selected)))
