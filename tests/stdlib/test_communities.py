"""The programs of examples/communities: Louvain levels, weighted label propagation, minimum spanning forests."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, case_of, interpreted
from tests.reference.graph import RefGraph
from tests.reference.graphs import all_families
from vlang import Graph, Program, load

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "communities"
FOREST, VOTES = (load(FOLDER / f"{name}.vp") for name in ("boruvka", "weighted_cdlp"))
LOUVAIN = runpy.run_path(str(FOLDER / "louvain.py"))["louvain"]

NETWORKS = {
    "karate": nx.karate_club_graph, "miserables": nx.les_miserables_graph, "florentine": nx.florentine_families_graph,
    "planted": lambda: nx.planted_partition_graph(20, 30, 0.4, 0.02, seed=3),
    "power": lambda: nx.powerlaw_cluster_graph(2000, 4, 0.3, seed=5),
    "caveman": lambda: nx.relaxed_caveman_graph(60, 12, 0.2, seed=2),
}


def _edges(made: nx.Graph) -> tuple[Any, Any, Any]:
    number = {v: i for i, v in enumerate(made)}
    rows = [(number[u], number[v], w) for u, v, w in made.edges(data="weight", default=1.0)]
    src, dst, weight = map(np.array, zip(*rows, strict=True))
    return src, dst, weight.astype(np.float64)


@pytest.mark.parametrize("name", NETWORKS)
def test_louvain_is_as_good_as_networkx(name: str) -> None:
    """The test compares the best of three seeds of each implementation."""
    made = NETWORKS[name]()
    found = [LOUVAIN(*_edges(made), len(made), seed) for seed in (1, 2, 3)]
    community, modularity = max(found, key=lambda one: one[1])
    groups = [{v for v, c in zip(made, community.tolist(), strict=True) if c == k} for k in range(community.max() + 1)]
    assert modularity == pytest.approx(nx.community.modularity(made, groups), abs=1e-6)
    theirs = max(nx.community.modularity(made, nx.community.louvain_communities(made, seed=s)) for s in range(3))
    assert modularity > 0.99 * theirs, (modularity, theirs)
    assert np.array_equal(found[0][0], LOUVAIN(*_edges(made), len(made))[0])


def _forest(graph: RefGraph) -> tuple[float, int]:
    """The weight of a minimum spanning forest, by SciPy, and the number of trees; of parallel edges the lightest."""
    weight = graph.columns["weight"].astype(np.float64)
    low, high = np.minimum(graph.src, graph.dst), np.maximum(graph.src, graph.dst)
    order = np.lexsort([weight, high, low])
    _, first = np.unique((low * graph.n + high)[order], return_index=True)
    kept = order[first]
    kept = kept[low[kept] != high[kept]]
    matrix = coo_matrix((weight[kept], (low[kept], high[kept])), (graph.n, graph.n))
    return float(minimum_spanning_tree(matrix).sum()), connected_components(matrix, directed=False)[0]


def test_forests_weigh_what_those_of_scipy_do() -> None:
    for name, graph in all_families():
        if graph.directed or "weight" not in graph.columns:
            continue
        result = assert_cut_free(FOREST, case_of(graph))
        weight, trees = _forest(graph) if graph.n else (0.0, 0)
        assert result["total"] == pytest.approx(weight, rel=1e-6), name
        root, tail, head = (np.asarray(result[field]) for field in ("root", "tail", "head"))
        assert len(np.unique(root)) == trees
        assert int((tail >= 0).sum()) == graph.n - trees, "the edges of a forest"
        made = coo_matrix((np.ones(graph.n - trees), (tail[tail >= 0], head[tail >= 0])), (graph.n, graph.n))
        assert connected_components(made, directed=False)[0] == trees, "without a circle"


@pytest.mark.parametrize("program", [FOREST, VOTES], ids=lambda program: program.name)
def test_they_mean_what_they_say(program: Program) -> None:
    for _, graph in list(all_families())[::4]:
        if graph.directed and program is FOREST:
            continue
        case = case_of(graph)
        assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))


def test_a_weight_outvotes_numbers() -> None:
    graph = Graph.from_edges([0, 0, 0], [1, 2, 3], directed=False, weight=np.array([1.0, 1.0, 5.0], np.float32))
    assert np.asarray(VOTES(graph, iterations=1)["label"]).tolist() == [3, 0, 0, 0]
