"""Optimisations are switched off one by one: the plan shows that the optimisation is off, and results do not change.

For sweeps whose messages come from one level, results do not change either.
"""

from __future__ import annotations

import functools

import pytest

from tests.cpu.compare import CUTS, assert_as_interpreted, assert_cut_free, engine_run, interpreted
from tests.reference.cases import Case
from tests.reference.graphs import all_families, family, ref_graph
from tests.sample import EXHAUSTIVE
from vlang import Graph, Program, compile, load
from vlang.errors import BindError
from vlang.ir.switches import OPTIMISATIONS

LEVELS = """program a
vertex f: int = inf if outdegree == 0 else outdegree % 4
vertex x: float = 1 + indegree
vertex y: float = 1
vertex z: int = outdegree
for k from 1 to 2:
    sweep f up:
        gather a = sum(x / u.x * u.y for u -> self if u.f == f - 1)
        gather b = max(u.z for self -> u if f - 1 == u.f and u.z > 1)
        apply y = min(y + a, 1000)
        apply z = max(z, min(b, 100)) + k
    sweep f down:
        gather c = min(u.y + u.x for u -- self if u.f == f + 2)
        apply y = min(y, c)
    sweep f up:
        gather e = sum(x * u.y for u -> self if u.f == f - 1 and u.f > 0)
        apply y = min(y + e, 1000)
    sweep f up:
        gather d = sum(u.y for u -> self if u.f == f)
        apply y = min(y + d, 1000)
"""

WEIGHED = ("program a\nedge weight: float = 1\nvertex x: float = 0 if indegree > 1 else inf\n"
           "require weight >= 0\nrepeat:\n    gather a = min(u.x + weight for u -> self)\n    apply x = min(x, a)\n")
PROGRAMS = {
    "hoist": "program a\nvertex x: float = 1\nrepeat 3 times:\n"
             "    gather g = sum(u.x / (1 + u.outdegree) for u -> self)\n    apply x = 1 + g\n",
    "levels": LEVELS,
    "factor": LEVELS,
    "fuse": "program a\nvertex x: float = 1\n"
            "repeat at most 5 times until sum(abs(change(v.x)) for v in vertices) < 0.01:\n"
            "    let t = sum(v.x for v in vertices if v.outdegree > 0)\n"
            "    gather g = sum(u.x / (1 + u.outdegree) for u -> self)\n    apply x = (1 + g) / t\n",
    "merge": "program a\nvertex x: int = outdegree\nrepeat 2 times:\n    gather a = max(u.x for u -> self)\n"
             "    gather b = min(u.x for u -> self)\n    apply x = max(x, a - min(b, 5))\n",
    "narrow": "program a\nvertex x: int = outdegree\nrepeat 2 times:\n    where x > 1:\n"
              "        gather a = sum(u.x for u -> self)\n        apply x = x + a % 3\n",
    "skip": "program a\nvertex x: int = outdegree\nrepeat:\n    gather a = max(u.x for u -> self)\n"
            "    apply x = max(x, a)\n",
    "sums": "program a\nvertex x: int = outdegree\nrepeat:\n"
            "    gather a = sum(change(u.x) for u -> self if u.indegree < 2)\n    apply x += a\n"
            "    activate when change(x) > 0 and x < 99\n",
    "identity": "program a\nvertex x: int = 0 if indegree > 1 else inf\nrepeat:\n"
                "    gather a = min(u.x + 2 for u -> self)\n    apply x = min(x, a)\n",
    "early": "program a\nvertex x: int = 0 if indegree > 1 else inf\nrepeat:\n"
             "    gather a = min(u.x + 1 for u -> self)\n    apply x = min(x, a)\n",
    "copied": "program a\nvertex x: int = outdegree\nrepeat:\n    gather a = min(u.x for u -- self)\n"
              "    apply x = min(x, a)\n",
    "pack": WEIGHED,
    "refine": WEIGHED,
}
GRAPHS = all_families()[::4]


@functools.cache
def program(text: str) -> Program:
    """Return a program of a text, compiled once for all graphs."""
    return compile(text)


def test_every_optimisation_has_a_program() -> None:
    assert set(PROGRAMS) == set(OPTIMISATIONS)


@pytest.mark.parametrize("name", OPTIMISATIONS)
def test_without(name: str) -> None:
    made = program(PROGRAMS[name])
    without = frozenset({name})
    assert made.explain("plan", research={"without": without}) != made.explain("plan")
    for _, graph in GRAPHS:
        case = Case(graph)
        for cut in CUTS[1:4:2] if EXHAUSTIVE else CUTS[1:2]:
            result = engine_run(made, case, without=name, **cut)
            assert_as_interpreted(made, case, result, interpreted(made, case))


def test_sweeps_by_level() -> None:
    made = program(LEVELS)
    assert made.explain("plan").count("own factors") == 1  # the other sum has a later reader
    assert made.explain("plan").count("senders: the vertices of") == 4
    for _, graph in [*GRAPHS, *all_families()[1::4]]:
        case = Case(graph)
        result = assert_cut_free(made, case, CUTS[:3])
        assert_as_interpreted(made, case, result, interpreted(made, case))


def test_a_level_with_hubs() -> None:
    """Results are right if senders and receivers have more edges than a segment holds, in both directions."""
    edges = [(0, k) for k in range(1, 20_000)] + [(k, 0) for k in range(1, 20_000, 3)] + [(k, k + 1) for k in range(99)]
    case = Case(ref_graph(20_000, edges))
    made = program(LEVELS)
    assert_as_interpreted(made, case, assert_cut_free(made, case, CUTS[:3]), interpreted(made, case))


def test_a_sum_of_nothing_is_zero_whatever_the_factor() -> None:
    made = program("program a\nvertex f: int = outdegree\nvertex x: float = inf\nvertex y: float = 1\nsweep f up:\n"
                   "    gather a = sum(x * u.y for u -> self if u.f == f - 7)\n    apply y = a\n")
    assert not engine_run(made, Case(family("cycle")))["y"].any()


@pytest.mark.parametrize("text", [
    "sum(weight * u.y for u -> self if u.f == f - 1)",  # reads an edge field
    "sum(u.y for u -> self if u.f < f)",  # gathers from all lower levels
    "sum(u.y * (1 if u.f == f else 2) for u -> self)",
    "mean(u.y for u -> self if u.f == f - 1, default = 0)",
])
def test_other_sweeps_read_their_neighbours(text: str) -> None:
    made = compile(f"program a\nedge weight: float = 1\nvertex f: int = outdegree\nvertex y: float = 1\nsweep f up:\n"
                   f"    gather a = {text}\n    apply y = a\n")
    assert "senders" not in made.explain("plan")


def test_in_a_where_neighbours_need_not_be_listed() -> None:
    made = compile("program a\nvertex f: int = outdegree\nvertex y: float = 1\nwhere y > 0:\n    sweep f up:\n"
                   "        gather a = sum(u.y for u -> self if u.f == f - 1)\n        apply y = a\n")
    assert "senders" not in made.explain("plan")


@pytest.mark.parametrize(("value", "message"), [
    ("hoits", "without: there is no optimisation 'hoits'; did you mean 'hoist'?; there are hoist, levels, factor, "
              "fuse, merge, narrow, skip, sums, identity, early, copied, pack, refine"),
    (3, "without is names of optimisations, such as \"hoist,merge\", not 3"),
])
def test_wrong_names(value: object, message: str) -> None:
    with pytest.raises(BindError) as error:
        load("degree")(Graph.read("path:3"), research={"without": value})
    assert str(error.value) == message
