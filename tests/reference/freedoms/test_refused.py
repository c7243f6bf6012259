"""Every condition of a rule is necessary: if a refused rule is forced, the result changes on some of 60 random graphs.

Each program in this file violates one part of the condition of a rule, so that the rule is refused. The test forces the
way of the rule. Section 11 of language.md has the figures of the prototype for whole programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.reference.cases import case
from tests.reference.freedoms.chaos import Way, facts_of, run_free
from tests.reference.freedoms.test_chaos import GRAPHS, same
from tests.reference.freedoms.ways import (
    WAYS,
    any_order,
    components,
    final_first,
    first_neighbour,
    first_of_all,
    granted,
    halves,
    in_place,
    one_pass,
    push,
    resting,
    silencing,
    skip,
    skip_by_superstep,
)
from tests.reference.graph import RefGraph, ref_graph
from tests.reference.graphs import random_graph
from tests.reference.outcome import Outcome
from vlang import stdlib


def small(seed: int) -> RefGraph:
    """Return a random graph."""
    return random_graph(seed, largest=12)


def directed(seed: int) -> RefGraph:
    """Return a random directed graph."""
    return random_graph(seed, True, largest=12)


def downhill(seed: int) -> RefGraph:
    """Return a graph with edges from smaller to larger vertices, some of negative weight. The graph has no cycles, so
    shortest paths exist.
    """
    rng = np.random.default_rng(seed)
    ends = [(int(u), int(v)) for u, v in rng.integers(0, 8, (16, 2)) if u < v]
    return ref_graph(8, ends, True, weight=rng.integers(-4, 9, len(ends)))


class Refused(NamedTuple):
    """A program for which a rule is refused.

    Attributes:
        rule: The rule.
        broken: The part of the condition of the rule that does not hold.
        program: The name or the text of a program.
        way: The way that is forced on the loops of the program.
        graphs: A function from a seed to a random graph.
        supersteps: Whether it suffices that some superstep differs, even if the final result is the same.
    """

    rule: str
    broken: str
    program: str
    way: Way
    graphs: Callable[[int], RefGraph] = small
    supersteps: bool = False  # the final result is the same, but some superstep differs


def text(body: str, fields: str = "vertex x: int = 0 if indegree == 1 else inf") -> str:
    """Return a program of one loop."""
    return f"program p\n{fields}\n{body}"


_FROM_ZERO = "vertex x: int = 0 if self.indegree <= 1 else inf"
_COLOUR = """program p
vertex priority: int = {priority}
vertex color: int = -1
repeat:
    gather ready = all(u.color >= 0 for u -- self if (u.priority{tie}) < (priority{own}))
    where color < 0 and ready:
        gather free = mex(u.color for u -- self)
        apply color = free
"""

_COUNTED = "vertex x: int = degree % 3"
_GROUPS = """repeat:
    gather a = max(count(true for u) for u -- self by k = u.x)
    apply x = max(x, a)
