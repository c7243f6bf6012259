"""A variant of the interpreter that runs the supersteps of chosen loops in other ways, which rules may permit.

A *way* is a function that runs the block of a loop for the selected vertices and returns the names that the block
defines. The interpreter does the rest: activity, the end of loops, and all other statements. Ways do not check whether
their rules are granted; `granted` lists the granted rules. Tests also force ways of refused rules, to show that they
change results (language.md, sections 10.3 and 11).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.reference import operators as ops
from tests.reference.constants import sized
from tests.reference.evaluate import Evaluator, walk
from tests.reference.graph import RefGraph
from tests.reference.interpreter import _Machine
from tests.reference.outcome import Outcome
from tests.reference.reductions import put
from tests.reference.state import Env, Frame, Rows, Store
from tests.reference.values import Array, Value, item
from vlang.check import check, parse
from vlang.ir.facts import Facts, LoopFacts, analyse
from vlang.ir.lower import lower
from vlang.syntax import tree as t

__all__ = ["Free", "Way", "facts_of", "run_free"]

Pick = Callable[[Array, Array], Array]


def facts_of(source: str, precision: int = 32) -> Facts:
    """Return the facts of a program, given as text."""
    return analyse(lower(check(parse(source, "test.vp"), precision)))


class _Sight(Evaluator):
    """An evaluator that reads neighbours as an execution way prescribes.

    Attributes:
        pick: function that selects contributions. The arguments of this function are the neighbour and the row of each
            edge end, and the result is the indices of the selected contributions.
        older: earlier values of fields.
        old: the vertices whose earlier values are read.
        halves: whether contributions are reduced in two parts, which are then merged.
    """

    pick: Pick | None = None
    older: Mapping[Store, Value] | None = None
    old: Array = np.zeros(0, np.bool_)
    halves: np.random.Generator | None = None

    def _edges(self, domain: t.Domain, rows: Rows) -> tuple[Rows, Array]:
        inner, group = super()._edges(domain, rows)
        if self.pick is None:
            return inner, group
        others = inner.members[domain.name]
        at = self.pick(others, group)
        assert inner.own is not None
        assert inner.edge is not None
        return Rows(len(at), inner.own[at], {domain.name: others[at]}, inner.edge[at]), group[at]

    def _places(self, expr: t.Reduce, inner: Rows) -> Array:
        """Return the places that the edges have in the order of the graph, although contributions may be in any order.
        """
        if self.pick is None or inner.edge is None or inner.own is None:
            return super()._places(expr, inner)
        order = np.argsort(inner.edge, kind="stable")
        sorted_ = Rows(inner.count, inner.own[order], {name: ends[order] for name, ends in inner.members.items()},
                       inner.edge[order])
        places = np.empty(len(order), np.int64)
        places[order] = super()._places(expr, sorted_)
        return places

    def _member(self, expr: t.Member, rows: Rows, env: Env) -> Value:
        now = super()._member(expr, rows, env)
        store = env.get(expr.name)
        if self.older is None or not isinstance(store, Store) or store not in self.older:
            return now
        index = self._vertex(expr.value, rows, env)
        then = Store(store.type, self.older[store]).rows(index).raw
        seen = np.append(self.old, False)[index]
        return Value(now.type, np.where(seen[:, None] if now.raw.ndim > seen.ndim else seen, then, now.raw))

    def _fold(
        self, expr: t.Reduce, body: Value, group: Array, groups: int, env: Env, over_vertices: bool
    ) -> tuple[Value, Array]:
        over = over_vertices
        if self.halves is None or over or expr.name in ("count", "mean"):
            return super()._fold(expr, body, group, groups, env, over)
        rng, self.halves = self.halves, None
        first = rng.random(len(group)) < 0.5
        parts, counts = [], np.zeros(groups, np.int64)
        for side in (first, ~first):
            at = np.flatnonzero(side)
            value, many = super()._fold(expr, _taken(body, at), group[at], groups, env, over)
            parts.append((np.flatnonzero(many), value))
            counts = counts + many
        joined = _joined([_taken(value, rows) for rows, value in parts])
        result, _ = super()._fold(expr, joined, np.concatenate([rows for rows, _ in parts]), groups, env, over)
        self.halves = rng
        return result, counts


def _taken(value: Value, at: Array) -> Value:
    if isinstance(value.data, tuple):
        return Value(value.type, tuple(_taken(part, at) for part in value.data))
    return value if callable(value.data) or value.raw.ndim == 0 else Value(value.type, value.raw[at])


def _joined(values: list[Value]) -> Value:
    if isinstance(values[0].data, tuple):
        return Value(values[0].type, tuple(_joined(list(parts)) for parts in zip(*(v.parts for v in values))))
    return Value(values[0].type, np.concatenate([v.raw for v in values]))


class Free(_Machine):
    """The interpreter, with chosen loops run in other ways.

    Attributes:
        ways: the way of each chosen loop, by the line of the loop.
        fact: the facts of the current loop.
        kept: a dict in which the current way keeps its state. The dict is empty when the loop starts.
    """

    def __init__(
        self, file: t.File, facts: Facts, graph: RefGraph, precision: int, fields: Mapping[str, Any],
        ways: Mapping[int, Way], rng: np.random.Generator, max_rounds: int | None = None,
    ) -> None:
        super().__init__(file, graph, precision, max_rounds, dict(fields))
        self.sight = _Sight(file, graph, precision)
        self.evaluator = self.sight
        self.rng = rng
        self.kept: dict[Any, Any] = {}
        self._memory: dict[t.Repeat, dict[Any, Any]] = {}
        self._facts = {loop.loop.span.start: loop for loop in facts.loops.values()}
        self._names = facts.program.names
        self._loops = {id(node.block): node for node in walk(file) if isinstance(node, t.Repeat)}
        self._ways = ways
        self._fact: LoopFacts | None = None
        self.resting: Mapping[str, bool] = {}  # fields, each with the value at which a vertex skips the current gather

    def block(self, block: t.Block, selected: Array, env: Env) -> Env:
        """Run a block. If a test chose a way for the loop of this block, this way runs the block."""
        loop = self._loops.get(id(block))
        way = None if loop is None else self._ways.get(loop.span.line)
        if loop is None or way is None or not len(selected):
            return super().block(block, selected, env)
        around = self._fact, self.kept
        if self.frame.iteration == 1:
            self._memory[loop] = {}
        self._fact, self.kept = self._facts[loop.span.start], self._memory[loop]
        names = way(self, block, selected, env)
        self._fact, self.kept = around
        return names

    def plain(self, block: t.Block, selected: Array, env: Env) -> Env:
        """Run a block as the interpreter does."""
        return super().block(block, selected, env)

    @property
    def fact(self) -> LoopFacts:
        """The facts of the current loop."""
        assert self._fact is not None
        return self._fact

    @property
    def frame(self) -> Frame:
        """The frame of the current superstep of the innermost loop."""
        return self.evaluator.frames[-1]

    def named(self, name: str) -> str:
        """Return the name that a field of the facts has in the text of the program."""
        return self._names.get(name, name)

    def stores(self, env: Env) -> dict[str, Store]:
        """Return the fields that the loop writes."""
        return {name: store for name in sorted({n for w in self.fact.writes for n in w.fields})
                if isinstance(store := env.get(self.named(name)), Store)}

    def state(self, env: Env) -> dict[str, Array]:
        """Return copies of the fields that the loop writes."""
        return {name: store.value.raw.copy() for name, store in self.stores(env).items()}

    def differing(self, names: Any, now: Mapping[str, Array], then: Mapping[str, Array]) -> Array:
        """Return the vertices where a field of the loop differs from an earlier copy."""
        found = np.zeros(self.graph.n, np.bool_)
        for name in set(names) & set(now):
            found |= ops.differs(now[name], then[name])
        return found

    def receivers(self, senders: Array, domains: Any) -> Array:
        """Return the vertices that have a sender among their neighbours, for gathers over the domains."""
        found = np.zeros(self.graph.n, np.bool_)
        for own, other, kinds in ((self.graph.dst, self.graph.src, ("in", "both")),
                                  (self.graph.src, self.graph.dst, ("out", "both"))):
            if set(kinds) & set(domains):
                found[own[senders[other]]] = True
        return found

    def phases(self, block: t.Block) -> list[list[t.Statement]]:
        """Return the statements of the block, grouped by phase.

        `activate when` and other statements outside of phases belong to the last phase.
        """
        places = {s.span.start: number for number, phase in enumerate(self.fact.phases) for s in phase.statements}
        groups: list[list[t.Statement]] = [[] for _ in self.fact.phases]
        for statement in block.items:
            if not isinstance(statement, t.Activate):
                groups[places[statement.span.start]].append(statement)
        return groups

    def some(self, vertices: Array) -> Array:
        """Return a random subset of the vertices in random order, with at least one vertex."""
        mixed = self.rng.permutation(vertices)
        return mixed[: self.rng.integers(1, len(mixed) + 1)] if len(mixed) else mixed

    def _gather(self, statement: t.Gather, selected: Array, env: Env) -> None:
        super()._gather(statement, selected, env)
        if not self.resting:
            return
        store = env[statement.name]
        assert isinstance(store, Store)
        assert isinstance(statement.value, t.Reduce)
        for name, value in self.resting.items():
            field = env[name]
            assert isinstance(field, Store)
            rest = selected[field.value.raw[selected] == value]
            nothing = np.full(len(rest), ops.identity(statement.value.name, item(store.type)))
            store.value = put(store.value, rest, Value(store.type, nothing))


Way = Callable[[Free, t.Block, Array, Env], Env]


def run_free(
    source: str, facts: Facts, graph: RefGraph, params: Mapping[str, Any], fields: Mapping[str, Any],
    ways: Mapping[int, Way], seed: int, precision: int = 32, max_rounds: int | None = None,
) -> Outcome:
    """Run a program, with chosen loops in other ways. If `ways` is empty, every loop runs as written.

    Args:
        source: The text of the program.
        facts: The facts of the program, from `facts_of`.
        graph: The graph.
        params: As in `interpreter.run`.
        fields: As in `interpreter.run`.
        ways: The line of a loop -> its way.
        seed: The seed of the random choices.
        precision: Bits of `int` and `float`.
        max_rounds: The bound of rounds for every execution of a loop.
    """
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        file, constants = sized(parse(source, "test.vp"), params)
        machine = Free(file, facts, graph, precision, fields, ways, rng, max_rounds)
        machine.bind(params, graph.columns, constants)
        return machine.run()
