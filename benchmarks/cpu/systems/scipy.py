"""SciPy: sparse products and csgraph, on one thread."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra

from benchmarks.cpu.agreement import same_distances, same_parts, same_ranks, same_reach
from benchmarks.cpu.inputs import Input
from benchmarks.cpu.peers import Array, Calls

__all__ = ["calls"]

SWEEPS = 20


def calls(given: Input, threads: int) -> Calls:
    """See `Calls`."""
    graph, n = given.graph, given.graph.n
    out, into = graph.adjacency("out"), graph.adjacency("in")
    weighted = csr_matrix((out.column("weight", np.float64), out.targets.view(np.int32), out.offsets.view(np.int64)),
                          shape=(n, n))  # fmt: skip
    pull = csr_matrix((np.ones(len(into), np.float32), into.targets.view(np.int32), into.offsets.view(np.int64)),
                      shape=(n, n))  # fmt: skip
    degree = graph.out_degree.astype(np.float32)

    def pagerank() -> tuple[Array, int]:
        rank = np.full(n, 1 / n, np.float32)
        for _ in range(SWEEPS):
            share = np.divide(rank, degree, out=np.zeros_like(rank), where=degree > 0)
            lost = rank[degree == 0].sum()
            rank = np.float32((0.15 + 0.85 * lost) / n) + np.float32(0.85) * (pull @ share)
        return rank, SWEEPS

    return {
        "pagerank": ("csr_matrix @ vector", pagerank, same_ranks),
        "bfs": ("breadth_first_order", lambda: breadth_first_order(weighted, given.source)[0], same_reach),
        "sssp": ("dijkstra(indices=source)", lambda: dijkstra(weighted, indices=given.source), same_distances),
        "components": ("connected_components", lambda: connected_components(weighted, graph.directed)[1], same_parts),
    }
