"""Verifiers of the programs of the standard library for graphs of a thousand to several hundred thousand vertices.

The verifiers make the same checks as `verify` and `verify_more`, with other algorithms: sparse algebra and searches of
SciPy, algorithms of NetworkX, fixed points in 64 bits, or the property that defines the result. Linear-time verifiers
of `verify` and `verify_more` are used unchanged. Parallel edges count with their multiplicity. The programs triangles
and lcc, which are defined on simple undirected graphs, are verified only on simple undirected graphs.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import networkx as nx
import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.csgraph import connected_components, dijkstra

from tests.reference.graph import RefGraph
from tests.reference.verifiers.sparse_ranks import RANK_VERIFIERS, ends_of, near_to, read_column, same_as, sparse
from tests.reference.verifiers.verify import VERIFIERS, Array, Params, Result, Verifier, verify_bfs, verify_sssp
from tests.reference.verifiers.verify_edges import EDGE_VERIFIERS
from tests.reference.verifiers.verify_groups import GROUP_VERIFIERS
from tests.reference.verifiers.verify_more import MORE_VERIFIERS

__all__ = ["SPARSE_VERIFIERS"]


# ------------------------------------------------------------------ helpers


def _hops(matrix: csr_matrix, sources: list[int]) -> Array:
    """Return the number of hops from each source, one row per source; inf for unreachable vertices."""
    return np.asarray(dijkstra(matrix, unweighted=True, indices=sources))


# ------------------------------------------------------------------ searches


def _parents(graph: RefGraph, source: int, value: Array, parent: Array, length: Array) -> None:
    """Check that each parent is the smallest source among the in-edges that give exactly the distance of the vertex."""
    offers = value[graph.src] + length
    tight = np.isfinite(offers) & (offers == value[graph.dst])
    want = np.full(graph.n, graph.n)
    np.minimum.at(want, graph.dst[tight], graph.src[tight])
    want[~np.isfinite(value)] = -1
    want[source] = source
    same_as(parent, want, "parent")


def verify_bfs_tree(graph: RefGraph, params: Params, result: Result) -> None:
    verify_bfs(graph, params, result)
    depth = np.asarray(result["depth"])
    value = np.where(depth == np.iinfo(depth.dtype).max, np.inf, depth)
    _parents(graph, params["source"], value, np.asarray(result["parent"]), np.ones(graph.m))


def verify_sssp_tree(graph: RefGraph, params: Params, result: Result) -> None:
    verify_sssp(graph, params, result)
    dist = np.asarray(result["dist"])
    length = read_column(graph, "weight", 1).astype(dist.dtype)
    _parents(graph, params["source"], dist, np.asarray(result["parent"]), length)


def verify_khop(graph: RefGraph, params: Params, result: Result) -> None:
    nearest = _hops(sparse(graph), params["sources"]).min(axis=0)
    inside = nearest <= params.get("hops", 2)
    depth = np.asarray(result["depth"])
    same_as(depth, np.where(inside, nearest, np.iinfo(depth.dtype).max).astype(depth.dtype), "depth")
    same_as(result["inside"], inside, "inside")
    assert result["members"] == inside.sum()


def verify_radius(graph: RefGraph, params: Params, result: Result) -> None:
    far = _hops(sparse(graph), params["samples"])
    reached = np.isfinite(far)
    bits = 2 ** np.arange(len(far), dtype=np.uint64)
    same_as(result["seen"], (reached * bits[:, None]).sum(axis=0).astype(np.uint64), "seen")
    same_as(result["radius"], np.where(reached, far, -1).max(axis=0), "radius")


def verify_soft_reach(graph: RefGraph, params: Params, result: Result) -> None:
    into = sparse(graph, np.exp(read_column(graph, "logw", 0))).T.tocsr()
    walks = np.eye(1, graph.n, params["source"])[0]
    for _ in range(params.get("hops", 4)):
        walks = walks + into @ walks
    near_to(np.exp(np.asarray(result["score"], np.float64)), walks, "exp(score)")


def verify_betweenness(graph: RefGraph, params: Params, result: Result) -> None:
    """Compare with NetworkX on the directed graph. The two directions of a pair both count, as in the program."""
    made = nx.from_scipy_sparse_array(sparse(graph), create_using=nx.DiGraph)
    score = nx.betweenness_centrality_subset(made, params["sources"], range(graph.n))
    near_to(result["score"], params.get("scale", 1) * np.array([score[v] for v in range(graph.n)]), "score", atol=1e-3)


def verify_closeness(graph: RefGraph, params: Params, result: Result) -> None:
    made, want = nx.from_scipy_sparse_array(sparse(graph), create_using=nx.DiGraph), np.zeros(graph.n)
    for s in params["sources"]:
        want[s] = nx.closeness_centrality(made, u=s)
    near_to(result["closeness"], want, "closeness")


def verify_closeness_weighted(graph: RefGraph, params: Params, result: Result) -> None:
    made, want = nx.MultiDiGraph(), np.zeros(graph.n)
    made.add_nodes_from(range(graph.n))
    weights = read_column(graph, "weight", 1).tolist()
    made.add_weighted_edges_from(zip(graph.src.tolist(), graph.dst.tolist(), weights, strict=True))
    for s in params["sources"]:
        want[s] = nx.closeness_centrality(made, u=s, distance="weight")
    near_to(result["closeness"], want, "closeness")


def _mixed(n: int) -> Array:
    """Return the hash of seed 1 and each vertex (section 8 of language.md)."""
    z = (np.arange(n, dtype=np.uint64) + np.uint64(0x632BE59BD9B4E019)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ z >> np.uint64(31))


def _counters(n: int) -> Array:
    """Return the 64 registers of each vertex. Six bits of the hash select a register, and the number of zeros after
    these bits gives the value of the register.
    """
    unit, mixed = np.zeros((n, 64), np.uint8), _mixed(n)
    rest = mixed >> np.uint64(6)
    zeros = np.log2((rest & (~rest + np.uint64(1))).astype(np.float64), where=rest > 0, out=np.full(n, 58.0))
    unit[np.arange(n), (mixed % np.uint64(64)).astype(np.int64)] = 1 + zeros
    return unit


def verify_hyperanf(graph: RefGraph, params: Params, result: Result) -> None:
    counter, radius = _counters(graph.n), np.zeros(graph.n, np.int64)
    order = np.argsort(graph.src, kind="stable")
    tails, first = np.unique(graph.src[order], return_index=True)
    for hops in range(1, graph.n + 1):
        wider = counter.copy()
        wider[tails] = np.maximum(counter[tails], np.maximum.reduceat(counter[graph.dst[order]], first))
        moved = (wider != counter).any(axis=1)
        if not moved.any():
            break
        radius[moved], counter = hops, wider
    same_as(result["counter"], counter, "counter")
    same_as(result["radius"], radius, "radius")
    size, zeros = 0.709 * 64**2 / (2.0**-counter.astype(np.float64)).sum(axis=1), (counter == 0).sum(axis=1)
    small = (size <= 160) & (zeros > 0)
    near_to(result["reach"], np.where(small, 64 * np.log(64 / np.maximum(zeros, 1)), size), "reach")


# ------------------------------------------------------------------ components


def verify_scc(graph: RefGraph, params: Params, result: Result) -> None:
    count, part = connected_components(sparse(graph), connection="strong")
    largest = np.zeros(count, np.int64)
    np.maximum.at(largest, part, np.arange(graph.n))
    same_as(result["scc"], largest[part], "scc")


def verify_bipartite(graph: RefGraph, params: Params, result: Result) -> None:
    ends = ends_of(graph)
    _, first = np.unique(connected_components(ends, directed=False)[1], return_index=True)
    side = np.asarray(dijkstra(ends, unweighted=True, indices=first, min_only=True)).astype(np.int64) % 2
    same_as(result["side"], side, "side")
    rows, columns = ends.nonzero()
    alike = side[rows] == side[columns]
    bad = np.bincount(rows, np.asarray(ends[rows, columns]).ravel() * alike, graph.n)
    same_as(result["bad"], bad, "bad")
    assert result["conflicts"] == int(bad.sum()) // 2


# ------------------------------------------------------------------ neighbourhoods


def verify_degree(graph: RefGraph, params: Params, result: Result) -> None:
    same_as(result["coming"], graph.indegree, "coming")
    same_as(result["going"], graph.outdegree, "going")
    same_as(result["ends"], graph.degree, "ends")
    weight = read_column(graph, "weight", 1)
    want = np.bincount(graph.dst, weight, graph.n) + graph.directed * np.bincount(graph.src, weight, graph.n)
    near_to(result["strength"], want, "strength", rtol=1e-6)


def verify_egonet(graph: RefGraph, params: Params, result: Result) -> None:
    ends, ego = ends_of(graph), params["ego"]
    member = np.isin(np.arange(graph.n), [ego, *ends[ego].indices.tolist()])
    inner, outer = np.where(member, ends @ member, 0), np.where(member, ends @ ~member, 0)
    same_as(result["member"], member, "member")
    same_as(result["inner"], inner, "inner")
    same_as(result["outer"], outer, "outer")
    assert (result["size"], result["links"], result["leaving"]) == (member.sum(), inner.sum() // 2, outer.sum())


def verify_triangles(graph: RefGraph, params: Params, result: Result) -> None:
    assert not graph.directed
    near = sparse(graph)
    mine = np.asarray((near @ near).multiply(near).sum(axis=1)).ravel() / 2
    same_as(result["mine"], mine, "mine")
    assert result["total"] == mine.sum() / 3


def verify_lcc(graph: RefGraph, params: Params, result: Result) -> None:
    assert not graph.directed
    near = sparse(graph)
    closed, pairs = np.asarray((near @ near).multiply(near).sum(axis=1)).ravel(), graph.degree * (graph.degree - 1)
    near_to(result["lcc"], closed / np.maximum(pairs, 1), "lcc")


def verify_lcc_directed(graph: RefGraph, params: Params, result: Result) -> None:
    matrix, ends = sparse(graph), ends_of(graph)
    ends.data[:] = 1
    links, near = np.asarray((ends @ matrix).multiply(ends).sum(axis=1)).ravel(), np.diff(ends.indptr).astype(np.int64)
    near_to(result["lcc"], links / np.maximum(near * (near - 1), 1), "lcc")


def verify_lcc_weighted(graph: RefGraph, params: Params, result: Result) -> None:
    near = sparse(graph)
    weights = np.asarray(graph.columns.get("weight", np.ones(graph.m)), np.float64)
    near = csr_matrix((np.cbrt(weights / weights.max()), (graph.src, graph.dst)), near.shape)
    closed, pairs = np.asarray((near @ near).multiply(near).sum(axis=1)).ravel(), graph.degree * (graph.degree - 1)
    near_to(result["lcc"], closed / np.maximum(pairs, 1), "lcc")


def verify_jaccard(graph: RefGraph, params: Params, result: Result) -> None:
    near = sparse(graph).tocsr()
    both = np.asarray((near @ near)[graph.src, graph.dst], np.float64).ravel()
    score = both / (graph.degree[graph.src] + graph.degree[graph.dst] - both)
    _best(graph, score, result["likeness"], result["similar"])


def verify_adamic_adar(graph: RefGraph, params: Params, result: Result) -> None:
    near = sparse(graph).tocsr()
    share = np.where(graph.degree > 1, 1 / np.log(np.maximum(graph.degree, 2)), 0)
    score = np.asarray((near @ diags(share) @ near)[graph.src, graph.dst], np.float64).ravel()
    near_to(result["total"], np.bincount(graph.src, weights=score, minlength=graph.n), "total")
    _best(graph, score, result["index"], result["closest"])


def _best(graph: RefGraph, score: Array, found: Array, chosen: Array) -> None:
    """Check that `found` has the largest score of the edges of each vertex, and that `chosen` is a neighbour with this
    score, up to rounding.
    """
    want = np.zeros(graph.n)
    np.maximum.at(want, graph.src, score)
    near_to(found, want, "the largest score")
    good = (np.asarray(chosen)[graph.src] == graph.dst) & (score >= want[graph.src] * (1 - 1e-5))
    same_as(np.bincount(graph.src[good], minlength=graph.n) > 0, graph.degree > 0, "the neighbour with it")


def verify_core(graph: RefGraph, params: Params, result: Result) -> None:
    """Compare with the removal of vertices of least degree, one at a time. The core number of a vertex is the largest
    degree of the vertices removed so far, including this vertex.
    """
    ends, degree, k = ends_of(graph), graph.degree.tolist(), 0
    near, times, row = ends.indices.tolist(), ends.data.astype(np.int64).tolist(), ends.indptr.tolist()
    core = [-1] * graph.n
    heap = [(d, v) for v, d in enumerate(degree)]
    heapify(heap)
    while heap:
        d, v = heappop(heap)
        if core[v] >= 0 or d != degree[v]:
            continue
        k = core[v] = max(k, d)
        for at in range(row[v], row[v + 1]):
            u = near[at]
            if core[u] < 0:
                degree[u] -= times[at]
                heappush(heap, (degree[u], u))
    same_as(result["core"], core, "core")


def verify_smooth(graph: RefGraph, params: Params, result: Result) -> None:
    """Compare with the middle elements of the neighbours' sorted values."""
    tails, heads = graph.src, graph.dst
    if graph.directed:
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    count = np.bincount(tails, minlength=graph.n)
    middle = (np.cumsum(count) - count + (count - 1) // 2)[count > 0]
    values = np.array(result["x"], np.float64)
    for _ in range(params["rounds"]):
        ranked = values[heads][np.lexsort([values[heads], tails])]
        values[count > 0] = ranked[middle]
    same_as(result["smooth"], values, "smooth")


def verify_cdlp(graph: RefGraph, params: Params, result: Result) -> None:
    """Compare with a propagation that counts pairs (vertex, label) by sorting."""
    ends, label = ends_of(graph).tocoo(), np.arange(graph.n)
    for _ in range(params.get("iterations", 10)):
        pairs, at = np.unique(ends.row.astype(np.int64) * graph.n + label[ends.col], return_inverse=True)
        votes = np.bincount(at, ends.data)
        vertex, received = pairs // graph.n, pairs % graph.n
        order = np.lexsort([received, -votes, vertex])
        receivers, first = np.unique(vertex[order], return_index=True)
        label = label.copy()
        label[receivers] = received[order][first]
    same_as(result["label"], label, "label")


# ------------------------------------------------------------------ selection


def _stronger(graph: RefGraph, result: Result) -> csr_matrix:
    """Return a matrix S, where S[v, u] = 1 for neighbours u that precede v in the random order. The random numbers are
    also verified.
    """
    ends, priority = ends_of(graph).tocoo(), ((_mixed(graph.n) >> np.uint64(40)) / 2**24).astype(np.float32)
    same_as(result["priority"], priority, "priority")
    before = (priority[ends.col] < priority[ends.row]) | (
        (priority[ends.col] == priority[ends.row]) & (ends.col < ends.row))
    rows, columns = ends.row[before], ends.col[before]
    return csr_matrix((np.ones(len(rows), np.int64), (rows, columns)), shape=(graph.n, graph.n))


def verify_mis(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that a vertex is in the set exactly if no stronger neighbour is in the set. Only the greedy set has this
    property.
    """
    chosen = np.asarray(result["chosen"], np.bool_)
    same_as(chosen, _stronger(graph, result) @ chosen.astype(np.int64) == 0, "chosen")
    same_as(result["excluded"], ~chosen, "excluded")


def verify_coloring(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that a vertex has the smallest colour that no stronger neighbour has. Only the greedy colouring has this
    property.
    """
    color = np.asarray(result["color"]).astype(np.int64)
    assert (color >= 0).all()
    stronger = _stronger(graph, result).tocoo()
    received = color[stronger.col]
    assert (received != color[stronger.row]).all(), "two neighbours have the same colour"
    lower = received < color[stronger.row]
    pairs = np.unique(stronger.row[lower].astype(np.int64) * (color.max(initial=0) + 1) + received[lower])
    same_as(np.bincount(pairs // (color.max(initial=0) + 1), minlength=graph.n), color, "color")


# roughly linear in the number of edges
_AS_THEY_ARE = {
    name: VERIFIERS[name] for name in (
        "bfs", "circuit", "components", "heat", "kcore_members", "neural", "sssp", "sswp", "viterbi",
    )
} | {name: MORE_VERIFIERS[name] for name in ("belief", "cf", "components_jump", "cross_edges", "walks")}

SPARSE_VERIFIERS: dict[str, Verifier] = {
    **_AS_THEY_ARE,
    **EDGE_VERIFIERS,
    **GROUP_VERIFIERS,
    **RANK_VERIFIERS,
    "betweenness": verify_betweenness,
    "bfs_tree": verify_bfs_tree,
    "bipartite": verify_bipartite,
    "cdlp": verify_cdlp,
    "closeness": verify_closeness,
    "closeness_weighted": verify_closeness_weighted,
    "coloring": verify_coloring,
    "degree": verify_degree,
    "egonet": verify_egonet,
    "hyperanf": verify_hyperanf,
    "kcore": verify_core,
    "kcore_peel": verify_core,
    "khop": verify_khop,
    "lcc": verify_lcc,
    "adamic_adar": verify_adamic_adar,
    "jaccard": verify_jaccard,
    "lcc_directed": verify_lcc_directed,
    "lcc_weighted": verify_lcc_weighted,
    "mis": verify_mis,
    "radius": verify_radius,
    "scc": verify_scc,
    "smooth": verify_smooth,
    "soft_reach": verify_soft_reach,
    "sssp_tree": verify_sssp_tree,
    "triangles": verify_triangles,
}
