"""If a loop runs in the way that a granted rule permits, the result does not change. The test covers every program of
the standard library on 60 graphs each.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection

import numpy as np
import pytest

from tests.reference.cases import MORE, NEAR_TIES, STDLIB, Case, case
from tests.reference.freedoms.chaos import facts_of, run_free
from tests.reference.freedoms.ways import EXACT, WAYS, granted
from tests.reference.graphs import random_graph
from tests.reference.outcome import Outcome
from tests.sample import EXHAUSTIVE
from vlang import stdlib
from vlang.ir.facts import Facts

__all__ = ["GRAPHS", "same"]

GRAPHS = 60
TRIED = GRAPHS if EXHAUSTIVE else 5
_SMALL = 9  # largest number of vertices of a graph
_ROUNDS = 5  # for loops with a tolerance; rules that apply to them change no superstep
_TOL = 1e-4  # the tolerance of the delta loop


@functools.cache
def facts(name: str, precision: int) -> Facts:
    """Return the facts of a program of the standard library."""
    return facts_of(stdlib.source(name), precision)


@functools.cache
def given(name: str, seed: int) -> Case:
    """Return the inputs of a program on a random graph."""
    found = case(name, random_graph(seed, largest=_SMALL), seed)
    assert found is not None
    return found


def outcome(name: str, seed: int, rule: str = "", line: int = 0, precision: int = 32) -> Outcome:
    """Run a program on a random graph, with one loop in the way that a rule permits; return the outcome.

    Args:
        name: The program.
        seed: The seed of the graph and of the random choices.
        rule: The rule; "" for none.
        line: The line of the loop.
        precision: Bits of `int` and `float`.
    """
    at, known = given(name, seed), facts(name, precision)
    params = {**at.params, **({"tol": _TOL} if name == "pagerank_delta" else {})}
    ways = {line: WAYS[rule]} if rule else {}
    bound = _ROUNDS if known.loops and all(loop.kind == "tolerance" for loop in known.loops.values()) else None
    return run_free(stdlib.source(name), known, at.graph, params, at.fields, ways, seed, precision, bound)


@functools.cache
def plain(name: str, seed: int, precision: int) -> Outcome:
    """Run a program on a random graph with every loop as written, and return the outcome."""
    return outcome(name, seed, precision=precision)


def same(a: Outcome, b: Outcome, close: float = 0.0, left_out: Collection[str] = ()) -> bool:
    """Return whether two outcomes agree in all fields except `left_out`. Floats may differ by `close`, relatively and
    absolutely.
    """
    pairs = [(a.fields[name], b.fields[name]) for name in a.fields if name not in left_out]
    pairs += [(np.asarray(a.globals[name]), np.asarray(b.globals[name])) for name in a.globals]
    return all(np.allclose(x, y, rtol=close, atol=close, equal_nan=True) if close and x.dtype.kind == "f"
               else np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in pairs)


def pairs() -> list[tuple[str, int, str]]:
    """Return triples of a program, the line of one of its loops, and a rule that is granted to the loop at least for
    undirected graphs.
    """
    return [(name, fact.loop.span.line, rule) for name in (*STDLIB, *MORE)
            for fact in facts(name, 32).loops.values() for rule in granted(fact)]


@pytest.mark.parametrize(("name", "line", "rule"), pairs())
def test_a_granted_freedom_changes_nothing(name: str, line: int, rule: str) -> None:
    close = 1e-9 if rule == "R" else 100 * _TOL if rule in ("A'", "O'") else 0.0
    precision = 64 if close else 32
    fact = next(f for f in facts(name, precision).loops.values() if f.loop.span.line == line)
    for seed in range(TRIED):
        if rule == "K" and rule not in granted(fact, given(name, seed).graph.directed):
            continue
        want, found = plain(name, seed, precision), outcome(name, seed, rule, line, precision)
        assert same(want, found, close, NEAR_TIES.get(name, ())), (seed, given(name, seed), want, found)
        if rule in EXACT and not close:
            assert [run.active for run in want.loops] == [run.active for run in found.loops], (seed, given(name, seed))


def test_every_rule_is_granted_somewhere() -> None:
    assert set(Counter(rule for _, _, rule in pairs())) == set(WAYS)
