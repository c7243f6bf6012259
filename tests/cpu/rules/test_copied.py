"""Under rule K, loops that copy values over a symmetric relation run as a search for connected components. The results
equal the results of supersteps.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import engine_run, interpreted, same_bits
from tests.cpu.rules.copying import CASES, DOMAINS, assert_same, connected, copying, values
from tests.ir.helpers import facts_of
from tests.reference.cases import Case
from tests.reference.graph import ref_graph
from tests.reference.graphs import all_families, to_graph
from tests.sample import sampled
from vlang import Graph, compile, load
from vlang.ir.print import facts_text
from vlang.runtime.engine.trace import Round


@pytest.mark.parametrize(("reduction", "type_"), sampled(CASES, CASES[::2]))
def test_families(reduction: str, type_: str) -> None:
    program = copying(reduction, type_)
    for seed, (name, graph) in enumerate(all_families()):
        if name.endswith("float"):
            continue
        case = Case(graph, {}, {"x": values(type_, graph.n, np.random.default_rng(seed))})
        stored = to_graph(graph)
        direct = engine_run(program, case, stored)
        assert connected(direct), name
        assert (direct.rounds, direct.history[0].active) == (1, 0)
        assert_same(direct, engine_run(program, case, stored, mode="pull"))
        if graph.n:
            want = interpreted(program, case).fields["x"]
            assert np.array_equal(np.asarray(direct["x"]), want), name


@pytest.mark.parametrize("domain", DOMAINS)
def test_domains(domain: str) -> None:
    """With a gather over one direction, rule K applies only to undirected graphs. Whether the graph is undirected is
    known at run time.
    """
    program = copying("max", "i32", domain)
    for seed, (name, graph) in enumerate(all_families()):
        case = Case(graph, {}, {"x": values("i32", graph.n, np.random.default_rng(seed))})
        result = engine_run(program, case)
        assert connected(result) == (domain == "u -- self" or not graph.directed), name
        assert_same(result, engine_run(program, case, mode="pull"))


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_and_threads(seed: int) -> None:
    """Results are right on graphs with many components of all sizes that are large enough for several threads."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    n = 40_000
    count = int(n * (0.3, 0.55, 1.2, 4)[seed])
    hub = rng.integers(n)
    src, dst = rng.integers(0, n, count), np.where(rng.random(count) < 0.05, hub, rng.integers(0, n, count))
    for directed in (True, False):
        graph = Graph.from_edges(src, dst, n=n, directed=directed)
        for reduction, type_ in (("min", "vertex"), ("max", "f64"), ("bitor", "u16"), ("any", "bool"), ("min", "i8")):
            program = copying(reduction, type_)
            x = values(type_, n, rng)
            first = program(graph, x=x, threads=1)
            assert connected(first)
            assert_same(first, program(graph, x=x, research={"mode": "pull"}))
            for threads in (2, 3):
                other = program(graph, x=x, threads=threads)
                assert_same(first, other)
                assert first.history[0].edges == other.history[0].edges


@pytest.mark.parametrize("spec", ["path:50000", "star:50000", "grid:200x300", "kron:14", "uniform:14"])
def test_shapes(spec: str) -> None:
    graph = Graph.read(spec)
    program = load("components")
    for threads in (1, 3):
        result = program(graph, threads=threads)
        assert connected(result)
        if spec != "path:50000":  # a path takes as many supersteps as it has edges
            pulled = program(graph, research={"mode": "pull"})
            assert same_bits(np.asarray(result["label"]), np.asarray(pulled["label"]))
        else:
            assert not np.any(np.asarray(result["label"]))


