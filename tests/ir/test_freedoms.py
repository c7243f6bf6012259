"""Loops that run under granted rules give the same results on random small graphs (language.md 10.3 and 11)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.ir.helpers import ir
from tests.ir.machine import Graph, Machine, State, shuffled
from vlang.ir.facts import LoopFacts, analyse
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import loops_of

SEEDS = range(400)
LIMIT = 60


class Texts:
    """A generator of random loops over a few fields. Many loops have joined writes, for which rules can be granted."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def text(self) -> str:
        rng = self.rng
        lines = [
            "program p",
            "edge w: int = 1",
            "require w >= 0",
            f"vertex k: int = {rng.choice(['1', 'outdegree', '2 if indegree > 1 else 0'])}",
            f"vertex x: int = {rng.choice(['0 if self.outdegree == 2 else inf', 'degree', '3', 'indegree - 1'])}",
            f"vertex y: int = {rng.choice(['1', '0 - degree', 'outdegree'])}",
            f"vertex b: bool = {rng.choice(['outdegree > 1', 'true', 'false'])}",
            f"vertex c: bool = {rng.choice(['indegree == 1', 'true', 'false'])}",
            "vertex p: vertex = self if x < inf else none",
            rng.choice(["repeat:", "repeat:", "repeat:", "repeat 5 times:"]),
        ]
        for number in range(rng.choice([1, 1, 2])):
            lines += self.step(f"a{number}")
        return "\n".join(lines) + "\n"

    def step(self, name: str) -> list[str]:
        """Return a gather and an apply, sometimes inside of a `where`."""
        rng = self.rng
        ends = rng.choice(["u -> self", "self -> u", "u -- self"])
        cond = f" if {self.condition('u.')}" if rng.random() < 0.3 else ""
        kind = rng.random()
        if kind < 0.1:
            pair = [f"gather {name} = min((u.x + {rng.choice(['1', 'w', 'k'])}, u) for {ends}{cond})",
                    f"apply (x, p) = min((x, p), {name})"]
        elif kind < 0.2:
            pair = [f"gather {name} = min(u.x + 1 for {ends})", f"apply x = min(x, {name})"]
        elif kind < 0.65:
            pair = self.numbers(name, ends, cond)
        else:
            pair = self.flags(name, ends, cond)
        if rng.random() < 0.25:
            return [f"    where {self.condition('')}:", *(f"        {line}" for line in pair)]
        return [f"    {line}" for line in pair]

    def numbers(self, name: str, ends: str, cond: str) -> list[str]:
        rng = self.rng
        reduction, field = rng.choice(["min", "max", "min", "max", "sum"]), rng.choice("xy")
        body = self.number("u.")
        if reduction == "sum":
            body = f"min(3, max(-3, {body}))"
        default = ", default = 1" if rng.random() < 0.1 else ""
        gather = f"gather {name} = {reduction}({body} for {ends}{cond}{default})"
        if reduction == "min" and field == "y" and rng.random() < 0.5:
            field = "x"
        joined = "max" if reduction == "sum" else reduction
        value = rng.choice([name, name, name, f"{name} + 1", f"{name} + k", self.number("", name)])
        if joined == "max":
            value = f"min({value}, 6)"
        else:
            value = f"max({value}, -6)" if rng.random() < 0.3 else value
        form = rng.choice([f"{joined}({field}, {value})"] * 5 + [f"min(6, max(-6, {value}))"])
        return [gather, f"apply {field} = {form}"]

    def flags(self, name: str, ends: str, cond: str) -> list[str]:
        rng = self.rng
        field = rng.choice("bc")
        reduction, body = rng.choice(["any", "all", "count"]), self.condition("u.")
        value = f"{name} >= {rng.choice([1, 2])}" if reduction == "count" else name
        word = rng.choice(["or", "and", "or" if reduction == "any" else "and"])
        form = rng.choice([f"{field} {word} {value}"] * 5 + [value])
        return [f"gather {name} = {reduction}({body} for {ends}{cond})", f"apply {field} = {form}"]

    def number(self, of: str, more: str = "k") -> str:
        rng = self.rng
        x, y = f"{of}x", f"{of}y"
        more = more if of == "" else rng.choice(["w", "k", "u.k", "x"])
        return rng.choice([x, x, y, f"{x} + 1", f"{x} + {more}", f"min({x}, {more})", f"max({y}, {more})", f"{y} - 1",
                           f"{x} if {of}b else {y}", f"min({x}, 4) * {more}", f"0 - {y}"])

    def condition(self, of: str) -> str:
        rng = self.rng
        b, c = f"{of}b", f"{of}c"
        return rng.choice([b, c, b, c, f"not {b}", f"{b} and {c}", f"{of}x > 1", f"{of}x < {of}k", f"{of}k > 0",
                           f"{of}y >= 0", f"{of}x != 3"])


