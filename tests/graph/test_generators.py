"""Generators: the edges that they draw, independence of the number of threads, and messages about wrong names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.graph import Graph


def to_networkx(graph: Graph) -> Any:
    made = (nx.MultiDiGraph if graph.directed else nx.MultiGraph)()
    made.add_nodes_from(range(graph.n))
    edges = graph.edges()
    made.add_edges_from(zip(edges.src.tolist(), edges.dst.tolist()))
    return made


def test_karate_is_networkx_karate() -> None:
    graph = Graph.read("karate")
    assert (graph.n, graph.m, graph.directed) == (34, 156, False)
    assert (graph.label(0), graph.label(33), graph.find("34")) == (1, 34, 33)
    expected = nx.karate_club_graph()
    assert set(nx.Graph(to_networkx(graph)).edges()) == {(min(e), max(e)) for e in expected.edges()}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("grid:3x4", nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 4))), ("grid:1x1", nx.empty_graph(1)),
        ("grid:0x5", nx.empty_graph(0)), ("path:5", nx.path_graph(5, create_using=nx.DiGraph)),
        ("path:1", nx.empty_graph(1, create_using=nx.DiGraph)), ("path:0", nx.empty_graph(0, create_using=nx.DiGraph)),
        ("path:4,directed=false", nx.path_graph(4)), ("star:6", nx.star_graph(5)), ("star:1", nx.empty_graph(1)),
        ("complete:6", nx.complete_graph(6)), ("complete:1", nx.empty_graph(1)), ("complete:0", nx.empty_graph(0)),
        ("complete:5,directed=true", nx.complete_graph(5, create_using=nx.DiGraph)),
    ],
)  # fmt: skip
def test_regular_graphs(spec: str, expected: Any) -> None:
    found = to_networkx(Graph.read(spec))
    assert found.is_directed() == expected.is_directed()
    assert sorted(found.nodes()) == sorted(expected.nodes())
    ends = [sorted(tuple(e) if found.is_directed() else tuple(sorted(e)) for e in g.edges()) for g in (found, expected)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    "spec", ["kron:12", "rmat:12,8,seed=5", "uniform:12,seed=18446744073709551615", "kron:1", "kron:0,3"]
)
def test_threads_change_nothing(spec: str) -> None:
    made = [Graph.read(spec, threads=threads).adjacency("in") for threads in (1, 2, 7)]
    for other in made[1:]:
        np.testing.assert_array_equal(other.offsets, made[0].offsets)
        np.testing.assert_array_equal(other.targets, made[0].targets)


def test_known_draws() -> None:
    """Generated edges never change, since published results name only the seed."""
    edges = Graph.read("uniform:8,1").edges()
    expected = []
    for e in range(256):
        z = (e + 0x632BE59BD9B4E019) * 0x9E3779B97F4A7C15 % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        z ^= z >> 31
        expected.append(tuple(sorted(((z >> 32) % 256, z % 256))))
    assert sorted(zip(edges.src.tolist(), edges.dst.tolist())) == sorted(expected)


def test_kronecker_is_skewed_as_its_probabilities_say() -> None:
    """Without scrambled labels, at each level 3/4 of the endpoints are in the more likely half of the vertices."""
    graph = Graph.read("rmat:14")
    assert (graph.n, graph.m) == (2**14, 16 * 2**14)
    top = np.sort(graph.out_degree)[::-1].cumsum()
    # The expected share of the 2^13 likeliest of 2^14 rows is at least .76, as each level draws with .76.
    assert top[2**13 - 1] / graph.m > 0.9
    first = 0.76**14 * graph.m
    assert 0.7 * first < graph.out_degree.max() < 1.3 * first
    assert Graph.read("rmat:14,seed=2").out_degree.tolist() != graph.out_degree.tolist()


def test_uniform_is_uniform() -> None:
    graph = Graph.read("uniform:12,64,directed=true")
    assert graph.m == 64 * 4096
    for degrees in (graph.in_degree, graph.out_degree):
        assert abs(float(degrees.var()) / 64 - 1) < 0.1


def test_scrambled_labels_are_all_different() -> None:
    """The scrambling of labels is a bijection: all 2^k vertices of a dense graph occur."""
    assert (Graph.read("kron:5,2000").degree > 0).all()


def test_weights_by_rule() -> None:
    graph = Graph.read("complete:4,weights=10..12,directed=true")
    out = graph.adjacency("out", ["weight"])
    rows = np.repeat(np.arange(4), 3)
    assert out.column("weight").tolist() == (10 + (31 * rows + 17 * out.targets.astype(int)) % 3).tolist()
    assert set(Graph.read("karate:weights=7").adjacency("in").column("weight").tolist()) == {7}
    assert Graph.read("path:3", weights="2..2").adjacency("in").column("weight").tolist() == [2, 2]


def test_what_is_kept_is_said() -> None:
    graph = Graph.read("kron:4,64")
    assert graph.notes == (
        "Kronecker graph (a .57 b .19 c .19 d .05, labels scrambled): 64 edges drawn for each of 16 vertices, seed 1.",
        "Self-loops and parallel edges kept.",
        f"Stored: undirected, 16 vertices, {graph.m:,} edges, each one counted in both directions.",
    )
    simple = graph.thinned(self_loops="drop", parallel="drop")
    assert simple.m <= 16 * 15
    assert simple.notes[1].endswith("self-loops dropped.")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("kronn:20", "kronn:20: there is no file of that name, and no generator 'kronn'; did you mean kron:SCALE"),
        ("kronn:20", "; known are kron:SCALE.*, karate$"),
        ("torus:9", "and no generator 'torus'; known are"),
        ("kron", r"kron: write kron:SCALE\[,EDGES\]"),
        ("kron:", r"kron:: write kron:SCALE\[,EDGES\]"),
        ("kron:x", "the scale must be an integer from 0 to 31, not 'x'"),
        ("kron:32", "the scale must be an integer from 0 to 31, not '32'"),
        ("kron:4,-1", "the edges a vertex must be an integer from 0 to"),
        ("kron:4,5,6", r"kron:4,5,6: write kron:SCALE\[,EDGES\]"),
        ("kron:4,sed=3", "no option 'sed'; did you mean seed\\?; known are directed, weights, seed"),
        ("path:4,seed=3", "no option 'seed'; known are directed, weights"),
        ("path:-4", "the number of vertices must be an integer from 0 to 4294967294, not '-4'"),
        ("path:4294967295", "the number of vertices must be an integer from 0 to 4294967294"),
        ("grid:10", "write grid:ROWSxCOLUMNS"),
        ("grid:100000x100000", "at most 4294967294 vertices"),
        ("complete:1000000", "499999500000 edges are too many"),
        ("path:4,weights=a", r"weights=a: write LO\.\.HI or one integer"),
        ("path:4,weights=9..1", r"weights 9\.\.1: the first must not be larger than the second"),
        ("path:4,directed=maybe", "directed=maybe: write true or false"),
        ("karate:3", "karate:3: write karate"),
        ("karate:directed=true", "karate is undirected"),
    ],
)
def test_a_bad_name_is_explained(spec: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.read(spec)


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Graph.from_edges([0], [1]).save("path:9")
    assert Graph.read("path:9").m == 1


def test_a_word_that_is_neither_file_nor_generator() -> None:
    with pytest.raises(DiskError, match="karat: there is no such file, and no generator 'karat'; did you mean karate"):
        Graph.read("karat")


def test_rule_for_a_generator_only() -> None:
    with pytest.raises(GraphError, match=r"weights='cost': for path:3 write LO\.\.HI"):
        Graph.read("path:3", weights="cost")
    with pytest.raises(GraphError, match=r"weights='1\.\.x': write LO\.\.HI with two integers"):
        Graph.read("path:3", weights="1..x")


def test_networkx_graphs() -> None:
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph):
        given = kind([(3, 5, {"n": 1}), (5, 3, {"n": 2}), (5, 5, {"n": 3})])
        given.add_node(99)
        graph = Graph.from_networkx(given)
        assert graph.ids.values.tolist() == [3, 5, 99]
        assert graph.directed == given.is_directed()
        assert len(graph.edges().src) == given.number_of_edges()
        assert sorted(graph.edges().columns["n"].tolist()) == sorted(n for _, _, n in given.edges(data="n"))


def test_networkx_ids_and_attributes() -> None:
    given = nx.Graph()
    given.add_edge((0, 1), "b", weight=2, colour="red", cost=3)
    given.add_edge("b", 7)
    graph = Graph.from_networkx(given, name="mine")
    assert graph.ids.values.tolist() == ["(0, 1)", "7", "b"]
    assert sorted(graph.edges().columns["weight"].tolist()) == [1, 2]
    assert "The ids are the texts of the nodes, which are of type int, str, tuple." in graph.notes
    assert "Weight is 1 on 1 edge that has none." in graph.notes
    assert "Edge attribute 'colour' is not a number and is left out." in graph.notes
    assert "Edge attribute 'cost' is missing on 1 edge and is left out." in graph.notes
    with pytest.raises(GraphError, match="the nodes 1 and '1' have the same text"):
        Graph.from_networkx(nx.Graph([(1, "1")]))
    with pytest.raises(GraphError, match="a NetworkX graph is needed, not int"):
        Graph.from_networkx(3)
    assert Graph.from_networkx(nx.empty_graph(0)).n == 0


def test_importing_loads_nothing_heavy() -> None:
    code = (
        "import sys, vlang.runtime.graph.graph, vlang.runtime.graph.generators\n"
        "import vlang.runtime.graph.formats.npz_arrays\n"
        "print([m for m in ('numba', 'llvmlite', 'scipy', 'networkx') if m in sys.modules])"
    )
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert run.stdout.strip() == "[]"
