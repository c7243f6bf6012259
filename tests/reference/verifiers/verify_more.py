"""Verifiers of the other programs of the standard library by independent algorithms, some from SciPy; see `verify`.

The verifiers evaluate definitions directly on dense matrices, so that graphs have at most a few hundred vertices.
Parallel edges count with their multiplicity. Properties that are only defined on simple graphs are verified on simple
graphs.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from tests.reference.graph import RefGraph
from tests.reference.special import mix
from tests.reference.verifiers.verify import Array, Params, Result, Verifier, verify_components, verify_smooth
from tests.reference.verifiers.verify_edges import EDGE_VERIFIERS
from tests.reference.verifiers.verify_groups import GROUP_VERIFIERS

__all__ = ["MORE_VERIFIERS"]

_EMPTY = 2**64


# ------------------------------------------------------------------ helpers


def _same(got: object, want: object, what: str) -> None:
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), err_msg=what)


def _near(got: object, want: object, what: str, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(want), rtol=rtol, atol=atol, err_msg=what)


def _matrix(graph: RefGraph, values: Array | None = None) -> Array:
    """Return a dense matrix A, where A[u, v] is the sum of the values of the edges u -> v."""
    matrix = np.zeros((graph.n, graph.n))
    np.add.at(matrix, (graph.src, graph.dst), np.ones(graph.m) if values is None else values.astype(np.float64))
    return matrix


def _ends(graph: RefGraph) -> Array:
    """Return a dense matrix E, where E[v, u] is the number of edges of v whose other end is u."""
    matrix = _matrix(graph)
    return matrix + matrix.T if graph.directed else matrix


def _weight(graph: RefGraph) -> Array:
    return np.asarray(graph.columns.get("weight", np.ones(graph.m)), np.float64)


def _distances(graph: RefGraph) -> Array:
    """Return the number of hops from u to v; inf if v is not reachable."""
    if graph.n == 0:
        return np.zeros((0, 0))
    return np.asarray(shortest_path(csr_matrix(_matrix(graph) > 0), unweighted=True))


def _simple(graph: RefGraph) -> bool:
    return bool((_matrix(graph) <= 1).all() and (graph.src != graph.dst).all())


def _mix(seed: int, x: int) -> int:
    """Return the hash of section 8 of language.md."""
    z = (x + seed * 0x632BE59BD9B4E019) * 0x9E3779B97F4A7C15 % _EMPTY
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % _EMPTY
    z = (z ^ z >> 27) * 0x94D049BB133111EB % _EMPTY
    return z ^ z >> 31


# ------------------------------------------------------------------ neighbourhoods


def verify_degree(graph: RefGraph, params: Params, result: Result) -> None:
    _same(result["coming"], _matrix(graph).sum(axis=0), "coming")
    _same(result["going"], _matrix(graph).sum(axis=1), "going")
    _same(result["ends"], _ends(graph).sum(axis=1), "ends")
    weights = _matrix(graph, _weight(graph))
    _near(result["strength"], weights.sum(axis=0) + graph.directed * weights.sum(axis=1), "strength")


def verify_khop(graph: RefGraph, params: Params, result: Result) -> None:
    nearest = _distances(graph)[params["sources"]].min(axis=0, initial=np.inf)
    inside = nearest <= params.get("hops", 2)
    depth = np.asarray(result["depth"])
    _same(depth, np.where(inside, nearest, np.iinfo(depth.dtype).max).astype(depth.dtype), "depth")
    _same(result["inside"], inside, "inside")
    assert result["members"] == inside.sum()


def verify_egonet(graph: RefGraph, params: Params, result: Result) -> None:
    ends, ego = _ends(graph), params["ego"]
    member = ends[ego] > 0
    member[ego] = True
    inside = np.where(member, ends[:, member].sum(axis=1), 0)
    outside = np.where(member, ends[:, ~member].sum(axis=1), 0)
    _same(result["member"], member, "member")
    _same(result["inner"], inside, "inner")
    _same(result["outer"], outside, "outer")
    assert (result["size"], result["links"], result["leaving"]) == (member.sum(), inside.sum() // 2, outside.sum())


def verify_cross_edges(graph: RefGraph, params: Params, result: Result) -> None:
    left, right = set(params["left"]), set(params["right"])
    crossing = [u for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True) if u in left and v in right]
    _same(result["reaching"], np.bincount(np.array(crossing, np.int64), minlength=graph.n), "reaching")
    assert result["total"] == len(crossing)


def verify_triangles(graph: RefGraph, params: Params, result: Result) -> None:
    if not _simple(graph) or graph.directed:
        return
    at = nx.triangles(nx.Graph(_matrix(graph))) if graph.n else {}
    _same(result["mine"], [at[v] for v in range(graph.n)], "mine")
    assert result["total"] == sum(at.values()) // 3


def verify_lcc(graph: RefGraph, params: Params, result: Result) -> None:
    if not _simple(graph) or graph.directed:
        return
    at = nx.clustering(nx.Graph(_matrix(graph))) if graph.n else {}
    _near(result["lcc"], [at[v] for v in range(graph.n)], "lcc")


def verify_lcc_directed(graph: RefGraph, params: Params, result: Result) -> None:
    if not _simple(graph):
        return
    matrix, ends, want = _matrix(graph), _ends(graph), np.zeros(graph.n)
    for v in range(graph.n):
        near = np.flatnonzero(ends[v])
        if len(near) > 1:
            want[v] = matrix[np.ix_(near, near)].sum() / (len(near) * (len(near) - 1))
    _near(result["lcc"], want, "lcc")


def verify_lcc_weighted(graph: RefGraph, params: Params, result: Result) -> None:
    weights = graph.columns.get("weight", np.ones(graph.m))
    made = nx.Graph()
    made.add_nodes_from(range(graph.n))
    ends = zip(graph.src.tolist(), graph.dst.tolist(), weights.tolist(), strict=True)
    made.add_weighted_edges_from((u, v, float(w)) for u, v, w in ends)
    at = nx.clustering(made, weight="weight") if graph.m else dict.fromkeys(range(graph.n), 0)
    _near(result["lcc"], [at[v] for v in range(graph.n)], "lcc")


def verify_jaccard(graph: RefGraph, params: Params, result: Result) -> None:
    scores = _scores(graph, nx.jaccard_coefficient)
    _near(result["likeness"], scores.max(axis=1, initial=0), "likeness")
    _chosen(graph, scores, result["similar"])


def verify_adamic_adar(graph: RefGraph, params: Params, result: Result) -> None:
    scores = _scores(graph, nx.adamic_adar_index)
    _near(result["total"], scores.sum(axis=1), "total")
    _near(result["index"], scores.max(axis=1, initial=0), "index")
    _chosen(graph, scores, result["closest"])


def _scores(graph: RefGraph, index: Any) -> Array:
    """Return a similarity index of NetworkX for each edge, float64[n, n]; 0 for other pairs of vertices."""
    made, found = nx.Graph(_matrix(graph)) if graph.n else nx.Graph(), np.zeros((graph.n, graph.n))
    for u, v, score in index(made, list(made.edges)):
        found[u, v] = found[v, u] = score
    return found


def _chosen(graph: RefGraph, scores: Array, chosen: Array) -> None:
    """Check that each vertex has chosen a neighbour with the largest score, up to rounding."""
    for v, u in enumerate(np.asarray(chosen).tolist()):
        near = np.flatnonzero(graph.src == v)
        if len(near):
            assert u in graph.dst[near]
            assert scores[v, u] >= scores[v].max() - 1e-5
        else:
            assert u == -1, "an isolated vertex names no other"


def verify_walks(graph: RefGraph, params: Params, result: Result) -> None:
    """Repeat each step of each walk by the rule of `pick`, with code that is independent of the program."""
    place = graph.ordinals(graph.src, graph.dst, np.arange(graph.m))
    weight = np.asarray(graph.columns.get("weight", np.ones(graph.m)), np.float64)
    end = np.arange(graph.n)
    number = np.arange(graph.n) if graph.ids is None else graph.ids
    for step in range(1, params.get("steps", 10) + 1):
        hashed = mix(params.get("seed", 1), step)
        near: dict[int, tuple[float, int]] = {}
        for e, (u, v) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
            h = mix(mix(mix(hashed, int(number[u])), int(number[v])), int(place[e]))
            if weight[e] > 0:
                near[u] = min(near.get(u, (np.inf, 0)), (-np.log(((h >> 11) + 1) / 2**53) / weight[e], v))
        end = np.array([near[v][1] if v in near else v for v in end.tolist()], np.int64)
    _same(result["end"], end, "end")


def verify_core(graph: RefGraph, params: Params, result: Result) -> None:
    """Compare with the removal of vertices of least degree, one at a time. The core number of a vertex is the largest
    degree of the vertices removed so far, including this vertex.
    """
    ends = _ends(graph)
    left, core, k = set(range(graph.n)), np.zeros(graph.n), 0.0
    degree = ends.sum(axis=1)
    while left:
        v = min(left, key=lambda w: (degree[w], w))
        k = core[v] = max(k, degree[v])
        left.remove(v)
        degree = degree - ends[:, v]
    _same(result["core"], core, "core")


# ------------------------------------------------------------------ paths


def verify_betweenness(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that the score equals its definition: the sum over s and t of the share of shortest paths from s to t that
    pass through v.
    """
    far, step, want = _distances(graph), _matrix(graph), np.zeros(graph.n)
    paths, level = np.eye(graph.n), np.eye(graph.n)
    for hops in range(1, graph.n):
        level = np.where(far == hops, level @ step, 0)
        paths += level
    for s in params["sources"]:
        for t in np.flatnonzero(np.isfinite(far[s])).tolist():
            through = far[s] + far[:, t] == far[s, t]
            through[[s, t]] = False
            want += np.where(through, paths[s] * paths[:, t] / paths[s, t], 0)
    _near(result["score"], params.get("scale", 1) * want, "score", atol=1e-4)


