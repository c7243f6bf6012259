"""The operands that a declared reduction can have under the contracts of the program (language.md section 12)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.records import dataclass
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.types import BOOL, Scalar, Tuple

__all__ = ["Interval", "domain_of", "parameter_domains", "parameter_values"]

_MOST_COMBINATIONS = 12  # combinations of parameter values to try
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}


@dataclass(frozen=True)
class Interval:
    """The numbers between two ends.

    Attributes:
        low: the lower end.
        high: the upper end.
        open_low: whether `low` is excluded.
        open_high: whether `high` is excluded.
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def holds(self, value: float) -> bool:
        """Return whether a number lies in the interval."""
        above = value > self.low if self.open_low else value >= self.low
        return above and (value < self.high if self.open_high else value <= self.high)

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that contains both intervals."""
        low, open_low = min((self.low, self.open_low), (other.low, other.open_low))
        high, closed = max((self.high, not self.open_high), (other.high, not other.open_high))
        return Interval(low, high, open_low, not closed)

    def meet(self, other: Interval) -> Interval:
        """The intersection of two intervals."""
        low, open_low = max((self.low, self.open_low), (other.low, other.open_low))
        high, closed = min((self.high, not self.open_high), (other.high, not other.open_high))
        return Interval(low, high, open_low, not closed)


EVERYTHING = Interval()


def _contracts(run: Run) -> dict[Symbol, Interval]:
    """Return, for each name that a `require` statement restricts, the interval of its allowed values."""
    found: dict[Symbol, Interval] = {}
    todo = [item.cond for item in run.file.items if isinstance(item, t.Contract)]
    while todo:
        cond = todo.pop()
        if isinstance(cond, t.Logical) and cond.op == "and":
            todo += [cond.left, cond.right]
        elif isinstance(cond, t.Compare) and cond.op in _FLIPPED:
            for name, other, op in ((cond.left, cond.right, cond.op), (cond.right, cond.left, _FLIPPED[cond.op])):
                symbol, bound = run.symbols.get(name), _constant(other)
                if isinstance(name, t.Name) and symbol is not None and bound is not None:
                    found[symbol] = found.get(symbol, EVERYTHING).meet(_side(op, bound))
    return found


def _side(op: str, bound: float) -> Interval:
    if op in ("<", "<="):
        return Interval(high=bound, open_high=op == "<")
    if op in (">", ">="):
        return Interval(low=bound, open_low=op == ">")
    return Interval(bound, bound)


def _constant(node: t.Expr) -> float | None:
    if isinstance(node, t.Unary) and node.op == "-":
        value = _constant(node.value)
        return None if value is None else -value
    if isinstance(node, t.Literal) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return float(node.value)
    return None


def domain_of(run: Run, symbol: Symbol, node: t.Reduction) -> list[Interval]:
    """For each component of the operands, an interval that contains all gathered values and the identity."""
    size = len(symbol.type.items) if isinstance(symbol.type, Tuple) else 1
    contracts = _contracts(run)
    uses = run.used_on.get(symbol, [])
    if not uses:
        return [EVERYTHING] * size
    parts = [_parts(body, size) for body in (node.identity, *(use.body for use in uses))]
    result = []
    for column in zip(*parts, strict=True):
        interval = _interval(run, column[0], contracts)
        for part in column[1:]:
            interval = interval.hull(_interval(run, part, contracts))
        result.append(interval if interval.low < interval.high else EVERYTHING)
    return result


def _parts(node: t.Expr, size: int) -> list[t.Expr | None]:
    if isinstance(node, t.TupleExpr):
        return list(node.items)
    return [node] if size == 1 else [None] * size


def _interval(run: Run, node: t.Expr | None, contracts: dict[Symbol, Interval]) -> Interval:
    """An interval that contains all values of an expression, derived from its literals and from contracts."""
    constant = _constant(node) if node is not None else None
    if constant is not None:
        return Interval(constant, constant)
    if isinstance(node, (t.Name, t.Member)):
        symbol = run.symbols.get(node)
        return contracts.get(symbol, EVERYTHING) if symbol is not None else EVERYTHING
    if isinstance(node, t.Conditional):
        return _interval(run, node.yes, contracts).hull(_interval(run, node.no, contracts))
    if isinstance(node, t.Binary) and node.op in ("+", "*"):
        left, right = _interval(run, node.left, contracts), _interval(run, node.right, contracts)
        if left.low >= 0 and right.low >= 0:
            low, high = (left.low + right.low, left.high + right.high) if node.op == "+" else (
                left.low * right.low, left.high * right.high)
            return EVERYTHING if math.isnan(low) or math.isnan(high) else Interval(low, high)
    return EVERYTHING


def parameter_domains(run: Run) -> dict[str, tuple[Scalar, Interval]]:
    """The type and interval of each scalar parameter that reductions and functions read, by name."""
    contracts = _contracts(run)
    used = {run.symbols.get(part) for item in run.file.items if isinstance(item, (t.Reduction, t.Function))
            for part in rewrite.inside(item)}
    symbols = [run.declared[param][0] for param in run.file.params]
    return {symbol.name: (symbol.type, contracts.get(symbol, EVERYTHING)) for symbol in symbols
            if symbol in used and isinstance(symbol.type, Scalar)
            and symbol.type.kind in ("bool", "int", "uint", "float")}


def parameter_values(run: Run) -> list[dict[str, NDArray[Any]]]:
    """Combinations of values for the parameters that reductions and functions read; the defaults come first.

    A law must hold for every parameter value that the contracts allow, so values other than the defaults are tried too.
    """
    known = parameter_domains(run)
    defaults = {param.name: param.default for param in run.file.params}
    names = list(known)
    choices = [_choices(type_, defaults[name], interval) for name, (type_, interval) in known.items()]
    combinations = itertools.islice(_diagonal([range(len(values)) for values in choices]), _MOST_COMBINATIONS)
    return [{name: values[k] for name, values, k in zip(names, choices, places, strict=True)}
            for places in combinations]


def _choices(type_: Scalar, default: t.Expr | None, interval: Interval) -> list[NDArray[Any]]:
    """Return values to try for a parameter, beginning with its default."""
    if type_ == BOOL:
        first = isinstance(default, t.Literal) and default.value is True
        return [np.asarray(first), np.asarray(not first)]
    known = _constant(default) if default is not None else None
    ends = [v for v in (interval.low, interval.high) if math.isfinite(v)]
    inside = [v for v in (1.0, 2.0, 0.5, 0.0, -1.0, 7.0, *ends) if interval.holds(v) and type_.lowest <= v]
    if len(ends) == 2:
        inside.append((interval.low + interval.high) / 2)
    if type_.kind != "float":
        inside = [v for v in inside if v == math.floor(v)]
    values = dict.fromkeys([*([known] if known is not None else []), *inside]) or {interval.low: None}
    return [np.asarray(int(v) if type_.kind != "float" and math.isfinite(v) else v) for v in values]


def _diagonal(ranges: list[range]) -> Iterator[tuple[int, ...]]:
    """Yield all combinations of one number from each range, sorted by their distance from the first combination."""
    return iter(sorted(itertools.product(*ranges), key=lambda places: (sum(places), places)))