@pytest.mark.parametrize("type_", ["vertex", "u32"])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_vertices(seed: int, type_: str) -> None:
    """If every value is the number of its vertex, the forest of the components is the result. Values that are not
    vertex numbers are joined as an ordinary field.

    Edges are listed in both directions, several times, and as loops. The first two entries of a row are therefore
    seldom two different neighbours.
    """
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    n = 30_000
    count = int(n * (0.4, 0.8, 2)[seed])
    src, dst = rng.integers(0, n, count), rng.integers(0, n, count)
    dst[rng.random(count) < 0.1] = src[0]
    loops = rng.integers(0, n, n // 10)
    ends = np.concatenate([src, dst, src, loops]), np.concatenate([dst, src, dst, loops])
    program = copying("min", type_)
    numbers = np.arange(n, dtype=np.int64 if type_ == "vertex" else np.uint32)
    others = numbers.copy()
    others[int(rng.integers(n))] = numbers[int(rng.integers(n // 2))]
    for directed in (True, False):
        graph = Graph.from_edges(*ends, n=n, directed=directed)
        for x in (numbers, others):
            kept = x.copy()
            want = program(graph, x=x, research={"mode": "pull"})
            for threads in (1, 2, 3):
                result = program(graph, x=x, threads=threads)
                assert connected(result)
                assert_same(result, want)
            assert np.array_equal(x, kept)


@pytest.mark.parametrize("bad", [np.nan, -0.0])
def test_floats_whose_order_matters(bad: float) -> None:
    """Given two zeros, or a NaN and a number, min keeps the first value. A loop over floats with two zeros or a NaN
    therefore runs by supersteps.
    """
    graph = to_graph(ref_graph(4, [(0, 1), (1, 2)], False))
    x = np.array([1, bad, 0, 3], np.float32)
    for reduction in ("min", "max"):
        program = copying(reduction, "f32")
        if bad == 0:
            result = program(graph, x=x)
            assert not connected(result)
            assert_same(result, program(graph, x=x, research={"mode": "pull"}))
        else:
            result = program(graph, x=x, max_rounds=5)
            assert not connected(program(graph, x=x))
            assert not connected(result)
        assert connected(program(graph, x=np.array([1, 0, 0, 3], np.float32)))


def test_supersteps_on_request() -> None:
    graph = Graph.read("grid:9x9")
    program = load("components")
    limited: Any = program(graph, max_rounds=3)
    assert (limited.rounds, limited.converged) == (3, False)
    for mode in ("pull", "notify-pull"):
        assert mode in {row.mode for row in program(graph, research={"mode": mode}).history}
    seen: list[Round] = []
    program(graph, progress=seen.append)
    assert [(row.mode, row.round, row.active) for row in seen] == [("connect", 1, 0)]


def test_user_ids() -> None:
    """The label of a component is its smallest user id, by the order of the ids."""
    result = load("components")(Graph.from_edges([30, 7, 900], [12, 12, 41]))
    assert connected(result)
    labels = {int(v): int(label) for v, label in zip(result.ids, result["label"])}
    assert labels == {7: 7, 12: 7, 30: 7, 41: 41, 900: 41}


INSIDE = """program inside
vertex x: int = degree
vertex rounds: int = 0
for k from 1 to 3:
    vertex best: int = (x * 7 + self_part) % 11
    repeat:
        gather a = max(u.best for u -- self)
        apply  best = max(best, a)
    apply x = x + best
repeat at most 4 times:
    gather a = max(u.x for u -- self)
    apply  x = max(x, a + 1)
    vertex low: int = x
    repeat:
        gather b = min(u.low for u -- self)
        apply  low = min(low, b)
    apply rounds = rounds + low
"""


def test_inside_other_loops() -> None:
    program = compile(INSIDE.replace("self_part", "k"))
    for name, graph in all_families():
        case = Case(graph)
        result, other = engine_run(program, case), engine_run(program, case, mode="pull")
        assert sum(row.mode == "connect" for row in result.history) >= 3, name
        for field in ("x", "rounds"):
            assert same_bits(np.asarray(result[field]), np.asarray(other[field])), name
            assert np.array_equal(np.asarray(result[field]), interpreted(program, case).fields[field]), name


def test_the_fact_is_shown() -> None:
    text = re.sub(r"\s+", " ", facts_text(facts_of(load("components").source)))
    assert "K copied values yes: `label` only copies values of neighbours, and every edge is followed both ways" in text
