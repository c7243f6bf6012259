"""Loops in priority order (rule O) on the CPU give the same bits as supersteps, for every bucket width."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cpu.compare import engine_run, interpreted, same_bits
from tests.reference.cases import Case
from tests.reference.graphs import RefGraph, ref_graphs, to_graph
from tests.sample import sampled
from vlang import BindError, Graph, Program, Result, load
from vlang import compile as compile_text
from vlang.runtime.cpu.crew import launch as cpu
from vlang.runtime.cpu.ways import priority as cpu_priority
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.layouts.order_words import ORDER_GRANT

HOPS = """program hops(source: vertex)
edge weight: int = 1
vertex dist: int = 0 if self == source else inf
require weight >= 0
repeat:
    gather near = min(u.dist + weight for u -> self)
    apply dist = min(dist, near)
"""
BACK = """program back(source: vertex)
edge weight: i64 = 1
vertex left: i64 = 1000 if self == source else -inf
require weight >= 0
repeat:
    gather best = max(u.left - weight for self -> u)
    apply left = max(left, best)
"""
WORST = """program worst()
edge weight: float = 1
vertex bar: float = indegree
repeat:
    gather least = min(max(u.bar, weight) for u -- self if weight != 3)
    apply bar = min(bar, least)
"""
FAR = """program far(source: vertex)
edge weight: float = 1
vertex dist: f64 = 0 if self == source else inf
vertex via: vertex = none
require weight >= 0
repeat:
    gather best = min((u.dist + weight, u) for u -> self)
    where indegree % 7 != 3:
        apply (dist, via) = min((dist, via), best)
"""
TOLL = """program toll(source: vertex)
edge weight: int = 1
vertex fee: int = outdegree % 4
vertex cost: int = 0 if self == source else inf
require weight >= 0
repeat:
    gather near = min(u.cost + abs(u.fee) + weight for u -> self if u.outdegree % 5 != 4)
    apply cost = min(cost, near)
"""
FEWEST = """program fewest(source: vertex)
edge weight: int = 1
vertex cost: int = 0 if self == source else inf
vertex hops: int = 0 if self == source else inf
require weight >= 0
repeat:
    gather best = min((u.cost + weight, u.hops + 1) for u -> self)
    apply (cost, hops) = min((cost, hops), best)
"""
LONGEST = """program longest(source: vertex)
edge weight: int = 1
vertex left: i64 = 1000 if self == source else -inf
vertex hops: i64 = 0
require weight >= 0
repeat:
    gather best = max((u.left - weight, min(u.hops + weight + 1, 3000)) for self -> u)
    apply (left, hops) = max((left, hops), best)
