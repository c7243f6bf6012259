"""Reductions and messages that are computed inside a pass, block by block, have the same bits as in separate passes."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.cpu.compare import CUTS, assert_as_interpreted, assert_cut_free, engine_run, interpreted, same_bits
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import all_families
from tests.sample import sampled
from vlang import Program, compile, load
from vlang.runtime.plan.plan import BLOCK, LANES, SEGMENT

RANKS = """program a
vertex x: float = 1 / (1 + indegree)
vertex top: float = 0
repeat at most 6 times until max(abs(change(v.x)) for v in vertices) < 1e-9:
    let lost = sum(v.x for v in vertices if v.outdegree == 0)
    let many = count(v.x > 0.25 for v in vertices)
    gather inflow = sum(u.x / u.outdegree for u -> self)
    apply x = (0.25 + lost / N) / (1 + many) + 0.5 * inflow
    apply top = max(top, x)
"""
SPREAD = """program a
vertex x: float = 1 + outdegree % 3
vertex y: int = outdegree
repeat at most 4 times until sum(v.y for v in vertices) > 1000000:
    gather s = sum(u.x * (1 + u.indegree) for u -> self)
    apply x = s
    let a = sum(v.x ** 2 for v in vertices)
    apply x = x / sqrt(1 + a)
    gather m = max(u.y + u.outdegree for self -> u)
    apply y = max(y, m) % 1000
    let b = sum(v.y for v in vertices if v.x > 0)
    apply y = y + (1 if b % 5 > 2 else 0)
"""
COUNTED = """program a
vertex x: float = 1
repeat 5 times:
    let t = sum(v.x * iteration for v in vertices)
    gather g = sum(u.x / (1 + u.outdegree + iteration) for u -> self)
    apply x = 1 + g / t
"""
LOOKING = """program a
vertex x: int = outdegree
vertex far: vertex = none
repeat 5 times:
    let t = sum(v.x for v in vertices)
    gather best = max((u.x, u) for u -> self)
    apply far = best[1]
    apply x = (x + (1 if t % 2 == 0 else 2)) % 97
"""
STILL = """program a
vertex x: float = 1 if indegree == 0 else 0
repeat until sum(abs(change(v.x)) for v in vertices) < 1e-4:
    gather g = sum(u.x / (2 + u.outdegree) for u -> self)
    apply x = 0.5 * g + (1 if indegree == 0 else 0)
"""
TEXTS = {"ranks": RANKS, "spread": SPREAD, "counted": COUNTED, "looking": LOOKING, "still": STILL}


@functools.cache
def program(name: str) -> Program:
    return compile(TEXTS[name])


def _graph(seed: int) -> RefGraph:
    """Return a graph of several blocks of vertices. The last block is short, and hubs are at the start, in the middle
    and at the end of blocks.
    """
    rng = np.random.default_rng(seed)
    n = 3 * BLOCK + LANES + 5
    hubs = [0, BLOCK - 1, BLOCK + 77, n - 1]
    src, dst = rng.integers(0, n, 3 * n), rng.integers(0, n, 3 * n)
    more = [np.full(SEGMENT + 5 + k, hub) for k, hub in enumerate(hubs)]
    others = [rng.integers(0, n, len(one)) for one in more]
    return RefGraph(n, np.concatenate([src, *others]), np.concatenate([dst, *more]), {}, True)


@pytest.mark.parametrize("name", sampled(TEXTS, ["ranks", "counted", "looking"]))
def test_the_same_bits_as_passes_of_their_own(name: str) -> None:
    case = Case(_graph(29))
    found = assert_cut_free(program(name), case)
    plain = engine_run(program(name), case, without="fuse")
    assert plain.rounds == found.rounds
    for field in plain.fields:
        assert same_bits(np.asarray(found[field]), np.asarray(plain[field])), field


@pytest.mark.parametrize("name", sampled(TEXTS, ["ranks", "counted", "looking"]))
def test_as_interpreted(name: str) -> None:
    for _, graph in all_families()[::5]:
        case = Case(graph)
        assert_as_interpreted(program(name), case, engine_run(program(name), case, **CUTS[1]),
                              interpreted(program(name), case))


@pytest.mark.parametrize("seed", [3, 4])
def test_with_tasks_in_random_order(seed: int) -> None:
    case = Case(_graph(seed))
    plain = engine_run(program("ranks"), case, without="fuse")
    chaos = engine_run(program("ranks"), case, chaos=seed)
    np.testing.assert_array_equal(np.asarray(plain["x"]), np.asarray(chaos["x"]))


def test_what_the_plan_says() -> None:
    says = "fused, block by block: "
    plan = load("pagerank").explain("plan")
    assert f"{says}loop0.until, lost, messages of s1" in plan
    assert says not in load("pagerank").explain("plan", research={"without": frozenset({"fuse"})})
    assert says not in load("bfs").explain("plan")
    assert program("counted").explain("plan").count(says) == 0  # both read the number of the next superstep
    spread = program("spread").explain("plan")
    assert f"{says}a, messages of s2\n" in spread
    assert f"{says}b\n" in spread
    assert f"{says}loop0.until, messages of s1\n" in spread


def test_a_value_that_needs_another_waits_for_it() -> None:
    text = ("program a\nvertex x: float = 1\nrepeat 3 times:\n    let s = sum(v.x for v in vertices)\n"
            "    let d = sum((v.x - s) ** 2 for v in vertices)\n    gather g = sum(u.x / s for u -> self)\n"
            "    apply x = g + d\n")
    assert "fused, block by block: s\n" in compile(text).explain("plan")
