"""Verifiers that work on the edge list, for graphs of any size: layers of networks, cascades, matchings."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from tests.reference.graph import RefGraph
from tests.reference.special import mix
from tests.reference.verifiers.verify import Array, Params, Result, Verifier

__all__ = ["EDGE_VERIFIERS"]

_FEW = 300  # vertices from which searches start, in a graph with more


def _near(got: object, want: Array, what: str, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=rtol, atol=atol, err_msg=what)


def _gathered(graph: RefGraph, values: Array) -> Array:
    """Return the sum of the rows of `values` over the in-neighbours of each vertex."""
    total = np.zeros(values.shape)
    np.add.at(total, graph.dst, values[graph.src])
    return total


def _features(result: Result, params: Params) -> tuple[Array, list[Array]]:
    """Return the features of the vertices, and the matrices, all in 64 bits."""
    matrices = [np.asarray(params[name], np.float64) for name in ("W", "V", "own", "near") if name in params]
    return np.asarray(result["x"], np.float64), matrices


def verify_gcn(graph: RefGraph, params: Params, result: Result) -> None:
    x, (weights,) = _features(result, params)
    scale = 1 / np.sqrt(1 + graph.indegree)[:, None]
    hidden = (_gathered(graph, x * scale) + x * scale) * scale @ weights.T + np.asarray(params["b"])
    _near(result["h"], np.maximum(hidden, 0), "h")


def verify_sage(graph: RefGraph, params: Params, result: Result) -> None:
    x, (own, near) = _features(result, params)
    mean = _gathered(graph, x) / np.maximum(graph.indegree, 1)[:, None]
    sums = np.hstack([x, mean]) @ np.hstack([own, near]).T + np.asarray(params["b"])
    hidden = np.maximum(sums, 0)
    length = np.linalg.norm(hidden, axis=1)
    sure = (length > 1e-3) | (sums < -1e-3).all(axis=1)  # the direction of sums near 0 depends on their rounding
    _near(np.asarray(result["h"])[sure], (hidden / np.maximum(length, 1e-12)[:, None])[sure], "h", atol=1e-4)
    assert (np.linalg.norm(result["h"], axis=1) < 1.001).all()


def verify_gin(graph: RefGraph, params: Params, result: Result) -> None:
    x, (inner, outer) = _features(result, params)
    total = (1 + params["eps"]) * x + _gathered(graph, x)
    _near(result["h"], np.maximum(total @ inner.T + np.asarray(params["b"]), 0) @ outer.T, "h", atol=1e-4)


def verify_temporal_reach(graph: RefGraph, params: Params, result: Result) -> None:
    """Compare with label setting in the order of arrivals, which is correct since no edge arrives before it leaves."""
    leaves, takes = graph.columns["leaves"], graph.columns["takes"]
    rows: list[list[int]] = [[] for _ in range(graph.n)]
    for edge, source in enumerate(graph.src.tolist()):
        rows[source].append(edge)
    arrival = np.full(graph.n, 2**63 - 1)
    queue = [(int(params.get("since", 0)), int(params["source"]))]
    while queue:
        time, vertex = heappop(queue)
        if arrival[vertex] <= time:
            continue
        arrival[vertex] = time
        for edge in rows[vertex]:
            if leaves[edge] >= time:
                heappush(queue, (int(leaves[edge]) + int(takes[edge]), int(graph.dst[edge])))
    np.testing.assert_array_equal(result["arrival"], arrival)


def verify_influence(graph: RefGraph, params: Params, result: Result) -> None:
    seed, chance = int(params.get("seed", 1)), np.float32(params.get("chance", 0.1))
    drawn = [mix(mix(seed, graph.number(int(u))), graph.number(int(v))) >> 40
             for u, v in zip(graph.src, graph.dst, strict=True)]
    kept = np.array(drawn, np.float64) / 2**24 < chance
    step = np.full(graph.n, 2**31 - 1)
    if len(params["start"]) and graph.n:
        matrix = csr_matrix((np.ones(int(kept.sum())), (graph.src[kept], graph.dst[kept])), (graph.n, graph.n))
        hops = dijkstra(matrix, unweighted=True, indices=params["start"], min_only=True)
        step[np.isfinite(hops)] = hops[np.isfinite(hops)]
    np.testing.assert_array_equal(result["step"], step)
    assert result["reached"] == int((step < 2**31 - 1).sum())


def verify_matching(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that every edge has an end in a matched pair whose weight is at least the weight of the edge.

    A matching with this property is maximal, and has at least half of the largest possible weight.
    """
    mate = np.asarray(result["mate"])
    pairs = np.flatnonzero(mate >= 0)
    np.testing.assert_array_equal(mate[mate[pairs]], pairs)
    assert not (mate[pairs] == pairs).any()
    weight = np.asarray(graph.columns.get("weight", np.ones(graph.m)), np.float64)
    best = np.full(graph.n, -np.inf)
    for a, b in ((graph.src, graph.dst), (graph.dst, graph.src)):
        taken = mate[a] == b
        np.maximum.at(best, a[taken], weight[taken])
    assert np.isfinite(best[pairs]).all(), "a pair without an edge"
    other = graph.src != graph.dst
    assert (np.maximum(best[graph.src], best[graph.dst]) >= weight)[other].all()
    assert (np.asarray(result["choice"]) < 0).all()


