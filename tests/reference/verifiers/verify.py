"""Verifiers of the programs of the standard library.

Each verifier takes the graph, the parameters and the results of a run, and checks the results by an independent
algorithm or by the property that defines them. A verifier shares nothing with the interpreter or the engine. A wrong
result raises AssertionError with a text that names the vertex. `result` maps the names of the outputs to arrays. For
unreachable vertices, integers have the largest value of their type and floats are inf; `none` is -1. Missing parameters
have the defaults of the program. If the graph has no column for an edge field of the program, the default of the field
is used.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.graph import RefGraph

__all__ = ["VERIFIERS", "verify"]

Array = NDArray[Any]
Params = Mapping[str, Any]
Result = Mapping[str, Any]
Verifier = Callable[[RefGraph, Params, Result], None]


# ------------------------------------------------------------------ helpers


def _column(graph: RefGraph, name: str, default: float) -> Array:
    """Return an edge column, rounded to f32 as programs read it, and converted to f64."""
    column = graph.columns.get(name)
    data = np.full(graph.m, default) if column is None else np.asarray(column)
    return data.astype(np.float32).astype(np.float64)


def _out_edges(graph: RefGraph) -> list[list[tuple[int, int]]]:
    """Return, for each vertex, the (edge, target) pairs of its out-edges."""
    lists: list[list[tuple[int, int]]] = [[] for _ in range(graph.n)]
    for edge, (u, v) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
        lists[u].append((edge, v))
    return lists


def _near(got: Any, want: Any, what: str, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Assert that all values are close; inf equals inf. The message names the vertex with the largest difference."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    good = np.isclose(got, want, rtol=rtol, atol=atol)
    if not good.all():
        worst = int(np.flatnonzero(~good)[0])
        raise AssertionError(f"{what} of vertex {worst} is {got[worst]!r}, expected {want[worst]!r}")


def _same(got: Any, want: Any, what: str) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    wrong = np.flatnonzero(got != want)
    assert not len(wrong), f"{what} of vertex {wrong[0]} is {got[wrong[0]]}, expected {want[wrong[0]]}"


def _hops(graph: RefGraph, source: int) -> list[int]:
    """Return the numbers of hops by breadth-first search with a queue; -1 for vertices that are not reachable."""
    depth, edges = [-1] * graph.n, _out_edges(graph)
    if source < 0:
        return depth
    depth[source] = 0
    queue = deque([source])
    while queue:
        u = queue.popleft()
        for _, v in edges[u]:
            if depth[v] < 0:
                depth[v] = depth[u] + 1
                queue.append(v)
    return depth


def _best_first(graph: RefGraph, source: int, start: float, extend: Callable[[float, int], float], sign: int) -> Array:
    """Run Dijkstra's algorithm with any extension that never improves a value.

    Args:
        graph: The graph.
        source: The first vertex.
        start: The value of the first vertex.
        extend: A function that computes the value at the end of an edge. Its arguments are the value at the start of
            the edge, and the number of the edge.
        sign: 1 if smaller values are better, -1 if larger values are better.
    """
    best = np.full(graph.n, np.inf * sign if sign > 0 else 0.0)
    if source < 0:
        return best
    best[source] = start
    edges, done = _out_edges(graph), np.zeros(graph.n, np.bool_)
    heap = [(sign * start, source)]
    while heap:
        _, u = heapq.heappop(heap)
        if done[u]:
            continue
        done[u] = True
        for edge, v in edges[u]:
            offer = extend(float(best[u]), edge)
            if sign * offer < sign * best[v]:
                best[v] = offer
                heapq.heappush(heap, (sign * offer, v))
    return best


def _matrix(graph: RefGraph, values: Array) -> Array:
    """Return a dense matrix A, where A[v, u] is the sum of the values of the edges u -> v."""
    matrix = np.zeros((graph.n, graph.n))
    np.add.at(matrix, (graph.dst, graph.src), values)
    return matrix


def _tree(graph: RefGraph, source: int, value: Array, parent: Array, length: Array, exact: bool) -> None:
    """Assert that each parent is on a shortest path, and, if `exact`, is the smallest vertex on a shortest path.

    Args:
        graph: The graph.
        source: The root; -1 if there is no root.
        value: The distance of each vertex, inf where unreachable.
        parent: The parent of each vertex, -1 for `none`.
        length: The length of each stored edge.
        exact: Whether distances are exact instead of rounded.
    """
    unreached = ~np.isfinite(value)
    assert (parent[unreached] == -1).all(), "a vertex that was not reached has a parent"
    if source < 0:
        return
    assert parent[source] == source, f"the parent of the source {source} is {parent[source]}"
    offers = value[graph.src] + length
    tight = offers == value[graph.dst] if exact else np.isclose(offers, value[graph.dst], rtol=1e-5, atol=1e-6)
    for v in np.flatnonzero(~unreached).tolist():
        if v == source:
            continue
        allowed = set(graph.src[(graph.dst == v) & tight].tolist())
        assert int(parent[v]) in allowed, f"the parent of vertex {v} is {parent[v]}, not on a shortest path"
        if exact:
            assert int(parent[v]) == min(allowed), f"the parent of vertex {v} is {parent[v]}, expected {min(allowed)}"


# ------------------------------------------------------------------ searches


def verify_bfs(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `depth` is the number of hops from the source, or the largest int for unreachable vertices."""
    depth = np.asarray(result["depth"])
    want = np.array(_hops(graph, params["source"]), np.int64)
    _same(depth, np.where(want < 0, np.iinfo(depth.dtype).max, want).astype(depth.dtype), "depth")