def verify_closeness(graph: RefGraph, params: Params, result: Result) -> None:
    far, want = _distances(graph), np.zeros(graph.n)
    for s in params["sources"]:
        to = far[:, s][np.isfinite(far[:, s])]
        if to.sum() > 0:
            want[s] = (len(to) - 1) ** 2 / to.sum() / (graph.n - 1)
    _near(result["closeness"], want, "closeness")


def verify_closeness_weighted(graph: RefGraph, params: Params, result: Result) -> None:
    far = np.full((graph.n, graph.n), np.inf)
    np.minimum.at(far, (graph.src, graph.dst), _weight(graph))
    far[np.arange(graph.n), np.arange(graph.n)] = 0
    for k in range(graph.n):  # Floyd and Warshall
        far = np.minimum(far, far[:, [k]] + far[[k]])
    want = np.zeros(graph.n)
    for s in params["sources"]:
        to = far[np.isfinite(far[:, s]), s]
        want[s] = (len(to) - 1) ** 2 / to.sum() / (graph.n - 1) if to.sum() > 0 else 0
    _near(result["closeness"], want, "closeness")


def verify_radius(graph: RefGraph, params: Params, result: Result) -> None:
    far = _distances(graph)[params["samples"]]
    reached = np.isfinite(far)
    bits = 2 ** np.arange(len(far), dtype=np.uint64)
    _same(result["seen"], (reached * bits[:, None]).sum(axis=0).astype(np.uint64), "seen")
    _same(result["radius"], np.where(reached, far, -1).max(axis=0, initial=-1), "radius")