"""
PROGRAMS = {"fewest": FEWEST, "longest": LONGEST, "sssp_tree": None, "far": FAR, "toll": TOLL, "sssp": None,
            "sswp": None, "viterbi": None, "hops": HOPS, "back": BACK, "worst": WORST}
DELTAS = (0.03125, 1.0, 16.0, 2.0**40)
GRAPHS = ("kron:11,weights=1..63", "star:6000,weights=1..63", "grid:40x60,weights=1..63", "path:300,weights=0..5")


@functools.cache
def program(name: str) -> Program:
    """Return a program by name, compiled once."""
    text = PROGRAMS[name]
    return load(name) if text is None else compile_text(text)


def _degrees(out: Adjacency) -> list[int]:
    """Return the out-degree of each vertex."""
    ends = out.offsets.tolist()
    return [b - a for a, b in pairwise(ends)]


@functools.cache
def graph(spec: str, name: str) -> Graph:
    """Return a graph with the edge column that the program `name` reads, built once."""
    read = Graph.read(spec)
    column = program(name).edges[0].name
    if column == "weight":
        return read
    out = read.adjacency("out")
    src = np.repeat(np.arange(read.n), _degrees(out))
    values = out.column("weight").astype(np.float32)
    columns: dict[str, Any] = {column: values / np.float32(64) if column == "chance" else values}
    return Graph.from_edges(src, np.asarray(out.targets), n=read.n, **columns)


def wide(monkeypatch: pytest.MonkeyPatch, delta: float, runs: int | None = None) -> None:
    """Set the bucket width, and the number of runs in the pool."""
    monkeypatch.setattr(cpu_priority, "choose_delta", lambda stage, out: delta)
    if runs is not None:
        monkeypatch.setattr(cpu_priority, "runs_of", lambda n, workers: runs)


def assert_same(want: Result, got: Result, *where: Any) -> None:
    for field in want.fields:
        assert same_bits(np.asarray(want[field]), np.asarray(got[field])), (field, *where)


def by_priority(result: Result) -> bool:
    return {row.mode for row in result.history} == {"priority"}


@pytest.mark.parametrize("spec", GRAPHS)
@pytest.mark.parametrize("name", sampled(PROGRAMS, set(PROGRAMS) - {"sssp_tree", "sswp", "viterbi", "toll"}))
def test_as_in_rounds(name: str, spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = {} if name == "worst" else {"source": 1}
    want = program(name)(graph(spec, name), research={"mode": "pull"}, threads=1, **arguments)
    for delta, threads in zip((*DELTAS, None), (1, 2, 3, 2, 2)):
        if delta is not None:
            wide(monkeypatch, delta)
        got = program(name)(graph(spec, name), threads=threads, research={"schedule": "priority"}, **arguments)
        monkeypatch.undo()
        assert by_priority(got), (name, spec)
        assert got.converged
        assert got.reason == "no vertex is active"
        assert_same(want, got, name, spec, delta, threads)


def test_edges_apart_from_their_values() -> None:
    """Edge values that are not small integers are read from the column, since they cannot be packed into a word with
    the target.
    """
    spec = GRAPHS[0]
    for name in ("sssp", "hops", "worst"):
        arguments = {} if name == "worst" else {"source": 1}
        want = program(name)(graph(spec, name), research={"mode": "pull"}, **arguments)
        unpacked = {"schedule": "priority", "without": "pack"}
        assert_same(want, program(name)(graph(spec, name), research=unpacked, **arguments), name)
    halves = graph(spec, "sssp").adjacency("out").column("weight") / np.float32(2)
    out = graph(spec, "sssp").adjacency("out")
    src = np.repeat(np.arange(len(out.offsets) - 1), _degrees(out))
    half = Graph.from_edges(src, np.asarray(out.targets), n=len(out.offsets) - 1, weight=halves)
    want = program("sssp")(half, source=1, research={"mode": "pull"})
    assert_same(want, program("sssp")(half, source=1, research={"schedule": "priority"}))


@pytest.mark.parametrize("threads", [1, 2])
def test_buckets_are_refined(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buckets that are far too wide or too narrow are refined, as the number of rounds shows."""
    monkeypatch.setattr(cpu, "_SMALL", 0)
    given = graph("grid:100x100,weights=1..63", "sssp")
    want = program("sssp")(given, source=0, research={"mode": "pull"})
    rounds = {}
    for delta in (1.0, 512.0):
        wide(monkeypatch, delta)
        for without in ("", "refine"):
            got = program("sssp")(given, source=0, threads=threads, research={"without": without})
            assert_same(want, got, delta, without)
            rounds[delta, without] = got.rounds
    if threads == 2:
        assert rounds[1.0, ""] < rounds[1.0, "refine"] / 2
    else:  # the number of rounds of two workers depends on timing
        assert rounds[512.0, ""] >= rounds[512.0, "refine"]