def verify_label_spreading(graph: RefGraph, params: Params, result: Result) -> None:
    alpha, tol = params.get("alpha", 0.9), params.get("tol", 1e-5)
    prior = np.asarray(result["prior"], np.float64)
    scale = 1 / np.sqrt(np.maximum(graph.degree, 1))[:, None]
    found, change = prior, 1.0
    while change > tol / 100:
        near = _gathered(graph, found * scale)
        if graph.directed:
            np.add.at(near, graph.src, (found * scale)[graph.dst])
        new = alpha * near * scale + (1 - alpha) * prior
        change, found = float(np.abs(new - found).max(initial=0)), new
    _near(result["f"], found, "f", atol=2 * tol / (1 - alpha))
    np.testing.assert_array_equal(result["class"], np.argmax(np.asarray(result["f"]), axis=1))


def verify_eccentricity(graph: RefGraph, params: Params, result: Result) -> None:
    """Compare with searches from all vertices, or from some vertices of a large graph."""
    chosen = np.arange(graph.n) if graph.n <= _FEW else np.arange(0, graph.n, -(-graph.n // 60))
    low = np.asarray(result["low"])
    np.testing.assert_array_equal(low, result["high"])
    assert result["diameter"] == low.max(initial=0)
    if len(chosen):
        matrix = csr_matrix((np.ones(graph.m), (graph.src, graph.dst)), (graph.n, graph.n))
        hops = np.asarray(dijkstra(matrix, unweighted=True, indices=chosen))
        np.testing.assert_array_equal(low[chosen], np.where(np.isfinite(hops), hops, 0).max(axis=1))


def verify_astar(graph: RefGraph, params: Params, result: Result) -> None:
    weight = np.asarray(graph.columns.get("weight", np.ones(graph.m)), np.float64)
    order = np.argsort(-weight, kind="stable")  # the lightest of parallel edges comes last, and is kept
    links = dict(zip(zip(graph.src[order].tolist(), graph.dst[order].tolist(), strict=True), weight[order].tolist(),
                     strict=True))
    ends = np.array(list(links), np.int64).reshape(-1, 2)
    lengths = np.maximum(np.array(list(links.values())), 1e-300)  # csgraph takes stored zeros for missing edges
    dist = dijkstra(csr_matrix((lengths, (ends[:, 0], ends[:, 1])), (graph.n, graph.n)), indices=params["source"])
    goal = dist[params["target"]]
    _near(result["distance"], goal, "distance")
    total = dist + np.asarray(result["bound"], np.float64)
    near = total <= goal
    sure = np.isfinite(total) & ~(np.abs(np.where(np.isfinite(total), total, 0) - goal) < 1e-4 * (1 + goal))
    sure |= (goal < np.inf) & ~np.isfinite(total)  # without a path to the target, these may have been reached
    sure[params["target"]] = True
    _near(np.asarray(result["dist"])[sure], np.where(near, dist, np.inf)[sure], "dist")
    assert np.asarray(result["past"])[near & sure & (total < goal)].all()


def verify_longest_path(graph: RefGraph, params: Params, result: Result) -> None:
    weight = np.asarray(graph.columns.get("weight", np.ones(graph.m)), np.float64)
    left, far = np.array(graph.indegree, np.int64), np.zeros(graph.n)
    order = np.argsort(graph.src, kind="stable")
    starts = np.searchsorted(graph.src[order], np.arange(graph.n + 1))
    ready = np.flatnonzero(left == 0).tolist()
    while ready:
        vertex = ready.pop()
        for edge in order[starts[vertex] : starts[vertex + 1]].tolist():
            head = int(graph.dst[edge])
            far[head] = max(far[head], far[vertex] + weight[edge])
            left[head] -= 1
            if left[head] == 0:
                ready.append(head)
    assert not left.any(), "a cycle"
    _near(result["far"], far, "far")
    _near(result["longest"], far.max(initial=0), "longest")


EDGE_VERIFIERS: dict[str, Verifier] = {
    "astar": verify_astar,
    "eccentricity": verify_eccentricity,
    "gcn": verify_gcn,
    "gin": verify_gin,
    "influence": verify_influence,
    "label_spreading": verify_label_spreading,
    "longest_path": verify_longest_path,
    "matching": verify_matching,
    "sage": verify_sage,
    "temporal_reach": verify_temporal_reach,
}
