"""The random models ba, er, ws, sbm and rgg give simple graphs of the given size, with the theoretical degrees. The
same seed gives the same edges.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from vlang.errors import GraphError
from vlang.runtime.graph import random_graphs
from vlang.runtime.graph.generators import GENERATORS
from vlang.runtime.graph.graph import Graph

SPECS = ("er:300,1000", "er:300,0.02", "er:50,2000,directed=true", "er:40,700", "ba:300,4", "ba:9,8", "ba:200,150",
         "ba:2,1",
         "ws:300,6,0.3", "ws:300,6,1", "ws:10,8,0.5", "ws:7,6,0.5", "ws:300,4,0", "sbm:3x50,0.3,0.02", "sbm:5x1,0.5,1",
         "rgg:400,0.08", "rgg:30,2", "rgg:30,0", "er:0,0", "er:1,0", "ws:0,0,0.5", "sbm:0x5,0.5,0.5", "ba:0,1",
         "ba:1,1", "rgg:0,0.5")  # fmt: skip


@pytest.mark.parametrize("spec", SPECS)
def test_graphs_are_simple_and_the_same_for_a_seed(spec: str) -> None:
    graph, again = Graph.read(f"{spec},seed=5"), Graph.read(f"{spec},seed=5", threads=3)
    assert graph.excess() == (0, 0)
    np.testing.assert_array_equal(graph.edges().src, again.edges().src)
    np.testing.assert_array_equal(graph.edges().dst, again.edges().dst)
    assert "seed 5." in graph.notes[0]
    assert graph.directed == ("directed" in spec)
    if 100 < graph.m < graph.n * (graph.n - 1) and "ws:300,4,0" not in spec:
        other = Graph.read(f"{spec},seed=6").edges()
        assert graph.edges().src.tolist() != other.src.tolist() or graph.edges().dst.tolist() != other.dst.tolist()


def test_numbers_of_edges() -> None:
    assert Graph.read("er:300,1000").m == 2000
    assert Graph.read("er:50,2000,directed=true").m == 2000
    assert Graph.read("ba:300,4").m == 2 * 4 * 296
    assert Graph.read("ws:300,6,0.3").m == 300 * 6
    assert Graph.read("er:40,780").m == 40 * 39
    assert Graph.read("rgg:30,2").m == 30 * 29
    assert Graph.read("sbm:5x1,0.5,1").m == 20


def test_every_pair_has_one_number() -> None:
    for n in range(8):
        for directed, count in ((False, n * (n - 1) // 2), (True, n * (n - 1))):
            src, dst = random_graphs.pairs_of(np.arange(count), n, directed)
            wanted = itertools.permutations(range(n), 2) if directed else itertools.combinations(range(n), 2)
            assert sorted(zip(src.tolist(), dst.tolist())) == sorted(wanted)


def test_samples_are_even() -> None:
    """If 6 or 15 of 20 numbers are sampled, all numbers are drawn equally often, within 5 standard deviations."""
    for count in (6, 15):
        seen = np.zeros(20)
        for seed in range(2000):
            sample = random_graphs.sampled(seed, 0, 20, count)
            assert len(set(sample.tolist())) == count
            seen[sample] += 1
        share = count / 20
        assert np.abs(seen - 2000 * share).max() < 5 * math.sqrt(2000 * share * (1 - share))


def test_degrees_of_erdos_renyi_are_binomial() -> None:
    n, p = 20_000, 0.0005
    degree = Graph.read(f"er:{n},{p},seed=3").out_degree.astype(float)
    mean, variance = (n - 1) * p, (n - 1) * p * (1 - p)
    assert degree.mean() == pytest.approx(mean, abs=5 * math.sqrt(2 * variance / n))
    assert degree.var() == pytest.approx(variance, rel=0.06)


def test_degrees_of_barabasi_albert_fall_with_the_cube() -> None:
    """The share of vertices of degree d is 2 k (k + 1) / (d (d + 1) (d + 2)), by Bollobas and others, 2001."""
    n, k = 50_000, 3
    graph = Graph.read(f"ba:{n},{k},seed=3")
    degree = graph.out_degree
    assert degree.min() >= 1
    assert (degree[k + 1 :] >= k).all()
    for d in range(k, 12):
        share = 2 * k * (k + 1) / (d * (d + 1) * (d + 2))
        assert (degree == d).mean() == pytest.approx(share, rel=0.1), d
    assert degree.max() > 10 * math.sqrt(k) * k
    assert graph.largest_component().n == n


def test_watts_strogatz_is_between_a_ring_and_a_random_graph() -> None:
    ring, half, random = (Graph.read(f"ws:3000,10,{p},seed=2") for p in ("0", "0.1", "1"))
    wanted = nx.watts_strogatz_graph(3000, 10, 0, seed=1)
    assert {tuple(sorted(e)) for e in wanted.edges()} == {tuple(sorted(e)) for e in ring.to_networkx().edges()}
    clustering = [nx.average_clustering(graph.to_networkx()) for graph in (ring, half, random)]
    assert clustering[0] == pytest.approx(2 / 3)
    assert clustering[1] == pytest.approx(2 / 3 * 0.9**3, rel=0.05)  # A. Barrat, M. Weigt, 2000
    assert clustering[2] < 0.02
    moved = {tuple(sorted(e)) for e in half.to_networkx().edges()} - {tuple(sorted(e)) for e in wanted.edges()}
    assert len(moved) == pytest.approx(1500, abs=5 * math.sqrt(15_000 * 0.09))
    assert random.out_degree.min() >= 5


def test_stochastic_blocks_have_both_densities() -> None:
    size, inside, between = 400, 0.05, 0.01
    edges = Graph.read(f"sbm:3x{size},{inside},{between},seed=4").edges()
    same = int((edges.src // size == edges.dst // size).sum())
    for count, pairs, p in ((same, 3 * size * (size - 1) // 2, inside), (len(edges.src) - same, 3 * size**2, between)):
        assert count == pytest.approx(pairs * p, abs=5 * math.sqrt(pairs * p * (1 - p)))
    blocks = set(zip((edges.src // size).tolist(), (edges.dst // size).tolist()))
    assert {tuple(sorted(pair)) for pair in blocks} == {(i, j) for i in range(3) for j in range(i, 3)}


def test_geometric_graphs_join_exactly_the_near_points() -> None:
    for n, radius in ((200, 0.1), (200, 0.03), (50, 0.5), (10, 1.5), (300, 0.0013)):
        graph = Graph.read(f"rgg:{n},{radius},seed=7")
        x, y = (random_graphs.uniform(7, axis, np.arange(n)) for axis in (0, 1))
        near = (x[:, None] - x) ** 2 + (y[:, None] - y) ** 2 <= radius**2
        wanted = {(i, j) for i, j in zip(*np.nonzero(near)) if i < j}
        edges = graph.edges()
        assert {tuple(sorted(pair)) for pair in zip(edges.src.tolist(), edges.dst.tolist())} == wanted
    degree = Graph.read("rgg:20000,0.02,seed=1").out_degree
    assert degree.mean() == pytest.approx(20_000 * math.pi * 0.02**2, rel=0.05)


@pytest.mark.parametrize(("spec", "message"), [
    ("er:10", "write er:N,EDGES_OR_PROBABILITY"), ("er:10,46", "the number of edges must be an integer from 0 to 45"),
    ("er:10,1.5", "a probability must be a number from 0 to 1, not '1.5'"), ("ba:10,0", "the edges of a new vertex"),
    ("ba:10,10", "the edges of a new vertex"), ("ws:10,3,0.5", "as many neighbours on both sides"),
    ("ws:10,4", "write ws:N"), ("sbm:10,0.5,0.5", "write sbm:BLOCKSxSIZE"), ("sbm:2x3,0.5", "write sbm:"),
    ("rgg:10,x", "the distance must be a number from 0 to 2, not 'x'"), ("ba:10,2,directed=true", "ba is undirected"),
    ("rgg:10,3", "the distance must be"), ("er:1000000000,5", "the number of vertices"), ("er:10,nan", "a probability"),
])  # fmt: skip
def test_messages(spec: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.read(spec)


def test_every_generator_is_documented() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "command.md").read_text(encoding="utf-8")
    assert [one.usage for one in GENERATORS.values() if f"`{one.usage}`" not in text] == []
