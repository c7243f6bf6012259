"""Derived graphs, and conversions to matrices, NetworkX graphs and frames, are compared with NetworkX."""

from __future__ import annotations

import sys
from typing import Any

import networkx as nx
import numpy as np
import pandas
import pytest

import vlang
from vlang.errors import GraphError
from vlang.runtime.graph.graph import Graph

SEED = 20261123


def _drawn(seed: int, directed: bool, texts: bool = False, n: int = 30, m: int = 60) -> Graph:
    """Return a graph with parallel edges, loops, vertices without edges and two columns."""
    rng = np.random.default_rng(seed)
    ids: Any = np.sort(rng.choice(10 * n, n, replace=False))
    ids = np.array([f"v{i:04}" for i in ids], dtype=object) if texts else ids
    src, dst = rng.integers(0, n - 3, (2, m))
    return Graph.from_edges(src, dst, ids=ids, directed=directed, weight=rng.integers(-5, 300, m), cost=rng.random(m))


GRAPHS = [pytest.param(SEED + i, directed, texts, id=f"{SEED + i}-{'di' if directed else ''}graph")
          for i, (directed, texts) in enumerate([(True, False), (False, True), (True, True), (False, False)])]


def _edges(graph: Graph) -> list[tuple[Any, ...]]:
    """Return every stored edge with its columns, by ids."""
    edges, ids = graph.edges(both=True), graph.ids.values
    names = sorted(edges.columns)
    rows = zip(ids[edges.src].tolist(), ids[edges.dst].tolist(), *(edges.columns[name].tolist() for name in names))
    return sorted(rows)


@pytest.mark.parametrize(("seed", "directed", "texts"), GRAPHS)
def test_reverse(seed: int, directed: bool, texts: bool) -> None:
    graph = _drawn(seed, directed, texts)
    for first in ("in", "out"):
        graph.adjacency(first)
        turned = graph.reverse()
        assert _edges(turned) == sorted((v, u, *rest) for u, v, *rest in _edges(graph))
        assert _edges(turned.reverse()) == _edges(graph)
        assert turned.out_degree.tolist() == graph.in_degree.tolist()
    source = graph.ids[0]
    wanted = vlang.compile("program back(s: vertex)\nvertex d: int = 0 if self == s else inf\nrepeat:\n"
                           "    gather n = min(u.d + 1 for self -> u)\n    apply d = min(d, n)\n")(graph, s=source)
    assert vlang.load("bfs")(turned, source=source)["depth"].tolist() == wanted["d"].tolist()


def test_reversed_weights_by_rule_stay_with_their_edges() -> None:
    graph = Graph.read("rmat:6,4,weights=1..9")
    assert _edges(graph.reverse()) == sorted((v, u, w) for u, v, w in _edges(graph))


@pytest.mark.parametrize(("seed", "directed", "texts"), GRAPHS)
def test_subgraph(seed: int, directed: bool, texts: bool) -> None:
    graph = _drawn(seed, directed, texts)
    rng = np.random.default_rng(seed)
    asked = rng.permutation(graph.ids.values)[:12].tolist()
    found = graph.subgraph([*asked, asked[0]])
    assert found.ids.values.tolist() == sorted(asked)
    assert _edges(found) == [edge for edge in _edges(graph) if {edge[0], edge[1]} <= set(asked)]
    assert _edges(graph.subgraph(np.isin(graph.ids.values, asked))) == _edges(found)
    assert found.directed == directed
    assert "Subgraph: 12 of 30 vertices." in found.notes
    assert graph.subgraph([]).n == 0
    assert _edges(graph.subgraph(graph.ids.values)) == _edges(graph)
    result = vlang.load("bfs")(found, source=asked[0])
    reached = nx.single_source_shortest_path_length(graph.to_networkx().subgraph(asked), asked[0])
    assert {v: d for v, d in zip(found.ids.values.tolist(), result["depth"].tolist()) if v in reached} == reached
    chosen = {vertex: vertex in asked for vertex in rng.permutation(graph.ids.values).tolist()}
    for condition in (chosen, pandas.Series(chosen), [chosen[vertex] for vertex in graph.ids]):
        assert _edges(graph.subgraph(condition)) == _edges(found)
    for wrong, message in ((["absent"], "not in the graph"), ("v1", "takes the ids"), (np.ones(3, bool), "shape"),
                           (pandas.Series([True] * 30), "with the default index"),
                           (pandas.DataFrame({"vertex": asked}), "a DataFrame: take one of its columns")):
        if "default" in message and not texts:
            continue  # the ids may be 0, 1, 2, ...
        with pytest.raises(GraphError, match=message):
            graph.subgraph(wrong)


