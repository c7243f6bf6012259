"""Bounds on the finite floats of a program, derived from its inputs. The bounds show which operations cannot overflow.

The bound of a name follows from the bounds of the names from which it is computed. Names that are computed from each
other, such as the distances of a shortest-path search, form a cycle. If each write adds at most a constant to the
largest value of the cycle, the bound is this constant times the largest number of writes in a run. All other cycles
have no bound.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from functools import reduce as fold

from vlang.ir.forms import forms as f
from vlang.ir.forms.cycles import cycles
from vlang.ir.forms.ranges import Sizes
from vlang.ir.forms.visible import statements
from vlang.records import dataclass
from vlang.types import Scalar, Tuple, Type, Vector

__all__ = ["FloatBounds", "floating", "items", "may_overflow", "values_in"]

_WRITES = 2.0**62
"""More writes to one vertex than a run can make: at one in a nanosecond they take 146 years."""

_HIGHEST = {16: 65504.0, 32: float(2**128 - 2**104), 64: sys.float_info.max}
_DIGITS = 1.01  # more than all rounding errors of an expression

_OVERFLOWING = frozenset({"add", "sub", "mul", "div", "pow", "cast", "vsum", "dot", "exp", "exp2"})
_LARGEST = frozenset({"neg", "abs", "min", "max", "cast", "tuple", "item", "component", "part", "vector", "broadcast",
                      "reverse", "vmin", "vmax"})  # the result is not larger than the largest operand
_SMALL = frozenset({"tanh", "sin", "cos", "atan2", "random", "sign"})
_LOGARITHMS = frozenset({"log", "log2", "log1p"})


@dataclass(frozen=True)
class Bound:
    """The bound `slope * x + most` on the finite values of an expression, where x is the largest value of the cycle."""

    slope: float
    most: float

    def __add__(self, other: Bound) -> Bound:
        return Bound(self.slope + other.slope, self.most + other.most)

    def __or__(self, other: Bound) -> Bound:
        return Bound(max(self.slope, other.slope), max(self.most, other.most))

    def times(self, factor: float) -> Bound:
        """The bound of a product with a value of at most `factor`."""
        return _NOTHING if factor == 0 else Bound(_product(self.slope, factor), _product(self.most, factor))

    def __mul__(self, other: Bound) -> Bound:
        if self.slope and other.slope:
            return _UNKNOWN
        return other.times(self.most) if self.slope == 0 else self.times(other.most)


_NOTHING, _UNKNOWN = Bound(0.0, 0.0), Bound(0.0, math.inf)


def _product(a: float, b: float) -> float:
    return 0.0 if a == 0 or b == 0 else a * b


class FloatBounds:
    """Bounds on the finite values of names.

    Args:
        program: The program.
        inputs: The largest absolute finite value of each edge field, parameter and passed field. A missing input may
            have any value of its type.
        sizes: Upper bounds on the vertices and edges of the graph.
    """

    def __init__(self, program: f.Program, inputs: Mapping[str, float], sizes: Sizes) -> None:
        self._inputs, self._sizes = inputs, sizes
        decls: list[f.EdgeDecl | f.ParamDecl] = [*program.edges, *program.params]
        self._defaults = {decl.name: decl.default for decl in decls if decl.name not in inputs}
        self._reductions = {one.name: one for one in program.reductions}
        self._cycle: frozenset[str] = frozenset()
        self._memo: dict[int, tuple[f.Expr, Bound]] = {}  # by id(), with the expression so that it lives on
        self._names: dict[str, Bound] = {}
        writes: dict[str, list[f.Expr]] = {}
        for name, value in _writes(program, inputs):
            writes.setdefault(name, []).append(value)
        for decl in program.fields:
            if decl.required or decl.name in inputs:
                writes.setdefault(decl.name, []).append(_GIVEN)
        reads = {name: {part.name for value in values for part in values_in(value)
                        if isinstance(part, (f.Field, f.Accumulator, f.GraphValue)) and part.name in writes}
                 for name, values in writes.items()}
        for names in cycles(reads):
            self._bound(names, [value for name in names for value in writes[name]])

    def may_overflow(self, expr: f.Expr) -> bool:
        """Return whether an operation or reduction may become infinite although all of its operands are finite."""
        if not may_overflow(expr) or self.of(expr).most * _DIGITS <= _most(expr.type):
            return False
        if isinstance(expr, f.Op) and expr.op == "between":  # an infinite term looks like an overflow
            return math.isfinite(self._inputs.get(str(expr.data), 0.0))
        return True

    def _bound(self, names: frozenset[str], values: list[f.Expr]) -> None:
        """Find the bound of names that are computed from each other, or of one name."""
        self._cycle, self._memo = names, {}
        found = [self._given(names) if value is _GIVEN else self.of(value) for value in values]
        self._cycle, self._memo = frozenset(), {}
        most = max(bound.most for bound in found)
        if any(bound.slope for bound in found):
            steps = max((bound.most for bound in found if bound.slope), default=0.0)
            most = most + _product(steps, _WRITES) if max(bound.slope for bound in found) <= 1 else math.inf
        self._names |= dict.fromkeys(names, Bound(0.0, most))

    def _given(self, names: frozenset[str]) -> Bound:
        return Bound(0.0, max(self._inputs.get(name, math.inf) for name in names))

    def of(self, expr: f.Expr) -> Bound:
        """The bound on the finite absolute values of an expression, or of its components."""
        known = self._memo.get(id(expr))
        if known is None:
            known = self._memo[id(expr)] = expr, self._find(expr)
        return known[1]

    def _find(self, expr: f.Expr) -> Bound:
        if isinstance(expr, f.Const):
            number = abs(float(expr.value or 0))
            return Bound(0.0, number) if math.isfinite(number) else _NOTHING
        if isinstance(expr.type, Scalar) and expr.type.kind in ("bool", "vertex"):
            return Bound(0.0, 2.0**32)
        if isinstance(expr.type, Scalar) and expr.type.integral:
            return Bound(0.0, float(expr.type.highest + 1))
        if isinstance(expr, f.Field):
            return self._named(expr.name).times(2.0 if expr.time == "change" else 1.0)
        if isinstance(expr, f.EdgeValue) or (isinstance(expr, f.GraphValue) and expr.kind == "parameter"):
            default = self._defaults.get(expr.name)
            return self.of(default) if default is not None else Bound(0.0, self._inputs.get(expr.name, math.inf))
        if isinstance(expr, (f.GraphValue, f.Accumulator)):
            return self._named(expr.name)
        if isinstance(expr, f.Reduce):
            return self._reduced(expr)
        return self._op(expr) if isinstance(expr, f.Op) else _UNKNOWN

    def _named(self, name: str) -> Bound:
        return Bound(1.0, 0.0) if name in self._cycle else self._names.get(name, _UNKNOWN)

    def _reduced(self, reduce: f.Reduce) -> Bound:
        body = self.of(reduce.body)
        terms = float(self._sizes.row if reduce.domain.stored else self._sizes.vertices)
        if reduce.user:
            body = self._folded(self._reductions[reduce.name], body, terms)
        elif reduce.operator == "+":
            body = body.times(terms)
        elif reduce.operator not in ("min", "max") and reduce.name not in ("mean", "median", "mode"):
            body = _UNKNOWN
        return body if reduce.default is None else body | self.of(reduce.default)

    def _folded(self, reduction: f.UserReduction, value: Bound, terms: float) -> Bound:
        """The bound of a declared reduction of `terms` values."""
        inner = FloatBounds.__new__(FloatBounds)
        inner.__dict__ |= self.__dict__ | {"_cycle": frozenset({reduction.left, reduction.right}), "_memo": {}}
        step, start = inner.of(reduction.body), self.of(reduction.identity)
        if step.slope > 1:
            return _UNKNOWN
        return (value | start) + Bound(0.0, _product(step.most, terms))

    def _op(self, op: f.Op) -> Bound:
        if op.op == "select":
            return self.of(op.args[1]) | self.of(op.args[2])
        if op.op == "user":
            (a, b), name = (self.of(arg) for arg in op.args[-2:]), op.data
            return self._folded(self._reductions[str(name)], a | b, 1.0)
        if op.op == "between":
            return self.of(f.EdgeValue(op.type, str(op.data))).times(float(self._sizes.row))
        if op.op in _SMALL:
            return Bound(0.0, 4.0)
        if op.op in _LOGARITHMS:
            return Bound(0.0, 1100.0)  # of the least and of the largest f64
        args = [self.of(arg) for arg in op.args if _numeric(arg.type)]
        if op.op in _LARGEST:
            return _any_of(args)
        if op.op in ("add", "sub"):
            return args[0] + args[1]
        if op.op == "mul":
            return args[0] * args[1]
        if op.op in ("vsum", "dot"):
            vector = op.args[0].type
            size = float(vector.size) if isinstance(vector, Vector) else math.inf
            return (args[0] if op.op == "vsum" else args[0] * args[1]).times(size)
        if op.op == "sqrt":
            return args[0] + Bound(0.0, 1.0)
        return self._steep(op, args)

    def _steep(self, op: f.Op, args: list[Bound]) -> Bound:
        """Return the bound of a division, a power or an exponential function, which depends on the value of an operand.
        """
        second = op.args[-1]
        if op.op == "div":
            divisor = _least(second)
            return args[0].times(1 / divisor) if divisor else _UNKNOWN
        if op.op == "mod":
            return args[1]
        if op.op == "pow" and isinstance(second, f.Const) and second.value in (1, 2, 3):
            return args[0] if second.value == 1 else args[0] * args[0] if second.value == 2 else \
                args[0] * args[0] * args[0]
        if op.op in ("exp", "exp2"):
            if _negative(second):
                return Bound(0.0, 1.0)
            return Bound(0.0, math.exp(args[0].most)) if args[0].slope == 0 and args[0].most < 700 else _UNKNOWN
        return _UNKNOWN


_GIVEN = f.Const(Scalar("given", "float", 64), None)
"""Stands for the values of a field that the caller passes."""


def may_overflow(expr: f.Expr) -> bool:
    """Return whether an operation or reduction of floats may overflow for some finite operands."""
    if not any(map(floating, items(expr.type))):
        return False
    if isinstance(expr, f.Reduce):
        return expr.user or expr.operator in ("+", "*")
    if isinstance(expr, f.Op) and expr.op == "cast":
        return _most(expr.args[0].type) > _most(expr.type)
    return isinstance(expr, f.Op) and (expr.op in _OVERFLOWING or (expr.op == "between" and bool(expr.data)))


def values_in(expr: f.Expr) -> Iterator[f.Expr]:
    """Yield an expression and the parts from which its value is computed, without conditions and keys."""
    yield expr
    if isinstance(expr, f.Reduce):
        below: tuple[f.Expr, ...] = (expr.body,) if expr.default is None else (expr.body, expr.default)
    elif isinstance(expr, f.Op):
        below = expr.args[1:] if expr.op == "select" else expr.args
    else:
        below = ()
    for part in below:
        if part.type is not None and not (isinstance(part.type, Scalar) and part.type.kind == "bool"):
            yield from values_in(part)


def floating(type_: Type) -> bool:
    """Return whether a type is a float type, or a type of vectors of floats."""
    item = type_.item if isinstance(type_, Vector) else type_
    return isinstance(item, Scalar) and item.floating


def items(type_: Type) -> tuple[Type, ...]:
    """Return the types of the items of a tuple; for any other type, return the type itself."""
    return type_.items if isinstance(type_, Tuple) else (type_,)


def _most(type_: Type) -> float:
    """The largest finite value of a type. For a vector, the result is the largest finite value of the component type.
    For a tuple, the result is the largest finite value of the smallest float type in the tuple.
    """
    if isinstance(type_, Tuple):
        return min((_most(item) for item in type_.items if floating(item)), default=math.inf)
    item = type_.item if isinstance(type_, Vector) else type_
    if not isinstance(item, Scalar):
        return math.inf
    return _HIGHEST[item.bits] if item.floating else float(item.highest)


def _numeric(type_: Type) -> bool:
    item = type_.item if isinstance(type_, Vector) else type_
    return isinstance(item, Tuple) or (isinstance(item, Scalar) and item.numeric)


def _any_of(bounds: list[Bound]) -> Bound:
    return fold(Bound.__or__, bounds, _NOTHING)


def _least(divisor: f.Expr) -> float:
    """A lower bound of the absolute values of a divisor that are not 0; 0 if none is known."""
    if isinstance(divisor, f.Const):
        return abs(float(divisor.value or 0))
    if isinstance(divisor.type, Scalar) and divisor.type.integral:
        return 1.0
    if isinstance(divisor, f.Op) and divisor.op in ("cast", "broadcast"):
        return _least(divisor.args[0])
    if isinstance(divisor, f.Op) and divisor.op == "max":
        return max(float(arg.value or 0) if isinstance(arg, f.Const) else 0.0 for arg in divisor.args)
    return 0.0


def _negative(expr: f.Expr) -> bool:
    """Return whether a value is known to be 0 or less."""
    if isinstance(expr, f.Const):
        return float(expr.value or 0) <= 0
    return isinstance(expr, f.Op) and expr.op == "neg" and isinstance(expr.args[0], f.Op) and expr.args[0].op == "abs"


def _writes(program: f.Program, given: Mapping[str, float]) -> Iterator[tuple[str, f.Expr]]:
    """Yield each write of floats, as the written name and the value."""
    for statement in statements(program.body):
        if isinstance(statement, f.Gather):
            yield statement.name, statement.reduce
        elif isinstance(statement, (f.Let, f.InitGlobal, f.InitField)):
            if not (isinstance(statement, f.InitField) and statement.name in given):
                yield statement.name, statement.value
        elif isinstance(statement, f.Apply):
            for name in statement.fields:
                yield name, statement.value
