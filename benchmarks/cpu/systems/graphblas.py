"""python-graphblas on SuiteSparse:GraphBLAS, with the linear-algebra algorithms of its documentation."""

from __future__ import annotations

import graphblas as gb
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, semiring
from scipy.sparse import csr_matrix

from benchmarks.cpu.agreement import same_distances, same_ranks
from benchmarks.cpu.inputs import Input
from benchmarks.cpu.peers import Array, Calls
from vlang.runtime.graph.topology.adjacency import Adjacency

__all__ = ["calls"]

SWEEPS = 20


def calls(given: Input, threads: int) -> Calls:
    """See `Calls`. Parallel edges become one entry of the matrix, whose value is the number of parallel edges."""
    gb.ss.config["nthreads"] = threads
    n, source = given.graph.n, given.source
    out, pull = (_matrix(given.graph.adjacency(kind), n) for kind in ("out", "in"))
    degree = given.graph.out_degree.astype(np.float32)

    def pagerank() -> tuple[Array, int]:
        rank = Vector.from_dense(np.full(n, 1 / n, np.float32))
        by = Vector.from_dense(np.where(degree > 0, degree, np.inf).astype(np.float32))
        sinks = Vector.from_dense((degree == 0).astype(np.float32))
        for _ in range(SWEEPS):
            lost = float((rank.ewise_mult(sinks, binary.times)).reduce(monoid.plus).new().value)
            share = rank.ewise_mult(by, binary.truediv).new(dtype="FP32")
            rank(binary.second) << np.float32((0.15 + 0.85 * lost) / n)
            rank(binary.plus) << semiring.plus_times(pull @ share.apply(binary.times, right=np.float32(0.85)).new())
        return rank.to_dense(), SWEEPS

    def bfs() -> Array:
        depth, front = Vector("INT32", n), Vector("BOOL", n)
        depth[source], front[source] = 0, True
        level = 0
        while front.nvals:
            level += 1
            front(~depth.S, replace=True) << semiring.any_pair(front @ out)
            depth(front.S) << level
        return np.asarray(depth.to_dense(fill_value=-1))

    return {
        "pagerank": ("semiring.plus_times(A @ x)", pagerank, same_ranks),
        "bfs": ("semiring.any_pair(q @ A)", bfs, same_distances),
    }


def _matrix(lists: Adjacency, n: int) -> Matrix:
    arrays = np.ones(len(lists), np.float32), lists.targets.view(np.int32), lists.offsets.view(np.int64)
    entries = csr_matrix(arrays, shape=(n, n), copy=True)
    entries.sum_duplicates()
    return Matrix.from_csr(entries.indptr.astype(np.uint64), entries.indices.astype(np.uint64), entries.data, ncols=n)
