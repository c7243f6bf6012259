"""Judges whether a declared reduction is a commutative monoid with its identity (V301; language.md section 12).

The following methods are tried in order: the form of the body, all operands (if there are few), special operands, z3
(if installed), and random operands. A refutation reports the smallest counterexample: small numbers come before large
numbers, and positive numbers before negative numbers.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, cast

import numpy as np

from vlang.check.laws.domain import domain_of, parameter_domains, parameter_values
from vlang.check.laws.evaluate import Array, Evaluator, Operand, Unsupported, converted, stored
from vlang.check.laws.exhaustion import at, broken_triples
from vlang.check.laws.operands import all_values, random_integers, random_values, special_values
from vlang.check.laws.solver import Found, solve
from vlang.check.laws.symbolic import installed
from vlang.check.tables.checked import Laws, Symbol
from vlang.check.tables.checking import Run
from vlang.records import dataclass
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, I64, Scalar, Tuple

__all__ = ["judge_reduction"]

_TOLERANCE = 1e-9
_IDEMPOTENT = frozenset({"min", "max", "and", "or", "&", "|"})
Pool = tuple[Operand, Operand, Operand]
"""Many triples of operands, as one array (or tuple of arrays) for each of the three places."""
_COMMUTATIVE = frozenset({"+", "*", "^"}) | _IDEMPOTENT


def judge_reduction(run: Run, node: t.Reduction, symbol: Symbol) -> Laws | None:
    """The laws of a declared reduction. Reports V301 and returns None if a law does not hold."""
    if symbol.type is None:
        return None
    operators = _structure(node.value, node.left, node.right)
    try:
        trial = _Trial(run, node, symbol)
        broken = trial.broken_law(trial.special_rows, identity_only=operators is not None)
        found = Found()
        if broken is None and operators is None and not trial.exhaustive:
            found, broken = _solved(run, node, trial)
            if broken is None and not found.proved:
                broken = trial.broken_law(trial.random, identity_only=False)
        idempotent = found.idempotent if found.proved else trial.idempotent()
    except Unsupported:
        return Laws("structure" if operators else "untested", bool(operators) and _all_idempotent(operators))
    if broken is not None:
        _report(run, node, broken)
        return None
    if operators is not None:
        return Laws("structure", _all_idempotent(operators))
    if trial.exhaustive or found.proved:
        return Laws("exhaustion" if trial.exhaustive else "solver", idempotent)
    return Laws("sampling", idempotent, trial.tried)


def _solved(run: Run, node: t.Reduction, trial: _Trial) -> tuple[Found, _Broken | None]:
    """Return z3's answer, and the law that z3's counterexample breaks; None if evaluation does not confirm the
    counterexample.
    """
    if not installed():
        return Found(), None
    found = solve(run, node, trial.type, trial.domain, parameter_domains(run))
    if not found.operands:
        return found, None
    given = {name: np.asarray(value) for name, value in found.given.items()}
    return found, trial.with_parameters(given).broken_law([trial.operands(found.operands)], identity_only=False)


def _all_idempotent(operators: set[str] | None) -> bool:
    return operators is not None and operators <= _IDEMPOTENT


def _structure(body: t.Expr, left: str, right: str, index: int | None = None) -> set[str] | None:
    """Return the operators of a body that is associative and commutative by its form; None for any other body."""
    if isinstance(body, t.TupleExpr) and index is None:
        parts = [_structure(part, left, right, i) for i, part in enumerate(body.items)]
        known = [p for p in parts if p is not None]
        return set().union(*known) if len(known) == len(parts) else None
    if isinstance(body, (t.Binary, t.Logical)):
        op, operands = body.op, (body.left, body.right)
    elif isinstance(body, t.Call) and body.name in ("min", "max") and len(body.args) == 2:
        op, operands = body.name, (body.args[0], body.args[1])
    else:
        return None
    names = {_operand(part, index) for part in operands}
    return {op} if op in _COMMUTATIVE and names == {left, right} else None


def _operand(node: t.Expr, index: int | None) -> str | None:
    """The operand that a node names: `a`, or `a[index]` in a tuple."""
    if index is not None:
        indexed = isinstance(node, t.Index) and isinstance(node.index, t.Literal) and node.index.value == index
        return _operand(node.value, None) if indexed and isinstance(node, t.Index) else None
    return node.name if isinstance(node, t.Name) else None


# ----------------------------------------------------------------------- trials


@dataclass(frozen=True)
class _Broken:
    """A law that does not hold.

    Attributes:
        law: "commutative", "associative" or "identity".
        lines: calls of the reduction, with their results, which show that the law is broken.
        given: the values of the parameters in these calls.
    """

    law: str
    lines: tuple[str, ...]
    given: Mapping[str, Array] = field(default_factory=dict)


class _Trial:
    """Tests the laws of one reduction on chosen operands."""

    def __init__(self, run: Run, node: t.Reduction, symbol: Symbol) -> None:
        assert symbol.type is not None
        self.run, self.node, self.type = run, node, symbol.type
        self.evaluators = [Evaluator(run, given) for given in parameter_values(run)]
        self.domain = domain_of(run, symbol, node)
        self.identity = self._identity_for(self.evaluators[0])
        self.exhaustive = self._bits() <= 8
        self.rows: list[tuple[Any, ...]] = []  # all values of a small type, small numbers first
        self.special_rows, self.random = self._pools()

    @property
    def tried(self) -> int:
        """The number of triples of operands that are tried for each combination of parameter values."""
        return sum(max(np.size(part) for part in (op if isinstance(op, tuple) else (op,)))
                   for op, _, _ in (*self.special_rows, *self.random))

    def with_parameters(self, given: dict[str, Array]) -> _Trial:
        """Return a trial that does the same tests with other values of the parameters."""
        other = copy.copy(self)
        other.evaluators = [Evaluator(self.run, given)]
        return other

    def operands(self, triple: tuple[Any, ...]) -> Pool:
        """Return a pool of one triple of operands. Each operand is a number or a tuple of numbers."""
        rows = [x if isinstance(x, tuple) else (x,) for x in triple]
        return self._operands([[stored([value], s) for value, s in zip(row, self._scalars(), strict=True)]
                               for row in rows])

    def _identity_for(self, evaluator: Evaluator) -> Operand:
        """The value of the identity. An integer identity that is the least or largest of its type becomes `-inf` or
        `inf`.
        """
        value = converted(evaluator.value(self.node.identity, {}), self.type)
        parts = value if isinstance(value, tuple) else (value,)
        found = tuple(stored([part.item()], scalar).reshape(part.shape) if scalar.kind == "int" else part
                      for part, scalar in zip(parts, self._scalars(), strict=True))
        return found if isinstance(value, tuple) else found[0]

    def _scalars(self) -> tuple[Scalar, ...]:
        if isinstance(self.type, Tuple):
            return self.type.items
        return (self.type,) if isinstance(self.type, Scalar) else ()

    def _bits(self) -> int:
        return sum(1 if s == BOOL else s.bits for s in self._scalars())

    def broken_law(self, pools: Sequence[Pool], identity_only: bool) -> _Broken | None:
        """The first law that some operands break, in the order commutativity, associativity, identity."""
        laws: list[Callable[[Evaluator, Sequence[Pool]], _Broken | None]] = [self._identity]
        if not identity_only:
            laws = [self._commutative, self._associative, self._identity]
            if self.exhaustive:
                laws[1:2] = [self._associative, self._all_associative]
        for law in laws:
            for evaluator in self.evaluators:
                broken = law(evaluator, pools)
                if broken is not None:
                    return replace(broken, given=evaluator.given)
        return None

    def idempotent(self) -> bool:
        """Return whether f(a, a) = a for all operands that were tried."""
        return all(not np.any(e.within(_differ(self._f(e, a, a), a))) for e in self.evaluators
                   for (a, _, _) in (*self.special_rows, *self.random))

    def _f(self, evaluator: Evaluator, left: Operand, right: Operand) -> Operand:
        return evaluator.call(self.node, left, right, self.type)

    def _commutative(self, evaluator: Evaluator, pools: Sequence[Pool]) -> _Broken | None:
        for a, b, _ in pools:
            both = self._f(evaluator, a, b), self._f(evaluator, b, a)
            wrong = evaluator.within(_differ(*both))
            witness = _smallest(wrong, (a, b))
            if witness is not None:
                x, y = witness
                return _Broken("commutative", (self._shown(evaluator, x, y), self._shown(evaluator, y, x)))
        return None

    def _associative(self, evaluator: Evaluator, pools: Sequence[Pool]) -> _Broken | None:
        for a, b, c in pools:
            both = (self._f(evaluator, self._f(evaluator, a, b), c), self._f(evaluator, a, self._f(evaluator, b, c)))
            wrong = evaluator.within(_differ(*both))
            witness = _smallest(wrong, (a, b, c))
            if witness is not None:
                return self._not_associative(evaluator, *witness)
        return None

    def _all_associative(self, evaluator: Evaluator, pools: Sequence[Pool]) -> _Broken | None:
        """Test all triples of the values of a small type. There are too many triples for a pool of operands."""
        def join(left: Operand, right: Operand) -> tuple[Operand, Array]:
            return self._f(evaluator, left, right), ~evaluator.within(np.asarray(True))

        values = self._columns(self.rows)
        found = broken_triples(join, _differ, values, len(self.rows))
        if found is None:
            return None
        a, b, c = (at(values, places) for places in found)
        witness = _smallest(np.asarray(True), (a, b, c))
        assert witness is not None
        return self._not_associative(evaluator, *witness)

    def _not_associative(self, evaluator: Evaluator, x: Operand, y: Operand, z: Operand) -> _Broken:
        name = self.node.name
        left = self._f(evaluator, self._f(evaluator, x, y), z)
        right = self._f(evaluator, x, self._f(evaluator, y, z))
        return _Broken("associative", (f"{name}({name}({_text(x)}, {_text(y)}), {_text(z)}) = {_text(left)}",
                                       f"{name}({_text(x)}, {name}({_text(y)}, {_text(z)})) = {_text(right)}"))

    def _identity(self, evaluator: Evaluator, pools: Sequence[Pool]) -> _Broken | None:
        identity = self._identity_for(evaluator)
        for a, _, _ in pools:
            wrong = evaluator.within(_differ(self._f(evaluator, identity, a), a, undefined=True))
            witness = _smallest(wrong, (a,))
            if witness is not None:
                return _Broken("identity", (self._shown(evaluator, identity, witness[0]),))
        return None

    def _shown(self, evaluator: Evaluator, x: Operand, y: Operand) -> str:
        return f"{self.node.name}({_text(x)}, {_text(y)}) = {_text(self._f(evaluator, x, y))}"

    # ------------------------------------------------------------- operands

    def _pools(self) -> tuple[list[Pool], list[Pool]]:
        """Yield pools of special triples of operands (all pairs of values for a small type), and pools of random
        triples.
        """
        scalars = self._scalars()
        if self.exhaustive:
            values = [all_values(s, d) for s, d in zip(scalars, self.domain, strict=True)]
            self.rows = sorted(itertools.product(*values), key=lambda row: [(abs(v), v < 0) for v in row])
            few = self._triples(self.rows[:9])  # first, so that a counterexample is small
            first, second = np.indices((len(self.rows),) * 2).reshape(2, -1)
            every = self._columns(self.rows)
            return [few, (at(every, first), at(every, second), at(every, second))], []
        special = [special_values(s, d, i) for s, d, i in zip(scalars, self.domain, self._identities(), strict=True)]
        rows = list(itertools.product(*special))
        rng = np.random.default_rng(20_000)
        special_rows = self._triples(rows) if len(rows) ** 3 <= 1_000_000 else self._drawn(special, rng)
        drawn = []
        for draw in (random_integers, random_values):
            columns = [[self._cast(draw(s, d, rng), s) for s, d in zip(scalars, self.domain, strict=True)]
                       for _ in range(3)]
            drawn.append(self._operands(columns))
        return [special_rows], drawn

    def _identities(self) -> list[Any]:
        parts = self.identity if isinstance(self.identity, tuple) else (self.identity,)
        return [part.item() for part in parts]

    def _cast(self, values: Array, scalar: Scalar) -> Array:
        return cast(Array, converted(values, scalar))

    def _triples(self, rows: list[tuple[Any, ...]]) -> Pool:
        """All triples of the rows."""
        grid = np.indices((len(rows),) * 3, dtype=np.int32).reshape(3, -1)
        values = self._columns(rows)
        a, b, c = (at(values, which) for which in grid)
        return a, b, c

    def _columns(self, rows: list[tuple[Any, ...]]) -> Operand:
        """The rows as one array, or as a tuple of arrays for a tuple type."""
        parts = tuple(stored([row[i] for row in rows], s) for i, s in enumerate(self._scalars()))
        return parts if isinstance(self.type, Tuple) else parts[0]

    def _drawn(self, special: list[list[Any]], rng: np.random.Generator) -> Pool:
        """Return random triples of special values, for types with too many triples to try all triples."""
        columns = [[rng.choice(stored(values, s), 100_000)
                    for values, s in zip(special, self._scalars(), strict=True)] for _ in range(3)]
        return self._operands(columns)

    def _operands(self, columns: list[list[Array]]) -> Pool:
        made = [tuple(parts) if isinstance(self.type, Tuple) else parts[0] for parts in columns]
        return made[0], made[1], made[2]


# --------------------------------------------------------------- counterexamples


def _differ(left: Operand, right: Operand, undefined: bool = False) -> Array:
    """Return for each element of two arrays of results whether they differ by more than rounding.

    If `undefined`, NaN differs from every value; otherwise NaN counts as equal to every value.
    """
    if isinstance(left, tuple) and isinstance(right, tuple):
        parts = [_differ(x, y, undefined) for x, y in zip(left, right, strict=True)]
        return cast(Array, np.logical_or.reduce(np.broadcast_arrays(*parts)))
    if isinstance(left, tuple) or isinstance(right, tuple):
        raise Unsupported
    if left.dtype.kind != "f":
        return np.not_equal(left, right)
    with np.errstate(all="ignore"):
        near = np.abs(left - right) <= _TOLERANCE * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    nan = np.isnan(left) | np.isnan(right)
    same = np.logical_or(near, np.equal(left, right))
    return cast(Array, np.logical_and(np.logical_not(same), np.logical_or(np.logical_not(nan), undefined)))


def _smallest(wrong: Array, operands: tuple[Operand, ...]) -> tuple[Operand, ...] | None:
    """Return the wrong operands with the smallest sum of absolute values; ties are broken operand by operand."""
    size = max(np.size(part) for op in operands for part in (op if isinstance(op, tuple) else (op,)))
    places = np.flatnonzero(np.broadcast_to(wrong, (size,)))
    if not len(places):
        return None
    columns = [part[places] for op in operands for part in (op if isinstance(op, tuple) else (op,))]
    sizes = [np.abs(c.astype(np.float64)) for c in columns]
    keys = [key for c, s in zip(columns, sizes, strict=True) for key in (s, np.signbit(c.astype(np.float64)))]
    order = np.lexsort([*reversed(keys), np.sum(sizes, axis=0)])
    best = places[order[0]]
    return tuple(tuple(part[best] for part in op) if isinstance(op, tuple) else op[best] for op in operands)


def _text(value: Operand) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(_text(v) for v in value) + ")"
    item = value.item()
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int) and item in (I64.highest, I64.lowest):
        return "inf" if item > 0 else "-inf"
    return f"{item:.10g}" if isinstance(item, float) else str(item)


def _report(run: Run, node: t.Reduction, broken: _Broken) -> None:
    name = node.name
    given = ", ".join(f"{param} = {_text(value)}" for param, value in broken.given.items())
    lines = (f"counterexample{f' for {given}' if given else ''}:", *broken.lines)
    if broken.law == "identity":
        run.report(Code.NOT_A_REDUCTION, f"`{run.text(node.identity)}` is not the identity of `{name}`",
                   node.identity.span, "joining it must change nothing", help=lines)
    else:
        run.report(Code.NOT_A_REDUCTION, f"`{name}` is not {broken.law}", node.value.span,
                   "the neighbours of a vertex arrive in no particular order", help=lines)