"""
_POINTERS = "vertex c: vertex = min(u for u -- self, default = self)\nvertex x: int = indegree"
_FAR = "repeat 4 times:\n    gather a = {}\n    apply x = max(x, a)\n"

CASES = [
    # A: vertices in any order, in place
    Refused("A", "a tolerance: where it stops depends on the order", "pagerank", in_place),
    Refused("A", "a tolerance", "rwr", in_place),
    Refused("A", "a tolerance", "heat", in_place),
    Refused("A", "counted", "cf", in_place),
    Refused("A", "counted, recomputed", "cdlp", in_place),
    Refused("A", "counted, not idempotent", "soft_reach", in_place),
    Refused("A", "reads `iteration`", "radius", in_place),
    Refused("A", "reads `iteration`", "hyperanf", in_place),
    Refused("A", "the joined value moves against its field",
            text("repeat:\n    gather a = max(u.x for u -> self)\n    apply x = min(x, 5 - a)\n",
                 "vertex x: int = 9 if indegree == 1 else degree"), in_place),
    Refused("A", "not idempotent: a value sent twice counts twice",
            text("repeat 3 times:\n    gather a = sum(u.x for u -> self)\n    apply x += a\n", "vertex x: int = 1"),
            in_place),
    Refused("A", "a `where` that may close again",
            text("repeat:\n    where x > 3:\n        gather a = min(u.x for u -> self)\n        apply x = min(x, a)\n",
                 "vertex x: int = degree"), in_place),
    # A'': a request for updates in place is granted for contractions only
    Refused("A''", "no contraction: the limit depends on the order", "hits", in_place),
    # P: only active vertices send
    Refused("P", "recomputed from all neighbours", "katz", push),
    Refused("P", "joined with more than a plain gather", "kcore", push),
    Refused("P", "no joined gather", "mis", push),
    Refused("P", "not idempotent: a value sent again counts twice",
            text("repeat 3 times:\n    gather a = sum(u.x for u -> self)\n    apply x += a\n", "vertex x: int = 1"),
            push),
    Refused("P", "a contribution depends on the present value of the receiver",
            text("repeat:\n    gather a = min(u.x + 1 for u -> self if y > 2)\n"
                 "    gather b = max(u.y + 1 for u -> self)\n"
                 "    apply x = min(x, a)\n    apply y = min(9, max(y, b))\n",
                 f"{_FROM_ZERO}\nvertex y: int = 0"), push),
    Refused("P", "a `where` reads a gathered value, and only new contributions are pushed",
            text("repeat:\n    gather a = min(u.x for u -> self)\n    where a > 2:\n        apply x = min(x, a)\n",
                 "vertex x: int = degree"), push),
    # N: vertices without a notification are skipped
    Refused("N", "reads `lost`, which changes every superstep", "pagerank", skip),
    Refused("N", "reads `iteration`",
            text("repeat 5 times:\n    gather a = min(u.x for u -> self)\n"
                 "    apply x = x + 1 if iteration == 4 else min(x, a)\n", "vertex x: int = degree"), skip),
    Refused("N", "reads `label` of a vertex that is not a neighbour", "components_jump", skip, supersteps=True),
    Refused("N", "decided by superstep, not by phase",
            text("repeat 2 times:\n    gather a = min(u.x + 1 for u -> self)\n    apply y = a\n"
                 "    gather b = min(u.y + 1 for u -> self)\n    apply x = min(x, b)\n",
                 f"{_FROM_ZERO}\nvertex y: int = inf"), skip_by_superstep),
    # Grouped gathers, and gathers from the vertices that point here
    Refused("A", "gathered by groups of edges", text(_GROUPS, _COUNTED), in_place, supersteps=True),
    Refused("P", "gathered by groups of edges", text(_GROUPS, _COUNTED), push),
    Refused("N", "reads `x` of the vertex that is the key of a group", text(_FAR.format(
        "max(k.x for u -- self by k = u.c, default = 0)"), _POINTERS), skip),
    Refused("N", "gathered from the vertices that point here", text(_FAR.format(
        "max(v.x for v in vertices if v.c == self, default = 0)"), _POINTERS), skip),
    Refused("A", "gathered from the vertices that point here", text(_FAR.format(
        "max(v.x for v in vertices if v.c == self, default = 0)"), _POINTERS), in_place, supersteps=True),
    # X1: a vertex with an absorbing value does not gather
    Refused("X1", "the accumulator is used elsewhere, too",
            text("repeat 4 times:\n    gather a = any(u.x for u -> self)\n    apply x = x or a\n"
                 "    apply y = y + 1 if a else y\n", "vertex x: bool = indegree == 1\nvertex y: int = 0"),
            resting("x", True, "a")),
    Refused("X1", "the value does not absorb",
            text("repeat 4 times:\n    gather a = any(u.x for u -> self)\n    apply x = not a\n",
                 "vertex x: bool = indegree == 1"), resting("x", True, "a")),
    # X2: the first active neighbour decides
    Refused("X2", "not only vertices with a value are active at first", "bfs", first_of_all),
    Refused("X2", "not only vertices with a value are active at first", "closeness", first_of_all),
    Refused("X2", "contributions differ: weights", "sssp", first_neighbour),
    Refused("X2", "starts at two values",
            text("repeat:\n    gather a = min(u.x + 1 for u -> self)\n    apply x = min(x, a)\n",
                 "vertex x: int = 0 if indegree == 1 else 5 if indegree == 2 else inf"), first_neighbour),
    Refused("X2", "an `if` of the gather leaves out edges",
            text("repeat:\n    gather a = min(u.x + 1 for u -> self if weight > 2)\n    apply x = min(x, a)\n",
                 f"edge weight: float = 1\n{_FROM_ZERO}"), first_neighbour),
    # S: each vertex is written once
    Refused("S", "no strict order: ties", _COLOUR.format(priority="degree // 3", tie="", own=""), in_place),
    Refused("S", "not all neighbours before it are final",
            _COLOUR.format(priority="degree", tie=", u", own=", self").replace("all(u.color", "any(u.color")
            .replace("where color < 0 and ready", "where color < 0 and (ready or indegree < 3)"), in_place),
    # O: a value that has been sent is final
    Refused("O", "contributions may come in below their source",
            "program p(source: vertex)\nedge weight: float = 1\nvertex dist: float = 0 if self == source else inf\n"
            "repeat:\n    gather near = min(u.dist + weight for u -> self)\n    apply dist = min(dist, near)\n",
            final_first, downhill),
    # Z: the identity is not sent
    Refused("Z", "the body is not strict",
            text("repeat:\n    gather a = min(min(u.x + 1, 5) for u -> self)\n    apply x = min(x, a)\n", _FROM_ZERO),
            silencing("x")),
    Refused("Z", "the identity of another reduction",
            text("repeat 3 times:\n    gather a = sum(u.x + 1 for u -> self)\n    apply x = a\n", "vertex x: int = 0"),
            silencing("x")),
    # F and B: one pass, one buffer
    Refused("F, B", "the phase reads from neighbours a field that it writes", "heat", one_pass),
    Refused("F, B", "the phase reads from neighbours a field that it writes", "cdlp", one_pass),
    Refused("F, B", "the phase reads from neighbours a field that it writes", "pagerank_rounds", one_pass),
    # K: components
    Refused("K", "values travel one way only",
            text("repeat:\n    gather a = min(u.x for u -> self)\n    apply x = min(x, a)\n",
                 "vertex x: vertex = self"), components, directed),
    Refused("K", "an `if` leaves out edges",
            text("repeat:\n    gather a = min(u.x for u -- self if u.degree > 3)\n    apply x = min(x, a)\n",
                 "vertex x: vertex = self"), components),
    Refused("K", "a `where` leaves out vertices",
            text("repeat:\n    where degree > 3:\n        gather a = min(u.x for u -- self)\n"
                 "        apply x = min(x, a)\n", "vertex x: vertex = self"), components),
    Refused("K", "counted: values travel only so far",
            text("repeat 1 times:\n    gather a = min(u.x for u -- self)\n    apply x = min(x, a)\n",
                 "vertex x: vertex = self"), components),
    Refused("K", "something else than the value travels",
            text("repeat:\n    gather a = min(u.x + 1 for u -- self)\n    apply x = min(x, a)\n",
                 "vertex x: int = degree * 2"), components),
    # R: partial results are combined
    Refused("R", "`mode` needs all contributions at once", "cdlp", halves),
    Refused("R", "`hindex` needs all contributions at once", "kcore", halves),
]


def outcomes(refused: Refused, seed: int) -> tuple[Outcome, Outcome]:
    """Return the outcomes of two runs: with the program as written, and with the way forced on each loop."""
    at = case(refused.program, refused.graphs(seed), seed)
    source = stdlib.source(refused.program) if refused.program in stdlib.names() else refused.program
    params: dict[str, Any] = {"source": 0} if "source: vertex" in source else {}
    assert at is not None
    facts = facts_of(source)
    ways = {loop.loop.span.line: refused.way for loop in facts.loops.values()}

    def run(chosen: dict[int, Way]) -> Outcome:
        return run_free(source, facts, at.graph, {**params, **at.params}, at.fields, chosen, seed, max_rounds=30)

    return run({}), run(ways)


@pytest.mark.parametrize("refused", CASES, ids=[f"{c.rule}: {c.broken}" for c in CASES])
def test_a_freedom_that_is_refused_makes_a_difference(refused: Refused) -> None:
    close = 1e-2 if refused.rule == "A''" else 0.0
    for seed in range(GRAPHS):
        want, found = outcomes(refused, seed)
        ended = same(want, found, close)
        if not ended or (refused.supersteps and [r.active for r in want.loops] != [r.active for r in found.loops]):
            return
    pytest.fail(f"{refused.rule} is refused for {refused.program}, and changes nothing on {GRAPHS} graphs")


@pytest.mark.parametrize("refused", CASES, ids=[f"{c.rule}: {c.broken}" for c in CASES])
def test_it_is_refused_indeed(refused: Refused) -> None:
    source = stdlib.source(refused.program) if refused.program in stdlib.names() else refused.program
    if refused.way in (first_of_all, skip_by_superstep):
        return  # the engine must not force it here, although the loop allows it
    names = {"F, B": "FB", "A''": "A"}
    for loop in facts_of(source).loops.values():
        rule = names.get(refused.rule, refused.rule)
        if rule == "O":
            assert "final" not in loop.priority.marks
        elif rule == "Z":
            assert "x" not in [name for gather in loop.gathers for name in gather.silencing]
        elif rule == "X1":
            assert "x" not in loop.early_exit.done
        else:
            assert rule not in granted(loop, directed=True)


def test_every_rule_has_a_refusal() -> None:
    rules = {part for refused in CASES for part in refused.rule.split(", ")}
    assert {rule.rstrip("'") for rule in WAYS} - {"FB"} | {"F", "B", "A''"} == rules


def test_ways_that_are_granted_change_nothing_in_the_same_texts() -> None:
    """If one of these programs is changed so that it meets the condition, the results are the same."""
    mended = _COLOUR.format(priority="degree // 3", tie=", u", own=", self")
    facts = facts_of(mended)
    for seed in range(20):
        graph = small(seed)
        want = run_free(mended, facts, graph, {}, {}, {}, seed)
        for way in (in_place, any_order):
            assert same(want, run_free(mended, facts, graph, {}, {}, {4: way}, seed)), (seed, graph)
