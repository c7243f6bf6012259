"""Verifiers of communities and forests, for graphs of any size."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from tests.reference.graph import Array, RefGraph
from tests.reference.verifiers.verify import Params, Result, Verifier

__all__ = ["GROUP_VERIFIERS"]


def _weight(graph: RefGraph) -> Array:
    return np.asarray(graph.columns.get("weight", np.ones(graph.m)), np.float64)


def verify_weighted_cdlp(graph: RefGraph, params: Params, result: Result) -> None:
    """Compare with a label propagation that sorts pairs (vertex, label) and adds up their weights."""
    ends, others, weight = graph.dst.astype(np.int64), graph.src, _weight(graph)
    if graph.directed:
        ends, others = np.concatenate([ends, others]), np.concatenate([others, ends])
        weight = np.concatenate([weight, weight])
    label = np.arange(graph.n)
    for _ in range(params.get("iterations", 10)):
        pairs, at = np.unique(ends * graph.n + label[others], return_inverse=True)
        votes = np.bincount(at, weight)
        row, chosen = np.divmod(pairs, max(graph.n, 1))
        order = np.lexsort([chosen, -votes, row])
        first = order[np.append(True, row[order][1:] != row[order][:-1])] if len(order) else order
        label = label.copy()
        label[row[first]] = chosen[first]
    np.testing.assert_array_equal(result["label"], label)


def verify_boruvka(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that the forest has the same weight as the forest of SciPy, that its edges are edges of the graph, and that
    it has the same components as the graph.
    """
    weight = _weight(graph)
    low, high = np.minimum(graph.src, graph.dst), np.maximum(graph.src, graph.dst)
    order = np.lexsort([weight, high, low])
    _, first = np.unique((low * graph.n + high)[order], return_index=True)
    kept = order[first]  # of parallel edges the lightest
    kept = kept[low[kept] != high[kept]]
    matrix = coo_matrix((weight[kept], (low[kept], high[kept])), (graph.n, graph.n))
    trees, part = connected_components(matrix, directed=False) if graph.n else (0, low)
    root, tail, head, cost = (np.asarray(result[name]) for name in ("root", "tail", "head", "cost"))
    own = np.flatnonzero(tail >= 0)
    np.testing.assert_array_equal(head >= 0, tail >= 0)
    assert len(own) == graph.n - trees, "the edges of a forest"
    assert (cost[tail < 0] == 0).all()
    lightest = {(a, b): w for a, b, w in zip(low[kept].tolist(), high[kept].tolist(), weight[kept], strict=True)}
    found = [lightest.get((min(a, b), max(a, b))) for a, b in zip(tail[own].tolist(), head[own].tolist(), strict=True)]
    np.testing.assert_array_equal(np.array(found, np.float64), cost[own])
    made = coo_matrix((np.ones(len(own)), (tail[own], head[own])), (graph.n, graph.n))
    assert not graph.n or connected_components(made, directed=False)[0] == trees, "without a circle"
    assert len(np.unique(root)) == len(np.unique(np.stack([root, part]), axis=1).T) == trees, "a root for each tree"
    np.testing.assert_array_equal(root[root], root)
    least = float(minimum_spanning_tree(matrix).sum())
    np.testing.assert_allclose([cost.sum(dtype=np.float64), result["total"]], least, rtol=1e-5)


def verify_louvain(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that the values of communities agree with the edges, and that the modularity is not below the modularity of
    single vertices.
    """
    weight, community = _weight(graph), np.asarray(result["community"])
    doubled = np.where(graph.src == graph.dst, 2 * weight, weight)
    k = np.bincount(graph.dst, doubled, graph.n)
    inside = np.bincount(graph.dst, doubled * (community[graph.src] == community[graph.dst]), graph.n)
    total = np.bincount(community, k, graph.n)
    for name, want in (("k", k), ("inside", inside), ("total", total)):
        np.testing.assert_allclose(result[name], want, rtol=1e-5, atol=1e-5, err_msg=name)
    m2 = max(float(k.sum()), 1e-30)
    modularity = inside.sum() / m2 - ((total / m2) ** 2).sum()
    np.testing.assert_allclose(result["modularity"], modularity, rtol=0, atol=1e-6)
    alone = doubled[graph.src == graph.dst].sum() / m2 - ((k / m2) ** 2).sum()
    assert modularity >= alone - 1e-6


GROUP_VERIFIERS: dict[str, Verifier] = {
    "boruvka": verify_boruvka,
    "louvain": verify_louvain,
    "weighted_cdlp": verify_weighted_cdlp,
}