@pytest.mark.parametrize(("seed", "directed", "texts"), GRAPHS)
def test_largest_component(seed: int, directed: bool, texts: bool) -> None:
    for m in (0, 10, 20, 30, 60):
        graph = _drawn(seed + m, directed, texts, m=m)
        groups = nx.connected_components(nx.Graph(graph.to_networkx().to_undirected()))
        largest = min(groups, key=lambda group: (-len(group), min(group)))
        assert set(graph.largest_component().ids.values.tolist()) == largest
        assert _edges(graph.largest_component()) == _edges(graph.subgraph(list(largest)))
    assert Graph.read("path:0").largest_component().n == 0
    assert Graph.read("path:5000").largest_component().n == 5000


@pytest.mark.parametrize(("seed", "directed", "texts"), GRAPHS)
def test_simple(seed: int, directed: bool, texts: bool) -> None:
    graph = _drawn(seed, directed, texts).simple()
    pairs = [edge[:2] for edge in _edges(graph)]
    assert len(pairs) == len(set(pairs))
    assert all(u != v for u, v in pairs)
    assert graph.excess() == (0, 0)


@pytest.mark.parametrize(("seed", "directed", "texts"), GRAPHS)
def test_round_trips(seed: int, directed: bool, texts: bool) -> None:
    graph = _drawn(seed, directed, texts)
    assert _edges(Graph.from_networkx(graph.to_networkx())) == _edges(graph)
    frame = graph.to_pandas()
    again = Graph.from_edges(frame, directed=directed, vertices=graph.ids.values)
    assert _edges(again) == _edges(graph)
    assert again.n == graph.n
    loops = Graph.from_edges([1, 1], [1, 1], directed=directed, weight=[2, 3])
    assert sorted(loops.to_networkx().edges(data="weight")) == [(1, 1, 2), (1, 1, 3)]
    assert isinstance(frame, pandas.DataFrame)
    matrix = graph.to_scipy("cost")
    assert matrix.dtype == np.float64
    dense = np.zeros((graph.n, graph.n))
    edges = graph.edges(both=True)
    np.add.at(dense, (edges.src, edges.dst), edges.columns["cost"])
    np.testing.assert_allclose(matrix.toarray(), dense)
    plain = graph.simple()
    back = Graph.from_scipy(plain.to_scipy("weight"), directed=directed)
    assert [e[2] for e in _edges(back)] == [e[2] for e in sorted(
        (plain.find(u), plain.find(v), w) for u, v, _, w in _edges(plain))]
    assert graph.to_scipy().sum() == graph.m


def test_to_networkx_kinds() -> None:
    for directed in (False, True):
        graph = Graph.from_edges([1, 2], [2, 3], directed=directed)
        assert type(graph.to_networkx()) is (nx.DiGraph if directed else nx.Graph)
        double = Graph.from_edges([1, 1], [2, 2], directed=directed).to_networkx()
        assert type(double) is (nx.MultiDiGraph if directed else nx.MultiGraph)
        assert double.number_of_edges() == 2


def test_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.from_edges([1], [2], weight=[3])
    with pytest.raises(GraphError, match="no edge column 'cost'; there are: weight"):
        graph.to_scipy("cost")
    with pytest.raises(GraphError, match="`source` has the name of an end"):
        Graph.from_edges([1], [2], columns={"source": [3]}).to_pandas()
    for module, method in (("scipy.sparse", "to_scipy"), ("networkx", "to_networkx"), ("pandas", "to_pandas")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(GraphError, match=f"{method} needs {module.partition('.')[0]}: pip install"):
            getattr(graph, method)()
