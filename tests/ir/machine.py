"""A simple evaluator of loops in the IR, for small graphs, integers and bools.

The evaluator can apply the rules that facts grant. Tests of facts run a loop as written and under a rule, and compare
the results.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from vlang.ir.forms import forms as f
from vlang.reductions import identity
from vlang.types import VERTEX, Scalar, Tuple, Type

__all__ = ["Graph", "Machine", "State"]

State = dict[str, list[Any]]


@dataclass(frozen=True)
class Graph:
    """A graph of n vertices and directed edges; `w` is the only edge column."""

    n: int
    edges: tuple[tuple[int, int], ...]
    w: tuple[int, ...]

    def ends(self, v: int, kind: str) -> Iterator[tuple[int, int]]:
        """Yield the neighbours of v in a domain, each with the number of the edge."""
        for number, (source, target) in enumerate(self.edges):
            if target == v and kind in ("in", "both"):
                yield source, number
            if source == v and kind in ("out", "both"):
                yield target, number


@dataclass
class _Sight:
    """The place where an expression is evaluated: a vertex v and, inside a reduction, an edge with the neighbour u."""

    v: int
    accumulators: dict[str, Any]
    u: int = -1
    edge: int = -1


class Machine:
    """A machine that runs statements of one program. `now` is the current state; `old` is the state at the start of the
    superstep.
    """

    def __init__(self, program: f.Program, graph: Graph) -> None:
        self.program, self.graph = program, graph
        self.now: State = {}
        self.old: State = {}
        self.accumulators: list[dict[str, Any]] = [{} for _ in range(graph.n)]
        self.iteration = 0
        self.senders: Collection[int] | None = None
        self.neighbour: Callable[[str, int], Any] = lambda name, u: self.now[name][u]
        self.rest: Callable[[f.Gather, int], bool] = lambda gather, v: False
        for statement in program.body:
            if isinstance(statement, f.InitField):
                self.now[statement.name] = [self.value(statement.value, _Sight(v, {})) for v in range(graph.n)]
        self.old = self.copy()

    def copy(self) -> State:
        """Return a copy of the current state."""
        return {name: list(column) for name, column in self.now.items()}

    def begin(self) -> None:
        """Start a superstep."""
        self.iteration += 1
        self.old = self.copy()

    def run(self, statements: Iterable[f.Statement], vertices: Iterable[int]) -> None:
        """Run the statements in order. Each statement runs for all of `vertices` before the next statement runs. The
        reads of a statement precede its writes.
        """
        chosen = list(vertices)
        for statement in statements:
            if isinstance(statement, f.Gather):
                found = [(v, self._gathered(statement, v)) for v in chosen]
                for v, value in found:
                    self.accumulators[v][statement.name] = value
            elif isinstance(statement, f.Apply):
                found = [(v, self.value(statement.value, _Sight(v, self.accumulators[v]))) for v in chosen]
                for v, value in found:
                    for name, item in zip(statement.fields, value if len(statement.fields) > 1 else (value,)):
                        self.now[name][v] = item
            elif isinstance(statement, f.Where):
                self.run(statement.body, [v for v in chosen if self.value(statement.cond, self.sight(v))])

    def sight(self, v: int) -> _Sight:
        return _Sight(v, self.accumulators[v])

    def _gathered(self, gather: f.Gather, v: int) -> Any:
        if self.rest(gather, v):
            return _identity(gather.reduce.name, gather.reduce.type)
        return self.value(gather.reduce, self.sight(v))

    # ---------------------------------------------------------------- expressions

    def value(self, expr: f.Expr, at: _Sight) -> Any:
        """Return the value of an expression."""
        if isinstance(expr, f.Const):
            return expr.value
        if isinstance(expr, f.GraphValue):
            return {"N": self.graph.n, "M": len(self.graph.edges), "iteration": self.iteration}[expr.name]
        if isinstance(expr, f.Field):
            return self._field(expr, at)
        if isinstance(expr, f.EdgeValue):
            return self.graph.w[at.edge]
        if isinstance(expr, f.Vertex):
            return at.v if expr.of == "self" else at.u
        if isinstance(expr, f.Degree):
            domain = "both" if expr.kind == "all" else expr.kind
            return sum(1 for _ in self.graph.ends(at.v if expr.of == "self" else at.u, domain))
        if isinstance(expr, f.Accumulator):
            return at.accumulators[expr.name]
        if isinstance(expr, f.Reduce):
            return self._reduce(expr, at)
        assert isinstance(expr, f.Op)
        return self._op(expr, at)

    def _field(self, expr: f.Field, at: _Sight) -> Any:
        if expr.of == "other" and expr.time == "now":
            return self.neighbour(expr.name, at.u)
        owner = {"self": at.v, "other": at.u}[expr.of] if isinstance(expr.of, str) else self.value(expr.of, at)
        return (self.old if expr.time == "old" else self.now)[expr.name][owner]

    def _reduce(self, reduce: f.Reduce, at: _Sight) -> Any:
        found = []
        for u, edge in self.graph.ends(at.v, reduce.domain.kind):
            inner = _Sight(at.v, at.accumulators, u, edge)
            if self.senders is not None and u not in self.senders:
                continue
            if reduce.cond is None or self.value(reduce.cond, inner):
                found.append(self.value(reduce.body, inner))
        if not found and reduce.default is not None:
            return self.value(reduce.default, at)
        start = _identity(reduce.name, reduce.type)
        if reduce.name in ("min", "max"):
            for value in found:
                start = _better(reduce.name, reduce.type, start, value)
            return start
        if reduce.name == "hindex":
            return max((h for h in range(len(found) + 1) if sum(x >= h for x in found) >= h), default=0)
        if reduce.name == "median":
            return sorted(found)[(len(found) - 1) // 2]
        folds: dict[str, Callable[[list[Any]], Any]] = {"sum": sum, "count": sum, "any": any, "all": all}
        return folds[reduce.name](found)

    def _op(self, expr: f.Op, at: _Sight) -> Any:
        if expr.op == "select":
            test, yes, no = expr.args
            return self.value(yes if self.value(test, at) else no, at)
        args = [self.value(arg, at) for arg in expr.args]
        if expr.op in ("min", "max"):
            return _better(expr.op, expr.type, *args)
        if expr.op in ("add", "sub"):
            return _sum(expr, args[0], args[1])
        return _PLAIN[expr.op](expr, *args)


_PLAIN: dict[str, Callable[..., Any]] = {
    "mul": lambda e, a, b: a * b, "floordiv": lambda e, a, b: a // b if b else 0,
    "eq": lambda e, a, b: a == b, "ne": lambda e, a, b: a != b, "differs": lambda e, a, b: a != b,
    "lt": lambda e, a, b: a < b, "le": lambda e, a, b: a <= b, "gt": lambda e, a, b: a > b,
    "ge": lambda e, a, b: a >= b, "not": lambda e, a: not a, "and": lambda e, a, b: a and b,
    "or": lambda e, a, b: a or b, "cast": lambda e, a: a, "tuple": lambda e, *a: tuple(a),
    "item": lambda e, a: a[e.data], "neg": lambda e, a: -a,
}  # fmt: skip


def _sum(expr: f.Op, a: int, b: int) -> int:
    """Return a sum or difference; the result is infinite if an operand is infinite."""
    type_ = expr.type
    assert isinstance(type_, Scalar)
    ends = (type_.highest, type_.lowest)
    if a in ends:
        return a
    if b in ends:
        return b if expr.op == "add" else ends[1 - ends.index(b)]
    return a + b if expr.op == "add" else a - b


def _better(name: str, type_: Type, a: Any, b: Any) -> Any:
    """Return the min or max of two values. `none` and tuples that start with the identity lose; in a tie the first
    value wins.
    """
    if isinstance(type_, Tuple):
        if b[0] == identity(name, type_.items[0]):
            return a
        if a[0] == identity(name, type_.items[0]):
            return b
    if type_ == VERTEX and (a is None or b is None):
        return b if a is None else a
    if isinstance(type_, Tuple):  # `none` is the largest
        rank_a, rank_b = ([(x is None) == (name == "min"), x or 0] for x in (a[1], b[1]))
        rank_a, rank_b = [a[0], *rank_a], [b[0], *rank_b]
        return b if (rank_b < rank_a if name == "min" else rank_b > rank_a) else a
    return (b if b < a else a) if name == "min" else (b if b > a else a)


def shuffled(rng: random.Random, n: int) -> list[int]:
    """Return the vertices in random order."""
    return rng.sample(range(n), n)


def _identity(name: str, type_: Type) -> Any:
    """Return the value of a reduction without contributions. The value of a tuple has one item per component."""
    if isinstance(type_, Tuple):
        return tuple(identity(name, t) for t in type_.items)
    assert isinstance(type_, Scalar)
    return identity(name, type_)