def verify_bfs_tree(graph: RefGraph, params: Params, result: Result) -> None:
    """Check `depth` as for bfs, and that `parent` is the smallest neighbour that is one hop nearer to the source."""
    verify_bfs(graph, params, result)
    depth = np.asarray(result["depth"])
    value = np.where(depth == np.iinfo(depth.dtype).max, np.inf, depth)
    _tree(graph, params["source"], value, np.asarray(result["parent"]), np.ones(graph.m), exact=True)


def verify_sssp(graph: RefGraph, params: Params, result: Result) -> None:
    """Compare `dist` with the result of Dijkstra's algorithm."""
    weight = _column(graph, "weight", 1)
    want = _best_first(graph, params["source"], 0.0, lambda d, e: d + float(weight[e]), 1)
    _near(result["dist"], want, "dist")


def verify_sssp_tree(graph: RefGraph, params: Params, result: Result) -> None:
    """Check `dist` as for sssp, and that `parent` is the smallest predecessor on a shortest path, in f32 arithmetic."""
    verify_sssp(graph, params, result)
    dist = np.asarray(result["dist"])
    weight = _column(graph, "weight", 1).astype(dist.dtype)
    _tree(graph, params["source"], dist, np.asarray(result["parent"]), weight, exact=True)


def verify_sswp(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `width` is the largest bottleneck of a path: inf at the source, and 0 for unreachable vertices."""
    bandwidth = _column(graph, "bandwidth", 1)
    want = _best_first(graph, params["source"], np.inf, lambda w, e: min(w, float(bandwidth[e])), -1)
    _near(result["width"], want, "width", rtol=0, atol=0)


def verify_viterbi(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `best` is the largest product of probabilities along a path."""
    chance = _column(graph, "chance", 1)
    want = _best_first(graph, params["source"], 1.0, lambda p, e: p * float(chance[e]), -1)
    _near(result["best"], want, "best", atol=1e-30)


# ------------------------------------------------------------------ components and cores


def verify_components(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `label` is the smallest vertex of the weakly connected component, which union-find computes."""
    root = list(range(graph.n))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        a, b = find(u), find(v)
        root[max(a, b)] = min(a, b)
    _same(result["label"], np.array([find(v) for v in range(graph.n)], np.int64), "label")


def verify_kcore_members(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `alive` equals the result of removing, one at a time, vertices whose degree is too small."""
    k = int(params["k"])
    near: list[list[int]] = [[] for _ in range(graph.n)]
    for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        near[v].append(u)
        if graph.directed:
            near[u].append(v)
    degree = [len(ends) for ends in near]
    alive = [True] * graph.n
    weak = [v for v in range(graph.n) if degree[v] < k]
    while weak:
        v = weak.pop()
        if not alive[v]:
            continue
        alive[v] = False
        for u in near[v]:
            degree[u] -= 1
            if alive[u] and degree[u] < k:
                weak.append(u)
    _same(result["alive"], np.array(alive, np.bool_).reshape(graph.n), "alive")


# ------------------------------------------------------------------ linear algebra


def _solve(matrix: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix, right)) if len(right) else right


def verify_pagerank(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `rank` solves the linear system of PageRank with shared dangling mass, and that its sum is 1."""
    damping, tol = float(params.get("damping", 0.85)), float(params.get("tol", 1.5e-7))
    n = graph.n
    rank = np.asarray(result["rank"], np.float64)
    assert rank.shape == (n,), f"rank has shape {rank.shape}"
    if n == 0:
        return
    degree = graph.outdegree
    step = _matrix(graph, 1 / np.maximum(degree, 1)[graph.src])
    step[:, degree == 0] += 1 / n
    want = _solve(np.eye(n) - damping * step, np.full(n, (1 - damping) / n))
    slack = damping / max(1 - damping, 1e-9) * tol + 1e-5  # the error of the tolerance, and that of f32
    error = abs(rank - want).sum()
    assert error <= slack, f"rank is {error:.3g} from the solution, {slack:.3g} allowed"


def verify_rwr(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `p` solves the equation of the random walk with restart at `source`."""
    restart, source = float(params.get("restart", 0.15)), int(params["source"])
    n, weight = graph.n, _column(graph, "weight", 1)
    total = np.bincount(graph.src, weight, n)
    step = _matrix(graph, weight / np.where(total > 0, total, 1)[graph.src])
    step[source, total == 0] += 1
    right = np.zeros(n)
    right[source] = restart
    _near(result["p"], _solve(np.eye(n) - (1 - restart) * step, right), "p", rtol=1e-4, atol=1e-5)


def verify_katz(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `x` solves x = alpha A x + beta, if the iteration contracts."""
    alpha, beta = float(params.get("alpha", 0.05)), float(params.get("beta", 1.0))
    matrix = _matrix(graph, np.ones(graph.m))
    if graph.n and max(abs(np.linalg.eigvals(matrix))) * alpha >= 0.99:
        return
    want = _solve(np.eye(graph.n) - alpha * matrix, np.full(graph.n, beta))
    _near(result["x"], want, "x", rtol=1e-4, atol=1e-5)


def verify_spmv(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `y` is A x."""
    x = np.asarray(result["x"], np.float64)
    a = _column(graph, "a", 1)
    size = _matrix(graph, abs(a)) @ abs(x)  # scale of the rounding of f32 products
    error = abs(np.asarray(result["y"], np.float64) - _matrix(graph, a) @ x)
    bad = np.flatnonzero(error > 1e-6 * size + 1e-30)
    assert not len(bad), f"y of vertex {bad[0]} is off by {error[bad[0]]:.3g}"


def verify_circuit(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `v` extends the fixed voltages harmonically, up to the tolerance, in every component with a fixed
    voltage.
    """
    g = _column(graph, "g", 1)
    fixed, v = np.asarray(result["fixed"], np.bool_), np.asarray(result["v"], np.float64)
    load = np.bincount(graph.dst, g, graph.n)
    _near(result["load"], load, "load")
    free = ~fixed & (load > 0)
    current = np.bincount(graph.dst, g * v[graph.src], graph.n)
    residual = abs(v - current / np.where(load > 0, load, 1))[free]
    assert (residual <= 10 * float(params.get("tol", 1e-5)) + 1e-5).all(), f"largest residual {residual.max():.3g}"


# ------------------------------------------------------------------ stepwise


def _stepwise(
    graph: RefGraph, start: Array, step: Callable[[Array], Array], tol: float, rounds: int = 100_000
) -> Array:
    """Repeat a step in f64 until the value of every vertex differs by at most `tol` from the value that the vertex last
    sent.
    """
    x = start.astype(np.float64)
    sent, active = np.zeros_like(x), np.ones(len(x), np.bool_)
    for _ in range(rounds):
        sent = np.where(active, x, sent)
        x = step(x)
        active = abs(x - sent) > tol
        if not active.any():
            break
    return x


def verify_heat(graph: RefGraph, params: Params, result: Result, start: Array | None = None) -> None:
    """Check that `q` has converged: the net flow into every vertex is within the tolerance. If `start` is given, also
    check the state.
    """
    tol, coeff = float(params.get("tol", 0.01)), _column(graph, "coeff", 0.1)
    n = graph.n

    def flow(q: Array) -> Array:
        return np.asarray(np.bincount(graph.dst, (q[graph.src] - q[graph.dst]) * coeff, n))

    q = np.asarray(result["q"], np.float64)
    # one more step changes a vertex by at most the last change times its largest inflow
    growth = 1 + 2 * np.bincount(graph.dst, coeff, n).max(initial=0)
    assert (abs(flow(q)) <= growth * tol + 1e-5).all(), f"flow of {abs(flow(q)).max():.3g} at the end"
    if start is not None:
        want = _stepwise(graph, np.asarray(start), lambda x: x + flow(x), tol)
        _near(q, want, "q", rtol=1e-4, atol=2 * tol)


def verify_neural(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `x` is a fixed point of tanh of the weighted inputs, up to the tolerance."""
    weight, n = _column(graph, "weight", 1), graph.n
    x = np.asarray(result["x"], np.float64)
    inside = np.tanh(np.bincount(graph.dst, x[graph.src] * weight, n))
    growth = 1 + np.bincount(graph.dst, abs(weight), n).max(initial=0)
    error = abs(x - inside)
    assert (error <= growth * float(params.get("tol", 1e-4)) + 1e-5).all(), f"x moves by {error.max():.3g} at the end"


def verify_smooth(graph: RefGraph, params: Params, result: Result) -> None:
    """Check that `smooth` equals NumPy's lower medians of the neighbours' values, computed `rounds` times."""
    tails, heads = (graph.src, graph.dst) if not graph.directed else (
        np.concatenate([graph.src, graph.dst]), np.concatenate([graph.dst, graph.src]))
    near = [heads[tails == v] for v in range(graph.n)]
    values = np.asarray(result["x"], np.float64)
    for _ in range(params["rounds"]):
        values = np.array([np.quantile(values[u], 0.5, method="lower") if len(u) else values[v]
                           for v, u in enumerate(near)])
    _same(result["smooth"], values, "smooth")


VERIFIERS: dict[str, Verifier] = {
    "bfs": verify_bfs,
    "bfs_tree": verify_bfs_tree,
    "circuit": verify_circuit,
    "components": verify_components,
    "heat": verify_heat,
    "katz": verify_katz,
    "kcore_members": verify_kcore_members,
    "neural": verify_neural,
    "pagerank": verify_pagerank,
    "rwr": verify_rwr,
    "spmv": verify_spmv,
    "sssp": verify_sssp,
    "sssp_tree": verify_sssp_tree,
    "sswp": verify_sswp,
    "viterbi": verify_viterbi,
}


def verify(name: str, graph: RefGraph, params: Params, result: Result, fields: Result | None = None) -> None:
    """Check the results of the program `name`.

    Args:
        name: The program.
        graph: The graph.
        params: Vertices as dense numbers; missing parameters have the defaults of the program.
        result: The arrays of the outputs by name.
        fields: The input fields of the run. The input fields allow further checks of outputs whose initial values are
            inputs.

    Raises:
        AssertionError: A result is wrong; the message names the vertex.
    """
    if name == "heat" and fields is not None:
        verify_heat(graph, params, result, fields["q"])
    else:
        VERIFIERS[name](graph, params, result)
