"""The ways in which loops may run, one for each rule (language.md 10.3). The module `chaos` explains ways.

Every way is a function. The arguments of a way are the interpreter, the block of the loop, the numbers of the selected
vertices, and the values of the names defined before the block. A way returns the values of the names after the block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tests.reference import operators as ops
from tests.reference.freedoms.chaos import Free, Way
from tests.reference.reductions import put
from tests.reference.state import Env, Store
from tests.reference.values import Array, Value, item, take
from vlang.ir.facts import GatherFacts, LoopFacts
from vlang.ir.forms import forms as f
from vlang.reductions import identity
from vlang.syntax import tree as t
from vlang.types import VERTEX

__all__ = ["EXACT", "WAYS", "granted", "resting", "silencing"]


# ------------------------------------------------------------------------------------------------ A, A', S, O, K


def any_order(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rules A and S: run random subsets of the vertices in place, with some old values of neighbours; then run all
    vertices.
    """
    history = m.kept.setdefault("history", [])
    for _ in range(int(m.rng.integers(1, 4))):
        history.append({store: store.value for store in m.stores(env).values()})
        m.sight.older = history[max(0, len(history) - int(m.rng.integers(1, 5)))]
        m.sight.old = m.rng.random(m.graph.n) < 0.4
        m.plain(block, m.some(selected), env)
        m.sight.older = None
    return m.plain(block, selected, env)