def graph(rng: random.Random) -> Graph:
    n = rng.randint(1, 7)
    edges = tuple((rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(0, 12)))
    return Graph(n, edges, tuple(rng.randint(0, 2) for _ in edges))


def synchronous(program: f.Program, at: Graph, loop: LoopFacts, start: State | None = None) -> list[State] | None:
    """Return the initial state and the states after each superstep. Return None if the loop does not converge or may
    overflow.
    """
    machine = Machine(program, at)
    if start is not None:
        machine.now = {name: list(column) for name, column in start.items()}
    states = [machine.copy()]
    rounds = 5 if loop.kind == "counted" else LIMIT
    for _ in range(rounds):
        machine.begin()
        machine.run(loop.loop.body, range(at.n))
        states.append(machine.copy())
        if any(1000 < abs(value) < 2**31 - 1 for name in "xy" for value in machine.now[name]):
            return None
        if loop.kind != "counted" and states[-1] == states[-2]:
            return states
    return states if loop.kind == "counted" else None


def in_any_order(program: f.Program, at: Graph, loop: LoopFacts, rng: random.Random) -> State:
    """Apply rule A: update random single vertices in place, from old states of neighbours; then update all vertices
    until no value changes.
    """
    machine = Machine(program, at)
    history = [machine.copy()]

    def stale(name: str, u: int) -> object:
        return rng.choice(history[-4:])[name][u] if rng.random() < 0.4 else machine.now[name][u]

    machine.neighbour = stale
    for _ in range(8 * at.n):
        machine.run(loop.loop.body, [rng.randrange(at.n)])
        history.append(machine.copy())
    machine.neighbour = lambda name, u: machine.now[name][u]
    for _ in range(LIMIT * (at.n + 1)):
        before = machine.copy()
        for v in shuffled(rng, at.n):
            machine.run(loop.loop.body, [v])
        if machine.now == before:
            break
    return machine.now


def phase_by_phase(program: f.Program, at: Graph, loop: LoopFacts, rounds: int, push: bool) -> list[State]:
    """Run a loop phase by phase under rule P or N; return the state after each superstep.

    Under rule P only the vertices that changed since the last run of the phase send. Under rule N only the receivers of
    changed vertices run.

    Args:
        program: The program.
        at: The graph.
        loop: The facts of the loop.
        rounds: The number of supersteps.
        push: Whether rule P is applied; otherwise rule N is applied.
    """
    machine = Machine(program, at)
    seen: list[State | None] = [None] * len(loop.phases)
    left: list[State] = [{}] * len(loop.phases)
    states = [machine.copy()]
    for _ in range(rounds):
        previous = machine.old
        machine.begin()
        for number, (phase, skip) in enumerate(zip(loop.phases, loop.skips)):
            last, vertices = seen[number], set(range(at.n))
            seen[number] = machine.copy()
            if last is not None:
                notifying = {v for v in vertices
                             if any(machine.now[name][v] != last[name][v] for name in skip.notifying)}
                own = {v for v in vertices for name in skip.own
                       if machine.now[name][v] != last[name][v] or machine.now[name][v] != left[number][name][v]
                       or machine.old[name][v] != previous[name][v]}
                if push:
                    machine.senders = notifying
                else:
                    vertices = own | {v for v in vertices for domain in phase.domains
                                      for u, _ in at.ends(v, domain) if u in notifying}
            machine.run(phase.statements, sorted(vertices))
            machine.senders = None
            left[number] = machine.copy()
        states.append(machine.copy())
    return states


def resting(program: f.Program, at: Graph, loop: LoopFacts, rounds: int) -> list[State]:
    """Apply rule X1: vertices with an absorbing value do not gather."""
    machine = Machine(program, at)
    states = [machine.copy()]

    def rest(gather: f.Gather, v: int) -> bool:
        return any(machine.now[name][v] == value and feeds(loop, gather.name, name)
                   for name, value in loop.early_exit.done.items())

    machine.rest = rest
    for _ in range(rounds):
        machine.begin()
        machine.run(loop.loop.body, range(at.n))
        states.append(machine.copy())
    return states


