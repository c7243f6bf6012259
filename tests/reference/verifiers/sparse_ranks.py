"""Verifiers of ranks and other solutions of equations: fixed points of sparse matrices in 64 bits.

The equation of a program, with default parameters, is solved to 1e-14 by sparse products of SciPy. Results are compared
vertex by vertex. `verify_sparse` also uses the helpers of this module.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import eigsh

from tests.reference.graph import RefGraph
from tests.reference.verifiers.verify import Array, Params, Result, Verifier

__all__ = ["RANK_VERIFIERS", "ends_of", "near_to", "read_column", "same_as", "sparse"]


# ------------------------------------------------------------------ helpers


def same_as(got: object, want: object, what: str) -> None:
    """Assert equal values at every vertex."""
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), err_msg=what)


def near_to(got: object, want: object, what: str, rtol: float = 1e-4, atol: float = 1e-6) -> None:
    """Assert close values at every vertex.

    Args:
        got: The values of the program.
        want: The expected values.
        what: The name of the values, for the message.
        rtol: Relative tolerance.
        atol: Absolute tolerance.
    """
    np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(want), rtol=rtol, atol=atol, err_msg=what)


def read_column(graph: RefGraph, name: str, default: float) -> Array:
    """Return an edge column, rounded to f32 as programs read it, and converted to f64."""
    column = graph.columns.get(name)
    return np.full(graph.m, default) if column is None else column.astype(np.float32).astype(np.float64)


def sparse(graph: RefGraph, values: Array | None = None) -> csr_matrix:
    """Return a sparse matrix A, where A[u, v] is the sum of the values of the edges u -> v."""
    data = np.ones(graph.m) if values is None else values
    return csr_matrix((data, (graph.src, graph.dst)), shape=(graph.n, graph.n))


def ends_of(graph: RefGraph) -> csr_matrix:
    """Return a sparse matrix E, where E[v, u] is the number of edges of v whose other end is u."""
    matrix = sparse(graph)
    return (matrix + matrix.T).tocsr() if graph.directed else matrix


def _fixpoint(step: Callable[[Array], Array], start: Array) -> Array:
    """Return the fixed point of a contraction. The error of the result is at most 1e-14 of the largest value."""
    x = start.astype(np.float64)
    for _ in range(20_000):
        before, x = x, step(x)
        if abs(x - before).max(initial=0) <= 1e-14 * abs(x).max(initial=0):
            return x
    raise AssertionError("the verifier's own iteration does not converge")


def _walk(graph: RefGraph, weight: Array) -> csr_matrix:
    """Return a sparse matrix P, where P[v, u] is the probability of a step from u to v. Columns of dead ends are 0."""
    matrix = sparse(graph, weight)
    total = np.asarray(matrix.sum(axis=1)).ravel()
    return (diags(1 / np.where(total > 0, total, 1)) @ matrix).T.tocsr()


# ------------------------------------------------------------------ random walks


def verify_pagerank(graph: RefGraph, params: Params, result: Result) -> None:
    n, walk, lost = graph.n, _walk(graph, np.ones(graph.m)), graph.outdegree == 0
    want = _fixpoint(lambda x: (0.15 + 0.85 * x[lost].sum()) / n + 0.85 * (walk @ x), np.full(n, 1 / n))
    near_to(result["rank"], want, "rank", rtol=1e-3, atol=1e-9)
    assert abs(np.asarray(result["rank"], np.float64) - want).sum() < 0.85 / 0.15 * 1e-6 + 1e-6


def verify_pagerank_delta(graph: RefGraph, params: Params, result: Result) -> None:
    walk = _walk(graph, np.ones(graph.m))
    want = _fixpoint(lambda x: 0.15 + 0.85 * (walk @ x), np.full(graph.n, 0.15))
    near_to(result["rank"], want, "rank", atol=1e-4)


def verify_pagerank_rounds(graph: RefGraph, params: Params, result: Result) -> None:
    n, walk, lost = graph.n, _walk(graph, np.ones(graph.m)), graph.outdegree == 0
    rank = np.full(n, 1 / n)
    for _ in range(params.get("iterations", 10)):
        rank = (0.15 + 0.85 * rank[lost].sum()) / n + 0.85 * (walk @ rank)
    near_to(result["rank"], rank, "rank", rtol=1e-5, atol=0)


def verify_pagerank_weighted(graph: RefGraph, params: Params, result: Result) -> None:
    weight, n = read_column(graph, "weight", 1), graph.n
    total = np.bincount(graph.src, weight, n)
    walk, lost = _walk(graph, weight), total == 0
    want = _fixpoint(lambda x: (0.15 + 0.85 * x[lost].sum()) / n + 0.85 * (walk @ x), np.full(n, 1 / n))
    near_to(result["rank"], want, "rank", rtol=1e-3, atol=1e-8)
    near_to(result["total"], total, "total")


def verify_ppr(graph: RefGraph, params: Params, result: Result) -> None:
    walk, lost, jump = _walk(graph, np.ones(graph.m)), graph.outdegree == 0, np.zeros(graph.n)
    jump[params["seeds"]] = 1 / len(params["seeds"])
    want = _fixpoint(lambda x: (0.15 + 0.85 * x[lost].sum()) * jump + 0.85 * (walk @ x), jump)
    near_to(result["rank"], want, "rank", rtol=1e-3, atol=1e-6)


def verify_rwr(graph: RefGraph, params: Params, result: Result) -> None:
    weight = read_column(graph, "weight", 1)
    walk, lost = _walk(graph, weight), np.bincount(graph.src, weight, graph.n) == 0
    restart = np.eye(1, graph.n, params["source"])[0]
    want = _fixpoint(lambda x: (0.15 + 0.85 * x[lost].sum()) * restart + 0.85 * (walk @ x), restart)
    near_to(result["p"], want, "p", rtol=1e-3, atol=1e-6)


def verify_php(graph: RefGraph, params: Params, result: Result) -> None:
    walk, home = _walk(graph, read_column(graph, "weight", 1)), np.eye(1, graph.n, params["source"])[0]
    want = _fixpoint(lambda x: np.where(home > 0, 1, 0.8 * (walk @ x)), home)
    near_to(result["p"], want, "p", rtol=1e-3, atol=5e-6)


# ------------------------------------------------------------------ linear algebra


def verify_katz(graph: RefGraph, params: Params, result: Result) -> None:
    into = sparse(graph).T.tocsr()
    want = _fixpoint(lambda x: params["alpha"] * (into @ x) + 1, np.zeros(graph.n))
    near_to(result["x"], want, "x")


def verify_linbp(graph: RefGraph, params: Params, result: Result) -> None:
    h, ends, prior = params["h"], ends_of(graph), np.asarray(result["prior"], np.float64)

    def step(b: Array) -> Array:
        apart = b - b[:, ::-1]
        return np.asarray(prior + h * (ends @ apart) - 2 * h**2 * graph.degree[:, None] * apart)

    near_to(result["b"], _fixpoint(step, prior), "b", atol=1e-5)


def verify_spmv(graph: RefGraph, params: Params, result: Result) -> None:
    x, a = np.asarray(result["x"], np.float64), read_column(graph, "a", 1)
    size = sparse(graph, abs(a)).T @ abs(x)  # scale of the rounding of f32 products
    error = abs(np.asarray(result["y"], np.float64) - sparse(graph, a).T @ x)
    assert (error <= 1e-6 * size + 1e-30).all()


def verify_eigenvector(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that a step changes `x` by at most the tolerance. For undirected graphs, also compare with SciPy's vector.
    """
    x, tol = np.asarray(result["x"], np.float64), float(params.get("tol", 1e-6)) * graph.n
    assert abs(np.linalg.norm(x) - 1) < 1e-4
    assert (x >= 0).all()
    moved = x + sparse(graph).T @ x
    assert abs(moved / np.linalg.norm(moved) - x).sum() < 2 * tol
    if not graph.directed:
        vectors = eigsh(sparse(graph), k=1, v0=np.ones(graph.n))[1]
        assert abs(abs(vectors[:, 0]) - x).sum() < 100 * tol


def verify_hits(graph: RefGraph, params: Params, result: Result) -> None:
    matrix, hub, auth = sparse(graph), np.ones(graph.n), np.ones(graph.n)
    back = matrix.T.tocsr()
    for _ in range(200):
        before, auth = auth, back @ hub
        auth = auth / np.linalg.norm(auth)
        hub = matrix @ auth
        hub = hub / np.linalg.norm(hub)
        if abs(auth - before).max() < 1e-6:
            break
    near_to(result["auth"], auth, "auth", rtol=1e-3, atol=1e-5)
    near_to(result["hub"], hub, "hub", rtol=1e-3, atol=1e-5)


RANK_VERIFIERS: dict[str, Verifier] = {
    "eigenvector": verify_eigenvector,
    "hits": verify_hits,
    "katz": verify_katz,
    "linbp": verify_linbp,
    "pagerank": verify_pagerank,
    "pagerank_delta": verify_pagerank_delta,
    "pagerank_rounds": verify_pagerank_rounds,
    "pagerank_weighted": verify_pagerank_weighted,
    "php": verify_php,
    "ppr": verify_ppr,
    "rwr": verify_rwr,
    "spmv": verify_spmv,
}
