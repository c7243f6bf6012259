"""Proves or refutes the laws of a declared reduction with z3, if z3 is installed.

A proof holds for all operands that the contracts allow, and for all finite values of the parameters. A proof leaves out
operands for which an integer overflows 64 bits, since a run with such an overflow ends with an error. The caller must
confirm a counterexample. A counterexample may depend on a value that the formulas leave undetermined, such as a
quotient by zero.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from vlang.check.laws.domain import Interval
from vlang.check.laws.symbolic import Formula, Real, Terms, Untranslatable, Whole
from vlang.check.tables.checking import Run
from vlang.check.tables.typing import concrete
from vlang.records import dataclass
from vlang.syntax import tree as t
from vlang.types import BOOL, F64, Scalar, Tuple, Type

__all__ = ["Found", "solve"]

_MILLISECONDS = 2000  # time limit of a proof, and of the search for a smaller counterexample
_SIZES = (1, 2, 3, 5, 10, *(10**k for k in range(2, 19)))
_PLAIN: Mapping[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul,
                                                           "/": operator.truediv}


@dataclass(frozen=True)
class Found:
    """The answer of z3. If `proved` is false and `operands` is empty, z3 found no answer.

    Attributes:
        proved: whether all laws hold.
        idempotent: whether f(a, a) = a holds as well.
        operands: operands that may break a law; each is a number or a tuple of numbers.
        given: the values of the parameters for which these operands may break the law.
    """

    proved: bool = False
    idempotent: bool = False
    operands: tuple[Any, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)


def solve(
    run: Run, node: t.Reduction, type_: Type, domain: Sequence[Interval],
    parameters: Mapping[str, tuple[Scalar, Interval]],
) -> Found:
    """Prove the laws of a reduction over the operands in `domain`, or find operands that break a law.

    Args:
        run: the running check.
        node: the reduction.
        type_: the type of its operands.
        domain: for each component of the operands, the allowed values.
        parameters: the parameters that the body may read: their types and allowed values, by name.
    """
    try:
        return _Query(run, node, type_, domain, parameters).answer()
    except Untranslatable:
        return Found()


class _Query:
    """The formulas of one reduction."""

    def __init__(self, run: Run, node: t.Reduction, type_: Type, domain: Sequence[Interval],
                 parameters: Mapping[str, tuple[Scalar, Interval]]) -> None:
        self.node, self.type = node, type_
        self.terms = Terms()
        self.given = {name: self.terms.variable(f"${name}", kind, interval, finite=True)
                      for name, (kind, interval) in parameters.items()}
        self.body = _Translator(run, self.terms, self.given)
        self.operands = tuple(self._operand(name, domain) for name in "abc")

    def _operand(self, name: str, domain: Sequence[Interval]) -> Any:
        scalars = self.type.items if isinstance(self.type, Tuple) else (self.type,)
        parts = [self.terms.variable(f"{name}{k}", scalar, interval, finite=False)
                 for k, (scalar, interval) in enumerate(zip(_scalars(scalars), domain, strict=True))]
        return tuple(parts) if isinstance(self.type, Tuple) else parts[0]

    def _f(self, left: Any, right: Any) -> Any:
        return self.body.joined(self.node, left, right, self.type)

    def answer(self) -> Found:
        """Check the laws one after the other, up to the first law that z3 does not prove."""
        a, b, c = self.operands
        identity = self.terms.fit(self.body.value(self.node.identity, {}), self.type)
        differ = self.terms.differ
        laws = ((differ(self._f(a, b), self._f(b, a), False), 2),
                (differ(self._f(self._f(a, b), c), self._f(a, self._f(b, c)), False), 3),
                (differ(self._f(identity, a), a, True), 1))
        idempotent = differ(self._f(a, a), a, False)
        for broken, count in laws:
            verdict, model = self._check(broken, count)
            if verdict == "sat":
                return Found(operands=tuple(_number(model, x) for x in self.operands),
                             given={name: _number(model, x) for name, x in self.given.items()})
            if verdict != "unsat":
                return Found()
        return Found(True, self._check(idempotent, 0)[0] == "unsat")

    def _check(self, broken: Formula, count: int) -> tuple[str, Any]:
        """Ask z3 for operands that break a law.

        Args:
            broken: the formula which says that the law does not hold.

        Returns:
            The verdict of z3, and a model in which the first `count` operands are small.
        """
        solver = self.terms.z3.Solver(ctx=self.terms.context)
        solver.set("timeout", _MILLISECONDS)
        solver.add(*self.terms.assumed, broken)
        verdict = str(solver.check())
        if verdict != "sat" or count == 0:
            return verdict, None
        return verdict, self._smallest(solver, count)

    def _smallest(self, solver: Any, count: int) -> Any:
        """Return a model in which the first `count` operands are small whole numbers, as small as the time limit
        allows. If none is found, return any model.
        """
        values = (*self.operands[:count], *self.given.values())
        best, ends = solver.model(), time.monotonic() + _MILLISECONDS / 1000
        solver.set("timeout", _MILLISECONDS // 4)
        too_small, enough = 0, 0
        for size in _SIZES:
            found = self._model(solver, values, size)
            if found is not None:
                best, enough = found, size
                break
            too_small = size
            if time.monotonic() > ends:
                return best
        while enough - too_small > 1 and time.monotonic() < ends:
            size = (too_small + enough) // 2
            found = self._model(solver, values, size)
            best, enough, too_small = (best, enough, size) if found is None else (found, size, too_small)
        return best

    def _model(self, solver: Any, values: Sequence[Any], size: int) -> Any:
        """A model in which the absolute values are at most `size`; None if z3 finds none."""
        solver.push()
        solver.add(*(part for value in values for part in self._within(value, size)))
        found = solver.model() if str(solver.check()) == "sat" else None
        solver.pop()
        return found

    def _within(self, value: Any, size: int) -> Iterator[Formula]:
        """The formulas which say that a value is a whole number from -size to size."""
        if isinstance(value, tuple):
            for part in value:
                yield from self._within(part, size)
        elif isinstance(value, Real):
            yield self.terms.finite(value)
            yield self.terms.z3.IsInt(value.value)
            yield self.terms.all(value.value <= size, value.value >= -size)
        elif isinstance(value, Whole) and size <= value.type.highest:
            yield self.terms.not_(self.terms.less(self.terms.fit(size, value.type), value))
            if value.type.kind == "int":
                yield self.terms.not_(self.terms.less(value, self.terms.fit(-size, value.type)))


def _scalars(types: Sequence[Type]) -> list[Scalar]:
    """The types, if all types are scalars. Raises Untranslatable otherwise."""
    found = [type_ for type_ in types if isinstance(type_, Scalar)]
    if len(found) < len(types):
        raise Untranslatable
    return found


def _number(model: Any, value: Any) -> Any:
    """The value of a formula in a model, as a Python number or a tuple of Python numbers."""
    if isinstance(value, tuple):
        return tuple(_number(model, part) for part in value)

    def of(formula: Formula) -> Any:
        return model.eval(formula, model_completion=True)

    if isinstance(value, Whole):
        return of(value.value).as_long()
    if not isinstance(value, Real):
        return str(of(value)) == "True"
    if str(of(value.up)) == "True" or str(of(value.down)) == "True":
        return float("inf") if str(of(value.up)) == "True" else float("-inf")
    found = of(value.value)
    return float(found.as_fraction() if hasattr(found, "as_fraction") else found.approx(20).as_fraction())


@dataclass(frozen=True)
class _Translator:
    """Translates expressions to formulas. Literals stay Python numbers until a type is known.

    Attributes:
        given: the formulas of the parameters, by name.
    """

    run: Run
    terms: Terms
    given: Mapping[str, Any]

    def joined(self, node: t.Reduction, left: Any, right: Any, type_: Type) -> Any:
        """f(left, right) of a declared reduction over `type_`."""
        return self.terms.fit(self.value(node.value, {node.left: left, node.right: right}), type_)

    def value(self, node: t.Expr, env: Mapping[str, Any]) -> Any:
        """The formula of an expression. Raises Untranslatable.

        Args:
            env: the formulas of the arguments, by name.
        """
        if isinstance(node, t.Literal) and node.value is not None:
            return node.value
        if isinstance(node, t.Name) and (node.name in env or node.name in self.given):
            return env[node.name] if node.name in env else self.given[node.name]
        if isinstance(node, t.TupleExpr):
            return tuple(self.value(part, env) for part in node.items)
        if isinstance(node, t.Index) and isinstance(node.index, t.Literal) and isinstance(node.index.value, int):
            whole = self.value(node.value, env)
            if isinstance(whole, tuple):
                return whole[node.index.value]
        if isinstance(node, t.Call):
            return self._call(node, [self.value(arg, env) for arg in node.args])
        if isinstance(node, t.Conditional):
            test = self.terms.fit(self.value(node.test, env), BOOL)
            return self.terms.choice(test, *self._alike(self.value(node.yes, env), self.value(node.no, env), node))
        return self._operator(node, env)

    def _operator(self, node: t.Expr, env: Mapping[str, Any]) -> Any:
        terms = self.terms
        if isinstance(node, t.Unary):
            value = self.value(node.value, env)
            if node.op == "not":
                return terms.not_(terms.fit(value, BOOL))
            return -value if _is_number(value) else terms.negated(value)
        if isinstance(node, t.Logical):
            sides = [terms.fit(self.value(side, env), BOOL) for side in (node.left, node.right)]
            return terms.all(*sides) if node.op == "and" else terms.any(*sides)
        if isinstance(node, t.Compare):
            return self._compare(node.op, *self._alike(self.value(node.left, env), self.value(node.right, env), None))
        if isinstance(node, t.Binary):
            return self._binary(node, self.value(node.left, env), self.value(node.right, env))
        raise Untranslatable

    def _alike(self, a: Any, b: Any, node: t.Expr | None) -> tuple[Any, Any]:
        """Convert two values to the type of `node` or, without `node`, to the type of the value that is not a literal.
        """
        if node is not None:
            type_ = concrete(self.run.types[node], self.run.precision)
            return self.terms.fit(a, type_), self.terms.fit(b, type_)
        if isinstance(a, tuple) and isinstance(b, tuple):
            pairs = [self._alike(x, y, None) for x, y in zip(a, b, strict=True)]
            return tuple(x for x, _ in pairs), tuple(y for _, y in pairs)
        for one in (a, b):
            if isinstance(one, Real):
                return self.terms.fit(a, F64), self.terms.fit(b, F64)
        known = [one.type for one in (a, b) if isinstance(one, Whole)]
        if known:
            widest = max(known, key=lambda type_: type_.bits)
            return self.terms.fit(a, widest), self.terms.fit(b, widest)
        if _is_number(a) or _is_number(b):
            raise Untranslatable
        return self.terms.fit(a, BOOL), self.terms.fit(b, BOOL)

    def _compare(self, op: str, a: Any, b: Any) -> Formula:
        terms = self.terms
        if op in ("==", "!="):
            same = terms.equal(a, b)
            return same if op == "==" else terms.not_(same)
        if op in ("<", ">"):
            return terms.less(a, b) if op == "<" else terms.less(b, a)
        less = terms.less(a, b) if op == "<=" else terms.less(b, a)
        return terms.any(less, terms.equal(a, b))

    def _binary(self, node: t.Binary, a: Any, b: Any) -> Any:
        if _is_number(a) and _is_number(b):
            if node.op not in _PLAIN or (node.op == "/" and b == 0):
                raise Untranslatable
            return _PLAIN[node.op](a, b)
        if node.op == "**":
            return self._power(a, b)
        type_ = concrete(self.run.types[node], self.run.precision)
        return self.terms.binary(node.op, self.terms.fit(a, type_), self.terms.fit(b, type_))

    def _power(self, base: Any, exponent: Any) -> Any:
        if exponent not in (1, 2, 3, 4) or not isinstance(base, Real):
            raise Untranslatable
        result = base
        for _ in range(int(exponent) - 1):
            result = self.terms.binary("*", result, base)
        return result

    def _call(self, node: t.Call, args: list[Any]) -> Any:
        symbol = self.run.symbols.get(node)
        if symbol is not None and isinstance(symbol.decl, t.Reduction) and symbol.type is not None:
            left, right = (self.terms.fit(arg, symbol.type) for arg in args)
            return self.joined(symbol.decl, left, right, symbol.type)
        if symbol is not None and isinstance(symbol.decl, t.Function):
            return self._function(symbol.decl, args)
        if node.name in ("min", "max") and len(args) > 1:
            best = args[0]
            for other in args[1:]:
                best = self._extreme(node.name, *self._alike(best, other, None))
            return best
        if node.name == "abs" and isinstance(args[0], (Real, Whole)):
            return self.terms.absolute(args[0])
        if node.name == "sqrt":
            return self.terms.root(self.terms.fit(args[0], F64))
        raise Untranslatable

    def _function(self, decl: t.Function, args: list[Any]) -> Any:
        inner = {}
        for place, param in enumerate(decl.params):
            if place >= len(args) and param.default is None:
                raise Untranslatable
            value = args[place] if place < len(args) else self.value(param.default, {}) if param.default else None
            type_ = self.run.declared[param][0].type
            inner[param.name] = value if type_ is None else self.terms.fit(value, type_)
        return self.value(decl.value, inner)

    def _extreme(self, name: str, a: Any, b: Any) -> Any:
        """`min` or `max`; an undefined operand gives an undefined result."""
        takes = self.terms.less(b, a) if name == "min" else self.terms.less(a, b)
        if isinstance(b, Real):
            takes = self.terms.all(self.terms.not_(a.nan), self.terms.any(takes, b.nan))
        return self.terms.choice(takes, b, a)


def _is_number(value: Any) -> bool:
    """Return whether a value is the number of a literal, and not yet a formula."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