def feeds(loop: LoopFacts, gather: str, name: str) -> bool:
    """Return whether the write of the field `name` reads a gather."""
    rests = [write.rest for write in loop.writes if name in write.fields]
    return any(isinstance(e, f.Accumulator) and e.name == gather for rest in rests for e in f.walk(rest))


def _looking_at(state: State) -> Callable[[str, int], Any]:
    """Return a function that reads the fields of neighbours from a state."""
    return lambda field, u: state[field][u]


def frontier(program: f.Program, at: Graph, loop: LoopFacts, rng: random.Random) -> State | None:
    """Apply rule X2: one random active neighbour decides the value, and only vertices without a value gather."""
    machine = Machine(program, at)
    (name,) = loop.writes[0].fields
    joined = loop.writes[0].joined
    assert joined is not None
    ends = (2**31 - 1, -(2**31))
    active = {v for v in range(at.n) if machine.now[name][v] not in ends}
    while active:
        machine.begin()
        before = machine.copy()
        for v in range(at.n):
            senders = [u for u, _ in at.ends(v, joined.reduce.domain.kind) if u in active]
            if senders and machine.now[name][v] in ends:
                machine.senders = {rng.choice(senders)}
                machine.neighbour = _looking_at(before)
                machine.run(loop.loop.body, [v])
        active = {v for v in range(at.n) if machine.now[name][v] != before[name][v]}
    return machine.now


def changed_graph(at: Graph, rng: random.Random) -> Graph:
    """Return the graph without some of its edges."""
    kept = [k for k in range(len(at.edges)) if rng.random() < 0.5]
    return replace(at, edges=tuple(at.edges[k] for k in kept), w=tuple(at.w[k] for k in kept))


def check(seed: int, used: Counter[str]) -> None:
    rng = random.Random(seed)
    text, at = Texts(rng).text(), graph(rng)
    where = f"seed {seed}\n{text}{at}"
    program = ir(text)
    (loop,) = analyse(program).loops.values()
    states = synchronous(program, at, loop)
    if states is None:
        return
    rounds = len(states) - 1
    if loop.any_order:
        used["A"] += 1
        assert in_any_order(program, at, loop, rng) == states[-1], where
    elif loop.kind == "fixpoint" and in_any_order(program, at, loop, rng) != states[-1]:
        used["A forced, and wrong"] += 1
    if loop.push.granted:
        used["P"] += 1
        assert phase_by_phase(program, at, loop, rounds, push=True) == states, where
    elif phase_by_phase(program, at, loop, rounds, push=True) != states:
        used["P forced, and wrong"] += 1
    if loop.skip:
        used["N"] += 1
        assert phase_by_phase(program, at, loop, rounds, push=False) == states, where
    if loop.early_exit.done:
        used["X1"] += 1
        assert resting(program, at, loop, rounds) == states, where
    if loop.early_exit.frontier.granted:
        used["X2"] += 1
        assert frontier(program, at, loop, rng) == states[-1], where
    fewer = changed_graph(at, rng)
    for mark, old, new in (("insert", fewer, at), ("delete", at, fewer)):
        if mark in loop.incremental.marks:
            before, cold = synchronous(program, old, loop), synchronous(program, new, loop)
            if before is None or cold is None:
                continue
            start = {name: before[-1][name] if name in loop.applied else column for name, column in cold[0].items()}
            warm = synchronous(program, new, loop, start)
            used[mark] += 1
            assert warm is not None, where
            assert warm[-1] == cold[-1], where


def test_freedoms_change_nothing() -> None:
    used: Counter[str] = Counter()
    for seed in SEEDS:
        try:
            check(seed, used)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}") from error
    wanted = {"A", "P", "N", "X1", "X2", "insert", "delete", "A forced, and wrong", "P forced, and wrong"}
    assert not wanted - set(used), used


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_gives_the_same_loop(seed: int) -> None:
    assert Texts(random.Random(seed)).text() == Texts(random.Random(seed)).text()
    assert len(loops_of(ir(Texts(random.Random(seed)).text()))) == 1
