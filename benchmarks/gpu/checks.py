"""Checks of results by NumPy and SciPy, computed from the adjacency lists alone.

All weights are positive. Levels and distances are therefore right if and only if the value of every vertex except the
source is the minimum over its in-edges. One pass over the edges checks that every value is this minimum. A sweep of
PageRank is repeated in f64. Labels are compared with SciPy's components.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gpu.inputs import Input
from vlang import Result
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.threads.workers import on_threads

__all__ = ["check_components", "check_levels", "check_paths", "check_sweep"]

Array = NDArray[Any]
PARTS = 64


def check_levels(given: Input, result: Result) -> None:
    """Check the number of hops from the source to each vertex. Raises AssertionError if a value is wrong."""
    depth = np.where(result.reached("depth"), result["depth"], np.inf)
    near = _reduced(given.graph.adjacency("in"), lambda u, edges: depth[u], np.minimum, np.inf)
    _same("hops", given.source, depth, near + 1)


def check_paths(given: Input, result: Result) -> None:
    """Check the distance from the source to each vertex. Raises AssertionError if a value is wrong."""
    adjacency = given.graph.adjacency("in")
    weight, dist = adjacency.column("weight", np.float32), result["dist"].astype(np.float64)
    near = _reduced(adjacency, lambda u, edges: dist[u] + weight[edges], np.minimum, np.inf)
    _same("distances", given.source, dist, near)


def check_sweep(given: Input, before: Result, after: Result, damping: float = 0.85) -> None:
    """Check that `after` is one sweep of PageRank after `before`.

    Args:
        given: the graph.
        before, after: two results.
        damping: the damping factor of PageRank.

    Raises:
        AssertionError: a rank has a relative error of more than 1e-5.
    """
    rank, degree = before["rank"].astype(np.float64), given.graph.out_degree
    share = np.divide(rank, degree, out=np.zeros_like(rank), where=degree > 0)
    inflow = _reduced(given.graph.adjacency("in"), lambda u, edges: share[u], np.add, 0.0)
    want = (1 - damping + damping * rank[degree == 0].sum()) / given.graph.n + damping * inflow
    worst = float(np.max(np.abs(after["rank"] - want) / want))
    assert worst < 1e-5, f"a rank is off by {worst:.1e} of itself"
    total = float(after["rank"].sum(dtype=np.float64))
    assert abs(total - 1) < 1e-4, f"the ranks sum to {total}"


def check_components(given: Input, result: Result) -> None:
    """Check that each label is the smallest vertex of a component of a symmetric graph. Raises AssertionError if a
    label is wrong.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    n, adjacency = given.graph.n, given.graph.adjacency("in")
    assert not given.graph.directed
    entries = np.ones(len(adjacency), np.int8), adjacency.targets.view(np.int32), adjacency.offsets.view(np.int64)
    matrix = csr_matrix(entries, shape=(n, n))
    # Strong components of a symmetric graph are its components, and SciPy needs no transpose for them.
    count, number = connected_components(matrix, directed=True, connection="strong")
    first = np.empty(count, np.int64)
    first[number[::-1]] = np.arange(n)[::-1]  # the last value written to an index is the smallest
    wrong = int((result["label"] != first[number]).sum())
    assert not wrong, f"{wrong} labels of {n} are wrong"


def _same(what: str, source: int, have: Array, want: Array) -> None:
    want[source] = 0
    wrong = int((have != want).sum())
    assert not wrong, f"{wrong} {what} of {len(have)} are wrong"
    assert np.isfinite(have).sum() > 1, f"no {what} but the source's"


def _reduced(
    adjacency: Adjacency, offered: Callable[[Array, slice], Array], reduce: np.ufunc, empty: float
) -> NDArray[np.float64]:
    """Return the reduction of the entries of each row, float64[n].

    offered(targets, positions) returns the values of the entries at the given positions.
    """
    offsets = adjacency.offsets.view(np.int64)
    n = len(offsets) - 1
    out = np.full(n, empty)
    ends = np.searchsorted(offsets, np.linspace(0, offsets[-1], PARTS + 1)[1:-1].astype(np.int64))
    cuts = sorted({0, n, *(int(end) for end in ends)})

    def work(rows: tuple[int, int]) -> None:
        filled = rows[0] + np.flatnonzero(np.diff(offsets[rows[0] : rows[1] + 1]))
        edges = slice(int(offsets[rows[0]]), int(offsets[rows[1]]))
        if len(filled):
            values = offered(adjacency.targets[edges], edges)
            out[filled] = reduce.reduceat(values, offsets[filled] - edges.start)

    on_threads(16, work, list(pairwise(cuts)))
    return out
