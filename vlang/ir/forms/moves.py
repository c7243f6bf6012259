"""Finds the direction in which an expression moves when the fields of a loop move (language.md 10.2), and bounds on
values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce as fold

from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import LoopScope, statements
from vlang.maths import MATHS
from vlang.reductions import MONOIDS
from vlang.types import Scalar, Type, Vector

__all__ = ["CONSTANT", "DOWN", "UNKNOWN", "UP", "Known", "Move", "Moves", "flip", "join"]

Move = str
CONSTANT, UP, DOWN, UNKNOWN = "0", "+", "-", "?"
_WAY = {"up": UP, "down": DOWN}

_EXACT = 1 << 53  # below this, a float holds every integer exactly
_JOINED = frozenset({"add", "and", "or", "bitor", "bitand", "min", "max", "sign", "reverse", "vsum", "cast",
                     "broadcast", *(name for name, rule in MATHS.items() if rule.rises)})
_KEPT = frozenset({"add", "mul", "div", "floordiv", "min", "sign", "cast", "broadcast", "vsum",
                   *(name for name, rule in MATHS.items() if rule.positive == "kept")})
_POSITIVE = frozenset({"abs", "common", "len", "random", "hll_size",
                       *(name for name, rule in MATHS.items() if rule.positive == "always")})


def join(a: Move, b: Move) -> Move:
    """Return the common direction of two values: constants are ignored, and two different directions give UNKNOWN."""
    if a == b or b == CONSTANT:
        return a
    return b if a == CONSTANT else UNKNOWN


def flip(a: Move) -> Move:
    """The direction in which the negated value moves."""
    return {UP: DOWN, DOWN: UP}.get(a, a)


class Known:
    """The known signs and bounds of values, derived from literals, types, degrees and the contracts of a program."""

    def __init__(self, program: f.Program, gathers: Mapping[str, f.Gather]) -> None:
        self._gathers = gathers
        self._least: dict[tuple[str, str], float] = {}
        self._most: dict[tuple[str, str], float] = {}
        self._whole_least: dict[tuple[str, str], int] = {}  # only from comparisons of integers
        self._whole_most: dict[tuple[str, str], int] = {}
        self._applied = {name for s in statements(program.body) if isinstance(s, f.Apply) for name in s.fields}
        for require in program.requires:
            self._contract(require.cond)

    def _contract(self, cond: f.Expr) -> None:
        if not isinstance(cond, f.Op):
            return
        if cond.op == "and":
            for part in cond.args:
                self._contract(part)
        elif cond.op in ("le", "lt", "ge", "gt"):
            low, high = cond.args if cond.op in ("le", "lt") else cond.args[::-1]
            whole = isinstance(low.type, Scalar) and low.type.integral
            bound, key = _number(low), self._key(high)
            if bound is not None and key is not None:
                self._least[key] = max(bound, self._least.get(key, bound))
                if whole and abs(bound) < _EXACT:
                    self._whole_least[key] = max(int(bound), self._whole_least.get(key, int(bound)))
            bound, key = _number(high), self._key(low)
            if bound is not None and key is not None:
                self._most[key] = min(bound, self._most.get(key, bound))
                if whole and abs(bound) < _EXACT:
                    self._whole_most[key] = min(int(bound), self._whole_most.get(key, int(bound)))

    def _key(self, expr: f.Expr) -> tuple[str, str] | None:
        """The key of a value that contracts can bound: a parameter, an edge field, or a field that is never applied."""
        if isinstance(expr, f.Op) and expr.op == "cast":
            return self._key(expr.args[0])
        if isinstance(expr, f.GraphValue) and expr.kind == "parameter":
            return "parameter", expr.name
        if isinstance(expr, f.EdgeValue):
            return "edge", expr.name
        if isinstance(expr, f.Field) and isinstance(expr.of, str) and expr.name not in self._applied:
            return "field", expr.name
        return None

    def at_most(self, expr: f.Expr, bound: float) -> bool:
        """Return whether an expression is known to be at most `bound`: a literal, or a value with a contract."""
        number, key = _number(expr), self._key(expr)
        if number is not None:
            return number <= bound
        return key is not None and key in self._most and self._most[key] <= bound

    def bounds(self, expr: f.Expr, low: int, high: int) -> tuple[int, int]:
        """Return the least and largest value of an integer input, according to contracts and to the bounds `low` and
        `high`.
        """
        key = self._key(expr)
        if key is None:
            return low, high
        return max(low, self._whole_least.get(key, low)), min(high, self._whole_most.get(key, high))

    def nonnegative(self, expr: f.Expr) -> bool:
        """Return whether an expression is known to be >= 0."""
        number, key = _number(expr), self._key(expr)
        if number is not None:
            return number >= 0
        if _unsigned(expr.type) or isinstance(expr, f.Degree):
            return True
        if isinstance(expr, f.GraphValue) and expr.kind == "builtin":
            return True
        if key is not None and self._least.get(key, -1.0) >= 0:
            return True
        if isinstance(expr, f.Accumulator) and expr.name in self._gathers:
            return self.reduces_nonnegative(self._gathers[expr.name].reduce)
        return isinstance(expr, f.Op) and self._op(expr)

    def reduces_nonnegative(self, reduce: f.Reduce) -> bool:
        """Return whether a reduction is known to be >= 0."""
        if reduce.default is not None and not self.nonnegative(reduce.default):
            return False
        if reduce.user:
            return False
        if reduce.counts or reduce.name in ("hindex", "mex"):
            return True
        kept = reduce.operator in ("+", "*", "min") or reduce.name in ("mean", "mode", "median")
        return kept and self.nonnegative(reduce.body)

    def _op(self, expr: f.Op) -> bool:
        if expr.op in _POSITIVE:
            return True
        each = [self.nonnegative(arg) for arg in expr.args]
        if expr.op in _KEPT:
            return all(each)
        if expr.op == "max":
            return any(each)
        return expr.op == "select" and all(each[1:])


def _number(expr: f.Expr) -> float | None:
    """The value of a numeric literal."""
    if isinstance(expr, f.Op) and expr.op == "cast":
        return _number(expr.args[0])
    if isinstance(expr, f.Const) and isinstance(expr.value, (int, float)) and not isinstance(expr.value, bool):
        return float(expr.value)
    return None


def _unsigned(type_: Type) -> bool:
    item = type_.item if isinstance(type_, Vector) else type_
    return isinstance(item, Scalar) and item.kind == "uint"


class Moves:
    """Finds the directions in which expressions move.

    Args:
        leaf: returns the direction in which the value of a read moves.
        grow: whether edges are added while fields stay unchanged.
    """

    def __init__(self, scope: LoopScope, known: Known, leaf: Callable[[f.Expr], Move], grow: bool = False) -> None:
        self._scope = scope
        self._known = known
        self._leaf = leaf
        self._grow = grow

    @classmethod
    def of_fields(cls, scope: LoopScope, known: Known, directions: Mapping[str, str | None]) -> Moves:
        """Return a `Moves` for the case that each written field moves in its own direction (the table of language.md
        10.2).
        """

        def leaf(expr: f.Expr) -> Move:
            if isinstance(expr, f.Field) and expr.name in scope.written:
                way = directions.get(expr.name)
                direct = expr.time == "now" and isinstance(expr.of, str) and way is not None
                return _WAY[way] if direct and way is not None else UNKNOWN
            return UNKNOWN if scope.varying(expr) else CONSTANT

        return cls(scope, known, leaf)

    @classmethod
    def of_edges(cls, scope: LoopScope, known: Known, tied: Callable[[str], bool]) -> Moves:
        """A `Moves` for the case that the set of edges grows and fields stay unchanged.

        Args:
            tied: whether a field's initial value depends on edges.
        """

        def leaf(expr: f.Expr) -> Move:
            if isinstance(expr, f.Degree) or expr == f.GraphValue(expr.type, "M", "builtin"):
                return UP
            if isinstance(expr, f.Field) and expr.name not in scope.written and tied(expr.name):
                return UNKNOWN
            return CONSTANT

        return cls(scope, known, leaf, grow=True)

    def of(self, expr: f.Expr) -> Move:
        """The direction in which an expression moves."""
        if isinstance(expr, f.Accumulator):
            gather = self._scope.gathers.get(expr.name)
            return CONSTANT if gather is None else self.reduction(gather.reduce)
        if isinstance(expr, f.Reduce):
            return self.reduction(expr)
        if isinstance(expr, f.Op):
            return self._op(expr)
        inside = self._all(f.children(expr))
        return self._leaf(expr) if inside == CONSTANT else UNKNOWN

    def _all(self, exprs: tuple[f.Expr, ...]) -> Move:
        return fold(join, map(self.of, exprs), CONSTANT)

    def _op(self, expr: f.Op) -> Move:
        op, moves = expr.op, [self.of(arg) for arg in expr.args]
        if all(move == CONSTANT for move in moves):
            return CONSTANT
        if op in _JOINED:
            return fold(join, moves)
        if op in ("neg", "not"):
            return flip(moves[0])
        if op in ("sub", "gt", "ge"):
            return join(moves[0], flip(moves[1]))
        if op in ("lt", "le"):
            return join(flip(moves[0]), moves[1])
        if op == "mul":
            return self._product(expr, moves)
        if op == "div":
            return moves[0] if moves[1] == CONSTANT and self._known.nonnegative(expr.args[1]) else UNKNOWN
        if op == "select":
            return join(moves[1], moves[2]) if moves[0] == CONSTANT else UNKNOWN
        if op == "tuple":
            return moves[0] if all(move == CONSTANT for move in moves[1:]) else fold(join, moves)
        return UNKNOWN

    def _product(self, expr: f.Op, moves: list[Move]) -> Move:
        signs = [self._known.nonnegative(arg) for arg in expr.args]
        for mine, other in ((0, 1), (1, 0)):
            if moves[other] == CONSTANT:
                return moves[mine] if signs[other] else UNKNOWN
        return join(*moves) if all(signs) else UNKNOWN

    def reduction(self, reduce: f.Reduce) -> Move:
        """The direction in which the value of a reduction moves."""
        if reduce.group is not None:
            return CONSTANT if not self._grow and self._all(f.children(reduce)) == CONSTANT else UNKNOWN
        if reduce.key is not None and self.of(reduce.key) != CONSTANT:
            return UNKNOWN
        body = self.of(reduce.body)
        cond = CONSTANT if reduce.cond is None else self.of(reduce.cond)
        default = CONSTANT if reduce.default is None else self.of(reduce.default)
        edges = UP if self._grow and reduce.domain.stored else CONSTANT
        if body == cond == default == edges == CONSTANT:
            return CONSTANT
        if reduce.default is not None or reduce.user:
            return UNKNOWN
        way = MONOIDS[reduce.operator].direction if reduce.operator is not None else None
        rises = way == "up" or reduce.counts or reduce.name == "hindex"
        if rises or (reduce.operator == "+" and self._known.nonnegative(reduce.body)):
            return join(join(body, cond), edges)
        if way == "down":
            return join(join(body, flip(cond)), flip(edges))
        if reduce.operator == "+" and cond == edges == CONSTANT:
            return body
        return UNKNOWN