def in_place(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule A within a superstep: run every vertex once, in random order. A vertex reads the new values of vertices that
    have already run.
    """
    return _one_by_one(m, lambda v: m.plain(block, v, env), selected)


def _one_by_one(m: Free, run: Callable[[Array], Env], vertices: Array) -> Env:
    """Call `run` for one vertex at a time; return the names, with accumulators that cover all vertices."""
    whole: Env | None = None
    for v in m.rng.permutation(vertices):
        one = run(np.array([v]))
        if whole is None:
            whole = one
            continue
        for name, store in one.maps[0].items():
            kept = whole.get(name)
            if isinstance(store, Store) and isinstance(kept, Store) and kept is not store:
                kept.value = put(kept.value, np.array([v]), take(store.value, np.array([v])))
    assert whole is not None
    return whole


def sent_by_some(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule A': send the changes of a random subset of the active vertices only."""
    active = np.flatnonzero(m.frame.active)
    m.frame.active = _flags(m, m.some(active))
    return m.plain(block, selected, env)


def largest_first(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule O for delta loops: send only changes that are at least half as large as the largest change."""
    frame = m.frame
    (store,) = m.stores(env).values()
    size = np.where(frame.active, np.abs(store.value.raw - frame.sent[store]), -1)
    frame.active = frame.active & (size >= size.max(initial=0) / 2)
    return m.plain(block, selected, env)


def best_first(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule O: the waiting vertices with the best values send first. The whole search counts as one superstep.

    If the rule marks values as final, vertices that have sent are not written again.
    """
    if m.frame.iteration > 1:
        return env.new_child()
    (write,) = m.fact.writes
    store = m.stores(env)[write.fields[0]]
    sign = 1 if write.direction == "down" else -1
    final = "final" in m.fact.priority.marks or m.kept.get("final", False)
    waiting, done = np.ones(m.graph.n, np.bool_), np.zeros(m.graph.n, np.bool_)
    names = env.new_child()
    for _ in range(1000):
        if not waiting.any():
            break
        values = np.where(waiting, sign * store.value.raw.astype(np.float64), np.inf)
        bucket = waiting & (values <= values[waiting].min())
        before = store.value.raw.copy()
        done |= bucket if final else False
        m.sight.pick = lambda others, _group, chosen=bucket: np.flatnonzero(chosen[others])
        names = m.plain(block, selected[~done[selected] | bucket[selected]], env)
        m.sight.pick = None
        waiting &= ~bucket
        waiting |= ops.differs(store.value.raw, before)
    return names


def final_first(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule O, forced with the assumption that values are final once they are sent."""
    m.kept["final"] = True
    return best_first(m, block, selected, env)


def components(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule K: give every vertex the reduction over its connected component."""
    (write,) = m.fact.writes
    (name,) = write.fields
    store, roots = m.stores(env)[name], np.arange(m.graph.n)
    for _ in range(m.graph.n):
        least = np.minimum(roots[m.graph.src], roots[m.graph.dst])
        np.minimum.at(roots, m.graph.src, least)
        np.minimum.at(roots, m.graph.dst, least)
    assert write.operator is not None
    join = write.operator.monoid
    value = store.value.raw.copy()
    for root in np.unique(roots):
        mine = roots == root
        part = value[mine]
        part = part[part >= 0] if item(store.type) == VERTEX and (part >= 0).any() else part
        folds: dict[str, Callable[[Array], Any]] = {
            "min": np.min, "max": np.max, "or": np.any, "and": np.all, "|": np.bitwise_or.reduce,
            "&": np.bitwise_and.reduce}
        value[mine] = folds[join](part)
    store.value = Value(store.type, value)
    return env.new_child()


# --------------------------------------------------------------------------------------------------------- P, N


def push(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule P: values are sent by the vertices that changed since the last run of the phase, and by some random
    vertices. Some contributions are sent twice.
    """
    def run(number: int, group: list[t.Statement], names: Env, notifying: Array | None) -> None:
        if notifying is not None:
            chosen = notifying | (m.rng.random(m.graph.n) < 0.2)
            m.sight.pick = lambda others, _group: _twice(m, np.flatnonzero(chosen[others]))
        _statements(m, group, selected, names)
        m.sight.pick = None

    return _by_phase(m, block, env, run)


def _twice(m: Free, at: Array) -> Array:
    """Return the indices of the edges. Some indices occur twice, except in gathers of changes."""
    return at if m.fact.kind == "delta" else np.concatenate([at, at[m.rng.random(len(at)) < 0.3]])


def skip(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule N: run the vertices with an input that changed since the last run of the phase, and also some random
    vertices.
    """
    def run(number: int, group: list[t.Statement], names: Env, notifying: Array | None) -> None:
        chosen = selected
        if notifying is not None:
            wanted = m.kept["own"] | m.receivers(notifying, m.fact.phases[number].domains)
            wanted |= m.rng.random(m.graph.n) < 0.1
            chosen = selected[wanted[selected]]
        _statements(m, group, chosen, names)

    return _by_phase(m, block, env, run)


def skip_by_superstep(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule N, decided once for all phases: run only vertices with an input that changed in the previous superstep."""
    now, then = m.state(env), m.kept.get("then")
    m.kept["then"] = now
    if then is None:
        return m.plain(block, selected, env)
    changed = m.differing(now, now, then)
    wanted = changed | m.receivers(changed, m.fact.domains)
    return m.plain(block, selected[wanted[selected]], env)


def _statements(m: Free, group: list[t.Statement], selected: Array, names: Env) -> None:
    for statement in group:
        m.execute(statement, selected, names)


def _by_phase(
    m: Free, block: t.Block, env: Env, run: Callable[[int, list[t.Statement], Env, Array | None], None]
) -> Env:
    """Call `run` for each phase, with the vertices that changed since the last run of the phase (None in the first
    superstep).

    For rule N, `m.kept["own"]` records the vertices whose own inputs changed.
    """
    names, fact = env.new_child(), m.fact
    start = m.state(env)
    previous = m.kept.get("start", start)
    m.kept["start"] = start
    for number, (group, facts) in enumerate(zip(m.phases(block), fact.skips)):
        now, seen = m.state(env), m.kept.get(("seen", number))
        m.kept["seen", number] = now
        notifying = None
        if seen is not None:
            left = m.kept["left", number]
            notifying = m.frame.active.copy() if fact.kind == "delta" else m.differing(facts.notifying, now, seen)
            m.kept["own"] = m.differing(facts.own, now, seen) | m.differing(facts.own, now, left) | \
                m.differing(facts.own, start, previous)
        run(number, group, names, notifying)
        m.kept["left", number] = m.state(env)
    return names


# ------------------------------------------------------------------------------------------------------ X, Z, F, B


def early_exit(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule X1: skip the gather of a vertex for a field that has the absorbing value."""
    return _resting(m, block, selected, env, m.fact.early_exit.done, None)


def resting(field: str, value: bool, gather: str) -> Way:
    """Rule X1, forced: skip this gather at vertices whose field has `value`."""
    return lambda m, block, selected, env: _resting(m, block, selected, env, {field: value}, gather)


def _resting(m: Free, block: t.Block, selected: Array, env: Env, done: Mapping[str, bool], gather: str | None) -> Env:
    feeds = {name: {e.name for w in m.fact.writes if name in w.fields for e in f.walk(w.rest)
                    if isinstance(e, f.Accumulator)} for name in done}
    names = env.new_child()
    for statement in block.items:
        if isinstance(statement, t.Gather):
            m.resting = {name: value for name, value in done.items()
                         if statement.name == gather or (gather is None and statement.name in feeds[name])}
        m.execute(statement, selected, names)
        m.resting = {}
    return names


def first_neighbour(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule X2: one random active neighbour decides the value of a vertex that has no value yet."""
    return _frontier(m, block, selected, env, all_active=False)


def first_of_all(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule X2, forced although all vertices are active in the first superstep, with or without a value."""
    return _frontier(m, block, selected, env, all_active=True)


def _frontier(m: Free, block: t.Block, selected: Array, env: Env, all_active: bool) -> Env:
    (write,) = m.fact.writes
    store = m.stores(env)[write.fields[0]]
    values = store.value.raw
    far = np.asarray(identity("min" if write.direction == "down" else "max", item(store.type)))
    then = m.kept.get("then")
    m.kept["then"] = values.copy()
    active = ops.differs(values, then) if then is not None else (values != far) | all_active

    def pick(others: Array, group: Array) -> Array:
        at = m.rng.permutation(np.flatnonzero(active[others]))
        _, first = np.unique(group[at], return_index=True)
        return at[first]

    m.sight.pick = pick
    names = m.plain(block, selected[values[selected] == far], env)
    m.sight.pick = None
    return names


def skip_identity(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule Z: leave out the contributions of neighbours whose value is the identity."""
    return _silent(m, block, selected, env, m.fact.gathers, m.fact)


def silencing(field: str) -> Way:
    """Rule Z, forced: leave out the contributions of neighbours where a field has the identity."""
    def way(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
        gathers = [GatherFacts(g.name, g.domain, g.replicate, g.strict, (), (field,)) for g in m.fact.gathers]
        return _silent(m, block, selected, env, gathers, m.fact)

    return way


def _silent(m: Free, block: t.Block, selected: Array, env: Env, gathers: Any, fact: LoopFacts) -> Env:
    reduces = {s.name: s.reduce for phase in fact.phases for s in phase.statements if isinstance(s, f.Gather)}
    fields = {gather.name: gather.silencing for gather in gathers if gather.name in reduces}
    names = env.new_child()
    for statement in block.items:
        if isinstance(statement, t.Gather) and fields.get(statement.name):
            silent = np.zeros(m.graph.n, np.bool_)
            for name in fields[statement.name]:
                silent |= _at_identity(m, names, name, reduces[statement.name].name)
            m.sight.pick = lambda others, _group, silent=silent: np.flatnonzero(~silent[others])
        m.execute(statement, selected, names)
        m.sight.pick = None
    return names


def _at_identity(m: Free, names: Env, name: str, reduction: str) -> Array:
    """Return the vertices where a field, or the `change(...)` of a field, has the identity."""
    store = names[m.named(name.removeprefix("change(").removesuffix(")"))]
    assert isinstance(store, Store)
    raw = store.value.raw - m.frame.sent[store] if name.startswith("change(") else store.value.raw
    nothing = identity(reduction, item(store.type))
    found: Array = np.all((raw == (-1 if nothing is None else nothing)).reshape(m.graph.n, -1), axis=1)
    return found


def one_pass(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rules F and B: each vertex runs all statements of a phase before the next vertex, with one buffer per field."""
    names = env.new_child()
    for group in m.phases(block):
        run: list[t.Statement] = []
        for statement in [*group, None]:
            if statement is not None and not isinstance(statement, t.Let):
                run.append(statement)
                continue
            if run:
                _fused(m, run, selected, names)
            run = []
            if statement is not None:
                m.execute(statement, selected, names)
    return names


def _fused(m: Free, run: list[t.Statement], selected: Array, names: Env) -> None:
    def one(v: Array) -> Env:
        inner = names.new_child()
        _statements(m, run, v, inner)
        return inner

    names.maps[0].update(_one_by_one(m, one, selected).maps[0])


def halves(m: Free, block: t.Block, selected: Array, env: Env) -> Env:
    """Rule R: reduce the contributions in random order and in two parts; then merge the parts."""
    m.sight.pick = lambda others, _group: m.rng.permutation(len(others))
    m.sight.halves = m.rng
    names = m.plain(block, selected, env)
    m.sight.pick = m.sight.halves = None
    return names


# ---------------------------------------------------------------------------------------------------------- granted


def _flags(m: Free, vertices: Array) -> Array:
    found = np.zeros(m.graph.n, np.bool_)
    found[vertices] = True
    return found


WAYS: Mapping[str, Way] = {
    "A": any_order, "A'": sent_by_some, "S": any_order, "O": best_first, "O'": largest_first, "K": components,
    "P": push, "N": skip, "X1": early_exit, "X2": first_neighbour, "Z": skip_identity, "FB": one_pass, "R": halves,
}  # fmt: skip

# Rules under which every superstep has the same result.
EXACT = frozenset({"P", "N", "X1", "X2", "Z", "FB", "R"})


def granted(fact: LoopFacts, directed: bool = False) -> tuple[str, ...]:
    """Return the rules of WAYS that are granted to a loop according to its facts, for graphs that may be directed."""
    delta = fact.kind == "delta"
    one_buffer = not fact.any_order and all(v.granted and not v.marks for v in fact.fuses) and \
        all(v.granted for v in fact.buffers.values())
    k = fact.copied
    rules = {
        "A": fact.any_order and not delta, "A'": fact.any_order and delta, "S": fact.single_assignment.granted,
        "O": fact.priority.granted and not delta and fact.push.granted and len(fact.writes) == 1,
        "O'": fact.priority.granted and delta, "K": k.granted and not (directed and "undirected" in k.marks),
        "P": fact.push.granted, "N": fact.skip, "X1": bool(fact.early_exit.done),
        "X2": fact.early_exit.frontier.granted, "Z": any(g.silencing for g in fact.gathers), "FB": one_buffer,
        "R": bool(fact.gathers) and all(g.replicate.granted for g in fact.gathers),
    }  # fmt: skip
    return tuple(rule for rule, holds in rules.items() if holds)
