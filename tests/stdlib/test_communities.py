"""Louvain levels of examples/communities, and graphs of groups."""

from __future__ import annotations

import runpy
from pathlib import Path

import networkx as nx
import numpy as np
import pandas
import pytest

from tests.sample import sampled
from vlang import Graph, GraphError, load

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "communities"
LOUVAIN = runpy.run_path(str(FOLDER / "louvain.py"))["louvain"]

NETWORKS = {
    "karate": nx.karate_club_graph, "miserables": nx.les_miserables_graph, "florentine": nx.florentine_families_graph,
    "planted": lambda: nx.planted_partition_graph(20, 30, 0.4, 0.02, seed=3),
    "power": lambda: nx.powerlaw_cluster_graph(2000, 4, 0.3, seed=5),
    "caveman": lambda: nx.relaxed_caveman_graph(60, 12, 0.2, seed=2),
}


@pytest.mark.parametrize("name", sampled(NETWORKS, ["karate", "planted", "caveman"]))
def test_louvain_is_as_good_as_networkx(name: str) -> None:
    """Louvain reaches the modularity of NetworkX. The test compares the best of three seeds of each implementation."""
    made = nx.convert_node_labels_to_integers(NETWORKS[name]())
    graph = Graph.from_networkx(made)
    found = [LOUVAIN(graph, seed) for seed in (1, 2, 3)]
    community, modularity = max(found, key=lambda one: one[1])
    groups = [{v for v, c in zip(made, community.tolist(), strict=True) if c == k} for k in np.unique(community)]
    assert modularity == pytest.approx(nx.community.modularity(made, groups), abs=1e-6)
    theirs = max(nx.community.modularity(made, nx.community.louvain_communities(made, seed=s)) for s in range(3))
    assert modularity > 0.99 * theirs, (modularity, theirs)
    assert np.array_equal(found[0][0], LOUVAIN(graph)[0])


def test_a_weight_outvotes_numbers() -> None:
    graph = Graph.from_edges([0, 0, 0], [1, 2, 3], directed=False, weight=np.array([1.0, 1.0, 5.0], np.float32))
    assert np.asarray(load("weighted_cdlp")(graph, iterations=1)["label"]).tolist() == [3, 0, 0, 0]


@pytest.mark.parametrize("directed", [True, False])
def test_the_graph_of_groups(directed: bool) -> None:
    """Every sum of weights between two groups equals a sum over the edge list."""
    rng = np.random.default_rng(11)
    src, dst = rng.integers(0, 40, (2, 300))
    weight = rng.integers(1, 9, 300)
    names = np.array([f"g{k}" for k in rng.integers(0, 7, 40)], dtype=object)
    graph = Graph.from_edges(src, dst, vertices=40, directed=directed, weight=weight, cost=weight)
    found = graph.contracted(names)
    want: dict[tuple[str, str], float] = {}
    for a, b, w in zip(names[src], names[dst], weight, strict=True):
        pair = (a, b) if directed else (min(a, b), max(a, b))
        want[pair] = want.get(pair, 0) + float(w)
    edges, ids = found.edges(), found.ids.values
    assert {(ids[a], ids[b]): w for a, b, w in zip(edges.src, edges.dst, edges.columns["weight"], strict=True)} == want
    assert len(edges.src) == len(want)
    assert list(found.columns) == ["weight"]
    assert found.directed == directed
    plain = Graph.from_edges([0, 0, 1], [1, 2, 2], directed=directed).contracted([5, 5, 9])
    assert plain.edges().columns["weight"].tolist() == [1, 2]
    endless = Graph.from_edges([0, 1], [2, 2], directed=directed, weight=[np.inf, -np.inf]).contracted([5, 5, 9])
    assert np.isnan(endless.edges().columns["weight"]).all()
    assert Graph.from_edges([], [], vertices=0).contracted([]).n == 0
    assert Graph.from_edges([], [], vertices=3).contracted([1, 1, 2]).n == 2


def test_groups_that_cannot_be() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], kind=np.array(["a", "b"], dtype=object))
    with pytest.raises(GraphError, match=r"an array of shape \(3,\), not \(2,\)"):
        graph.contracted([1, 2])
    with pytest.raises(GraphError, match="these are floats: round them"):
        graph.contracted([0.5, 1, 2])
    with pytest.raises(GraphError, match="contracted adds up numbers"):
        graph.contracted([0, 0, 1], weight="kind")
    with pytest.raises(GraphError, match="`groups` has no value for 1 vertex of the graph: 2"):
        graph.contracted({0: 5, 1: 5})


def test_groups_with_labels() -> None:
    graph = Graph.from_edges([1, 2], [2, 3], length=[4, 5])
    for groups in ({3: "b", 1: "a", 2: "a"}, pandas.Series(["b", "a", "a"], index=[3, 1, 2])):
        found = graph.contracted(groups, weight="length")
        assert found.to_pandas().values.tolist() == [["a", "a", 4.0], ["a", "b", 5.0]]
    assert "`weight` is the number of edges" in graph.contracted(["a", "a", "b"]).notes[0]
