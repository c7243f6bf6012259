"""Passes that push on the CPU have the same bits, rounds and active vertices as passes that pull."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.cpu.compare import same_bits
from tests.sample import sampled
from vlang import Graph, Program, load
from vlang import compile as compile_text

HEAVY = """program heavy(source: vertex)
edge weight: float = 1
vertex reached: bool = self == source
repeat:
    gather some = any(u.reached for u -> self if weight > 10)
    apply reached = reached or some
"""
BITS = """program bits()
edge weight: float = 1
vertex seen: u8 = 16 if indegree > 3 else 1
repeat:
    gather more = bitor(u.seen for self -> u if weight > 10)
    apply seen = seen | more
"""
HIGHEST = """program highest()
edge weight: float = 1
vertex label: vertex = self
repeat:
    gather high = max(u.label for u -- self if weight > 10)
    apply label = max(label, high)
"""
SPREAD = """program spread(source: vertex)
edge weight: float = 1
vertex toll: float = outdegree % 7
vertex cost: float = 0 if self == source else inf
vertex bias: float = 1 + outdegree % 3
repeat:
    where indegree % 5 != 2:
        gather near = min(u.cost + u.toll / u.bias + weight for u -> self if u.outdegree % 4 != 3)
        apply cost = min(cost, near)
"""
SMALL = """program small()
edge weight: float = 1
vertex rank: float = indegree % 50
vertex tiny: i8 = 3 if outdegree % 3 == 0 else 0 - 5
vertex flag: bool = outdegree % 2 == 0
repeat:
    gather best = max((u.rank - weight, u.tiny, u.flag) for u -> self)
    apply (rank, tiny, flag) = max((rank, tiny, flag), best)
"""
LONG = """program long(source: vertex)
edge weight: float = 1
vertex dist: f64 = 0 if self == source else inf
vertex hops: i32 = 0 if self == source else inf
vertex via: vertex = none
repeat:
    gather best = min((u.dist + weight, u.hops + 1, u) for u -> self)
    apply (dist, hops, via) = min((dist, hops, via), best)
"""
APART = """program apart(source: vertex)
edge weight: float = 1
vertex near: int = 0 if self == source else inf
vertex seen: u8 = 1 if self == source else 2
repeat:
    gather a = min(u.near + 1 for u -> self)
    gather b = bitor(u.seen for u -> self if weight > 10)
    where indegree % 3 != 1:
        apply near = min(near, a)
        apply seen = seen | b
"""
HALVES = """program halves(source: vertex)
edge weight: float = 1
vertex dist: f16 = 0 if self == source else inf
repeat:
    gather near = min(u.dist + weight / 3 for u -> self)
    apply dist = min(dist, near)
"""
PROGRAMS = {"halves": HALVES, "sssp_tree": None, "bfs_tree": None,
            "spread": SPREAD, "small": SMALL, "long": LONG, "apart": APART,
            "bfs": None, "sssp": None, "sswp": None, "heavy": HEAVY, "bits": BITS, "highest": HIGHEST}
GRAPHS = ("kron:11,weights=1..63", "star:6000,weights=1..63", "grid:20x30,weights=1..63", "path:300,weights=1..63")
CUTS = (("push", 1), ("push", 3), ("auto", 1), ("auto", 2))


@functools.cache
def program(name: str) -> Program:
    """Return a program by name, compiled once."""
    text = PROGRAMS[name]
    return load(name) if text is None else compile_text(text)


@functools.cache
def graph(spec: str) -> Graph:
    """Return the graph that a generator text describes, built once."""
    return Graph.read(spec)


@pytest.mark.parametrize("spec", GRAPHS)
@pytest.mark.parametrize("name", sampled(PROGRAMS, set(PROGRAMS) - {"bfs_tree", "sswp", "heavy", "highest"}))
def test_as_pulled(name: str, spec: str) -> None:
    given = {"source": 1} if name not in ("bits", "highest", "small") else {}
    want = program(name)(graph(spec), research={"mode": "pull"}, threads=1, **given)
    for mode, threads in CUTS:
        got = program(name)(graph(spec), research={"mode": mode, "schedule": "rounds"}, threads=threads, **given)
        for field in want.fields:
            assert same_bits(np.asarray(want[field]), np.asarray(got[field])), (name, spec, field, mode, threads)
        assert [r.active for r in got.history] == [r.active for r in want.history], (name, spec, mode, threads)
        assert "push" in {r.mode for r in got.history} or mode == "auto", (name, spec)
        assert (got.rounds, got.reason) == (want.rounds, want.reason)


def test_bfs_changes_direction() -> None:
    """While the frontier has most of the edges, unreached vertices scan for active neighbours. A small frontier pushes.
    """
    modes = {r.mode for r in program("bfs")(graph(GRAPHS[0]), source=1).history}
    assert modes == {"push", "early-exit pull"}
    assert {r.mode for r in program("bfs")(graph("path:300,weights=1..63"), source=1).history} == {"push"}


def test_as_many_supersteps_as_asked() -> None:
    for mode in ("push", "auto"):
        got = program("sssp")(graph(GRAPHS[2]), source=1, research={"mode": mode}, max_rounds=5)
        want = program("sssp")(graph(GRAPHS[2]), source=1, research={"mode": "pull"}, max_rounds=5)
        assert same_bits(np.asarray(got["dist"]), np.asarray(want["dist"]))
        assert (got.rounds, got.converged) == (5, False)


def test_given_values_are_no_uniform_frontier() -> None:
    """Initial depths from the user may differ, so that no vertex stops at its first active neighbour."""
    start = np.full(600, np.iinfo(np.int32).max, np.int32)
    start[[3, 400]] = 0, 9
    text = ("program hops()\nvertex depth: int\nrepeat:\n    gather near = min(u.depth + 1 for u -> self)\n"
            "    apply depth = min(depth, near)\n")
    hops = compile_text(text)
    stages = hops.plan(frozenset(), frozenset({"depth"})).stages
    assert all("early" not in stage.kernels for stage in stages)
    got, want = (hops(graph(GRAPHS[2]), depth=start, research={"mode": mode}) for mode in ("auto", "pull"))
    assert same_bits(np.asarray(got["depth"]), np.asarray(want["depth"]))


@pytest.mark.parametrize("apply", [
    "where near > 5:\n        apply x = min(x, near)", "apply x = min(x, near + 1)",
])
def test_more_than_a_joined_gather_pulls(apply: str) -> None:
    text = f"program p()\nvertex x: int = 3\nrepeat:\n    gather near = min(u.x for u -> self)\n    {apply}\n"
    assert all("push" not in stage.kernels for stage in compile_text(text).plan(frozenset()).stages)