def verify_hyperanf(graph: RefGraph, params: Params, result: Result) -> None:
    unit, far = np.zeros((graph.n, 64), np.int64), _distances(graph)
    for v in range(graph.n):
        h = _mix(1, graph.number(v))
        rest = h >> 6
        unit[v, h % 64] = 1 + ((rest & -rest).bit_length() - 1 if rest else 58)
    counter, radius = unit.copy(), np.zeros(graph.n, np.int64)
    for hops in range(1, graph.n):
        wider = np.stack([unit[row <= hops].max(axis=0, initial=0) for row in far])
        radius[(wider != counter).any(axis=1)] = hops
        counter = wider
    _same(result["counter"], counter, "counter")
    _same(result["radius"], radius, "radius")
    size, zeros = 0.709 * 64**2 / (2.0**-counter).sum(axis=1), (counter == 0).sum(axis=1)
    small = (size <= 160) & (zeros > 0)
    _near(result["reach"], np.where(small, 64 * np.log(64 / np.maximum(zeros, 1)), size), "reach")


def verify_scc(graph: RefGraph, params: Params, result: Result) -> None:
    reach = np.isfinite(_distances(graph))
    both = reach & reach.T
    _same(result["scc"], [int(np.flatnonzero(row).max()) for row in both], "scc")


def verify_bipartite(graph: RefGraph, params: Params, result: Result) -> None:
    both = RefGraph(graph.n, np.concatenate([graph.src, graph.dst]), np.concatenate([graph.dst, graph.src]))
    far = _distances(both)
    side = [int(row[np.flatnonzero(np.isfinite(row))[0]]) % 2 for row in far]
    _same(result["side"], side, "side")
    alike = np.equal.outer(side, side)
    _same(result["bad"], (_ends(graph) * alike).sum(axis=1), "bad")
    assert result["conflicts"] == int((_ends(graph) * alike).sum()) // 2


# ------------------------------------------------------------------ ranks