@pytest.mark.parametrize("delta", [1.0, 64.0])
def test_vertices_wait_where_there_is_no_room(delta: float, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("sssp", "worst"):
        arguments = {} if name == "worst" else {"source": 1}
        spec = GRAPHS[0]
        want = program(name)(graph(spec, name), research={"mode": "pull"}, **arguments)
        for runs, threads in ((3 * ORDER_GRANT, 1), (5 * ORDER_GRANT, 3)):
            wide(monkeypatch, delta, runs)
            assert_same(want, program(name)(graph(spec, name), threads=threads, **arguments), name, delta, runs)


VALUES = (0.0, 0.5, 1.0, 3.0, 1e-30, 1e30, float("inf"), 0.1)


@settings(max_examples=40, deadline=None)
@given(ref_graphs(), st.data())
def test_as_interpreted(drawn: RefGraph, data: st.DataObject) -> None:
    """Results equal the results of the interpreter on random graphs with random and extreme weights. Even small amounts
    of work use several workers.
    """
    if drawn.n == 0:
        return
    name = data.draw(st.sampled_from(["sssp", "sswp", "hops", "fewest", "longest"]))
    whole = name in ("hops", "fewest", "longest")
    small = (0, 0, 1, 7, 1000, 2**31 - 2) if whole else VALUES
    choice = np.array(data.draw(st.lists(st.sampled_from(small), min_size=11, max_size=11)),
                      np.int32 if whole else np.float32)
    low, high = np.minimum(drawn.src, drawn.dst), np.maximum(drawn.src, drawn.dst)
    column = choice[(31 * low + 17 * high) % 11]  # the same in both directions
    names = {"sswp": "bandwidth"}
    given_graph = RefGraph(drawn.n, drawn.src, drawn.dst, {names.get(name, "weight"): column}, drawn.directed)
    case = Case(given_graph, {"source": data.draw(st.integers(0, drawn.n - 1))})
    want = interpreted(program(name), case)
    delta, threads = data.draw(st.sampled_from(DELTAS)), data.draw(st.integers(1, 3))
    with pytest.MonkeyPatch.context() as patched:
        wide(patched, delta)
        patched.setattr(cpu, "_SMALL", 0)
        got = engine_run(program(name), case, to_graph(given_graph), threads=threads, schedule="priority")
    for field, values in want.fields.items():
        assert np.array_equal(np.asarray(values), np.asarray(got[field])), (name, delta, threads)


def test_values_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are right for initial values from the user: several sources, and negative and infinite values."""
    start = np.full(2400, np.inf, np.float32)
    start[[5, 700, 2399]] = -3.5, 2.25, -np.inf
    spec = GRAPHS[2]
    run = functools.partial(program("sssp"), graph(spec, "sssp"), source=1)
    assert_same(run(dist=start, research={"mode": "pull"}), run(dist=start))
    start[2399] = 1e30
    for delta in DELTAS:
        wide(monkeypatch, delta)
        assert_same(run(dist=start, research={"mode": "pull"}), run(dist=start), delta)


def test_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that returns to Python between rounds continues where it stopped."""
    monkeypatch.setattr(cpu_priority, "_ROUNDS", 3)
    monkeypatch.setattr(cpu, "_SMALL", 0)
    want = program("sssp")(graph(GRAPHS[2], "sssp"), source=1, research={"mode": "pull"})
    for threads in (1, 3):
        got = program("sssp")(graph(GRAPHS[2], "sssp"), source=1, threads=threads)
        assert_same(want, got, threads)
        assert len(got.history) == got.rounds > 3


def test_workers_decide_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """All workers agree when a window opens and when a call ends, even if some of them are late.

    There are more workers than processors, so that some workers are late.
    """
    monkeypatch.setattr(cpu, "_SMALL", 0)
    given = Graph.read("kron:8,weights=1..63")
    want = program("sssp")(given, source=1, research={"mode": "pull"})
    for number, delta in enumerate((0.015625, 1.0, 4096.0) * 4):
        wide(monkeypatch, delta)
        monkeypatch.setattr(cpu_priority, "_ROUNDS", (1, 2, 4096)[number % 3])
        assert_same(want, program("sssp")(given, source=1, threads=2 + number % 3), number)


@pytest.mark.parametrize("weights", [(5e-324, 1e-310), (1e308, 1.7e308), (1e308, 1e-310), (3e-308, 1e-310, 2.0)])
def test_weights_at_the_ends_of_their_type(weights: tuple[float, ...]) -> None:
    """The width of a bucket and its reciprocal stay finite; else vertices seem unreached, or the choice fails."""
    ends = np.arange(len(weights))
    given, sssp = Graph.from_edges(ends, ends + 1, weight=np.array(weights)), load("sssp", precision=64)
    found = sssp(given, source=0)
    assert by_priority(found)
    assert_same(sssp(given, source=0, research={"mode": "pull"}), found, weights)


def test_negative_weights_are_refused() -> None:
    negative = Graph.from_edges([0, 1], [1, 2], weight=np.array([1.0, -1.0], np.float32))
    with pytest.raises(Exception, match="weight >= 0"):
        program("sssp")(negative, source=0)


def test_what_rules_it_out() -> None:
    sssp, given_graph = program("sssp"), graph(GRAPHS[2], "sssp")
    assert by_priority(sssp(given_graph, source=1))
    assert not by_priority(sssp(given_graph, source=1, research={"schedule": "rounds"}))
    assert not by_priority(sssp(given_graph, source=1, research={"mode": "push"}))
    assert not by_priority(sssp(given_graph, source=1, max_rounds=3))
    assert not by_priority(sssp(Graph.read("grid:9x9"), source=1))
    assert by_priority(sssp(Graph.read("grid:9x9"), source=1, research={"schedule": "priority"}))
    with pytest.raises(BindError, match="max_rounds counts supersteps"):
        sssp(given_graph, source=1, research={"schedule": "priority"}, max_rounds=3)
    with pytest.raises(BindError, match="mode='pull' says how supersteps run"):
        sssp(given_graph, source=1, research={"schedule": "priority", "mode": "pull"})
    with pytest.raises(BindError, match="pagerank cannot run in order of priority: "):
        load("pagerank")(given_graph, research={"schedule": "priority"})


def test_plan_says_which_order() -> None:
    assert "order: by priority where weight differs from edge to edge" in program("sssp").explain("plan")
    assert "order: rounds (every vertex of a frontier has the same value" in load("bfs").explain("plan")
    assert "order: rounds, or by priority on request" in program("sssp").explain("plan", Graph.read("grid:9x9"))


def test_no_kernel_where_rounds_are_as_good() -> None:
    for name in ("bfs", "components", "pagerank"):
        assert all("priority" not in stage.kernels for stage in load(name).plan(frozenset()).stages), name
