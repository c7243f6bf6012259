"""NetworKit: its algorithms in C++, with as many threads as vlang uses."""

from __future__ import annotations

import networkit
import numpy as np

from benchmarks.cpu.agreement import same_distances, same_parts, same_ranks
from benchmarks.cpu.inputs import Input
from benchmarks.cpu.peers import Array, Calls

__all__ = ["calls"]


def calls(given: Input, threads: int) -> Calls:
    """See `Calls`. PageRank stops at the tolerance of NetworKit. The time of one iteration is returned."""
    networkit.setNumberOfThreads(threads)
    edges, directed = given.graph.edges(), given.graph.directed
    weights = edges.columns.get("weight", np.ones(len(edges.src))).astype(np.float64)
    ends = (edges.src.astype(np.int64), edges.dst.astype(np.int64))
    plain = networkit.GraphFromCoo(ends, n=given.graph.n, directed=directed)
    weighted = networkit.GraphFromCoo((weights, ends), n=given.graph.n, weighted=True, directed=directed)

    def pagerank() -> tuple[Array, int]:
        sinks = networkit.centrality.SinkHandling.DistributeSinks
        found = networkit.centrality.PageRank(plain, 0.85, 1e-6, distributeSinks=sinks).run()
        return np.asarray(found.scores()), found.numberOfIterations()

    def components() -> Array:
        parts = networkit.components
        kind = parts.WeaklyConnectedComponents if directed else parts.ParallelConnectedComponents
        return np.asarray(kind(plain).run().getPartition().getVector())

    def bfs() -> Array:
        return np.asarray(networkit.distance.BFS(plain, given.source, storePaths=False).run().getDistances())

    def dijkstra() -> Array:
        return np.asarray(networkit.distance.Dijkstra(weighted, given.source, storePaths=False).run().getDistances())

    return {
        "pagerank": ("PageRank", pagerank, same_ranks),
        "bfs": ("BFS", bfs, same_distances),
        "sssp": ("Dijkstra", dijkstra, same_distances),
        "components": ("Weakly/ParallelConnected...", components, same_parts),
    }