def _walk(graph: RefGraph, weight: Array) -> Array:
    """Return a dense matrix P, where P[u, v] is the probability of a step from u to v. Rows of dead ends are 0."""
    matrix = _matrix(graph, weight)
    total = matrix.sum(axis=1, keepdims=True)
    walk: Array = np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)
    return walk


def verify_ppr(graph: RefGraph, params: Params, result: Result) -> None:
    step = _walk(graph, np.ones(graph.m))
    jump = np.zeros(graph.n)
    jump[params["seeds"]] = 1 / max(len(params["seeds"]), 1)
    step[graph.outdegree == 0] = jump
    _near(result["rank"], np.linalg.solve(np.eye(graph.n) - 0.85 * step.T, 0.15 * jump), "rank")


def verify_pagerank_delta(graph: RefGraph, params: Params, result: Result) -> None:
    step = _walk(graph, np.ones(graph.m))
    _near(result["rank"], np.linalg.solve(np.eye(graph.n) - 0.85 * step.T, np.full(graph.n, 0.15)), "rank", atol=1e-4)


def verify_pagerank_rounds(graph: RefGraph, params: Params, result: Result) -> None:
    step = _walk(graph, np.ones(graph.m))
    step[graph.outdegree == 0] = 1 / max(graph.n, 1)
    rank = np.full(graph.n, 1 / max(graph.n, 1))
    for _ in range(params.get("iterations", 10)):
        rank = 0.15 / graph.n + 0.85 * step.T @ rank if graph.n else rank
    _near(result["rank"], rank, "rank")


def verify_pagerank_weighted(graph: RefGraph, params: Params, result: Result) -> None:
    step, total = _walk(graph, _weight(graph)), np.bincount(graph.src, _weight(graph), graph.n)
    _near(result["total"], total, "total")
    step[total == 0] = 1 / max(graph.n, 1)
    want = np.linalg.solve(np.eye(graph.n) - 0.85 * step.T, np.full(graph.n, 0.15 / max(graph.n, 1)))
    _near(result["rank"], want, "rank")


def verify_php(graph: RefGraph, params: Params, result: Result) -> None:
    into = 0.8 * _walk(graph, _weight(graph)).T
    into[params["source"]] = 0
    _near(result["p"], np.linalg.solve(np.eye(graph.n) - into, np.eye(graph.n)[params["source"]]), "p")


def verify_eigenvector(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `x` is an eigenvector without negative values. An eigenvector without negative values belongs to the
    largest eigenvalue.

    The iteration of the program converges slowly on defective matrices, so that its vector is not compared with the
    vector of SciPy.
    """
    x = np.asarray(result["x"], np.float64)
    if not graph.n:
        return
    assert abs(np.linalg.norm(x) - 1) < 1e-4
    assert (x >= 0).all()
    if not graph.directed:
        value = x @ _matrix(graph) @ x
        _near(_matrix(graph) @ x, value * x, "A x", atol=1e-2)


def verify_hits(graph: RefGraph, params: Params, result: Result) -> None:
    matrix, hub, auth = _matrix(graph), np.ones(graph.n), np.ones(graph.n)
    for _ in range(200):
        before = auth
        auth = matrix.T @ hub
        auth = auth / (np.linalg.norm(auth) or 1)
        hub = matrix @ auth
        hub = hub / (np.linalg.norm(hub) or 1)
        if abs(auth - before).max(initial=0) < 1e-6:
            break
    _near(result["auth"], auth, "auth", atol=1e-4)
    _near(result["hub"], hub, "hub", atol=1e-4)


def verify_soft_reach(graph: RefGraph, params: Params, result: Result) -> None:
    logw = np.asarray(graph.columns.get("logw", np.zeros(graph.m)), np.float64)
    walks = np.linalg.matrix_power(np.eye(graph.n) + _matrix(graph, np.exp(logw)), 4)
    _near(np.exp(np.asarray(result["score"], np.float64)), walks[params["source"]], "exp(score)")


# ------------------------------------------------------------------ selection, communities, learning


def _in_order(graph: RefGraph, result: Result) -> list[int]:
    """Return the vertices in the order of their random numbers. The random numbers are also verified."""
    drawn = [(_mix(1, graph.number(v)) >> 40) / 2**24 for v in range(graph.n)]
    _same(result["priority"], np.array(drawn, np.float32), "priority")
    return sorted(range(graph.n), key=lambda v: (drawn[v], v))


def verify_mis(graph: RefGraph, params: Params, result: Result) -> None:
    ends, chosen = _ends(graph) > 0, np.zeros(graph.n, np.bool_)
    np.fill_diagonal(ends, False)
    for v in _in_order(graph, result):
        chosen[v] = not (ends[v] & chosen).any()
    _same(result["chosen"], chosen, "chosen")
    _same(result["excluded"], ~chosen, "excluded")


def verify_coloring(graph: RefGraph, params: Params, result: Result) -> None:
    ends, color = _ends(graph) > 0, np.full(graph.n, -1)
    for v in _in_order(graph, result):
        taken = set(color[ends[v]].tolist())
        color[v] = next(c for c in range(graph.n + 1) if c not in taken)
    _same(result["color"], color, "color")


def verify_cdlp(graph: RefGraph, params: Params, result: Result) -> None:
    ends = _ends(graph).astype(np.int64)
    label = list(range(graph.n))
    for _ in range(params.get("iterations", 10)):
        received: list[Counter[int]] = [Counter() for _ in label]
        for v, u in zip(*(found.tolist() for found in np.nonzero(ends)), strict=True):
            received[v][label[u]] += int(ends[v, u])
        label = [min(tally, key=lambda c: (-tally[c], c)) if tally else label[v] for v, tally in enumerate(received)]
    _same(result["label"], label, "label")


def verify_belief(graph: RefGraph, params: Params, result: Result) -> None:
    keep = np.asarray(graph.columns.get("keep", np.full(graph.m, 0.9)), np.float64)[:, None]
    prior = np.asarray(result["prior"], np.float64)
    belief = prior / prior.sum(axis=1, keepdims=True)
    for _ in range(10):
        received, sent = np.zeros_like(belief), belief[graph.src]
        np.add.at(received, graph.dst, np.log(keep * sent + (1 - keep) * sent[:, ::-1]))
        received = received + np.log(prior)
        belief = np.exp(received - received.max(axis=1, keepdims=True))
        belief /= belief.sum(axis=1, keepdims=True)
    _near(np.exp(np.asarray(result["logb"], np.float64)), belief, "exp(logb)")


def verify_linbp(graph: RefGraph, params: Params, result: Result) -> None:
    h, turn = float(params["h"]), np.array([[1.0, -1.0], [-1.0, 1.0]])
    system = np.eye(2 * graph.n) - h * np.kron(_ends(graph), turn) + 2 * h**2 * np.kron(np.diag(graph.degree), turn)
    want = np.linalg.solve(system, np.asarray(result["prior"], np.float64).ravel())
    _near(np.asarray(result["b"]).ravel(), want, "b")


def verify_cf(graph: RefGraph, params: Params, result: Result) -> None:
    rating, x = graph.columns["rating"].astype(np.float64), np.full((graph.n, 8), 0.5)
    for _ in range(10):
        error = rating - (x[graph.dst] * x[graph.src]).sum(axis=1)
        slope = np.zeros_like(x)
        np.add.at(slope, graph.dst, x[graph.src] * error[:, None])
        x = x + params["rate"] * (slope - 0.001 * x)
    _near(result["x"], x, "x")


MORE_VERIFIERS: dict[str, Verifier] = {
    **EDGE_VERIFIERS,
    **GROUP_VERIFIERS,
    "belief": verify_belief,
    "betweenness": verify_betweenness,
    "bipartite": verify_bipartite,
    "cdlp": verify_cdlp,
    "cf": verify_cf,
    "closeness": verify_closeness,
    "closeness_weighted": verify_closeness_weighted,
    "coloring": verify_coloring,
    "components_jump": verify_components,
    "cross_edges": verify_cross_edges,
    "degree": verify_degree,
    "egonet": verify_egonet,
    "eigenvector": verify_eigenvector,
    "hits": verify_hits,
    "hyperanf": verify_hyperanf,
    "kcore": verify_core,
    "kcore_peel": verify_core,
    "khop": verify_khop,
    "lcc": verify_lcc,
    "adamic_adar": verify_adamic_adar,
    "jaccard": verify_jaccard,
    "lcc_directed": verify_lcc_directed,
    "lcc_weighted": verify_lcc_weighted,
    "walks": verify_walks,
    "linbp": verify_linbp,
    "mis": verify_mis,
    "pagerank_delta": verify_pagerank_delta,
    "pagerank_rounds": verify_pagerank_rounds,
    "pagerank_weighted": verify_pagerank_weighted,
    "php": verify_php,
    "ppr": verify_ppr,
    "radius": verify_radius,
    "scc": verify_scc,
    "smooth": verify_smooth,
    "soft_reach": verify_soft_reach,
    "triangles": verify_triangles,
}
