"""igraph: the calls of its Python interface, on one thread."""

from __future__ import annotations

import igraph
import numpy as np

from benchmarks.cpu.agreement import same_distances, same_parts, same_scores
from benchmarks.cpu.inputs import Input
from benchmarks.cpu.peers import Array, Calls

__all__ = ["calls"]


def calls(given: Input, threads: int) -> Calls:
    """See `Calls`. Weights are converted to a list, because igraph accepts no arrays."""
    edges = given.graph.edges()
    pairs = np.column_stack([edges.src, edges.dst]).astype(np.int64)
    graph = igraph.Graph(given.graph.n, pairs, directed=given.graph.directed)
    weights = edges.columns["weight"].astype(np.float64).tolist() if "weight" in edges.columns else None
    source = given.source

    def betweenness() -> Array:
        score = np.asarray(graph.betweenness(sources=[source]))
        return score if given.graph.directed else 2 * score  # igraph counts each pair once

    return {
        "bfs": ("distances(source)", lambda: np.asarray(graph.distances(source=source)[0]), same_distances),
        "sssp": ("distances(source, weights=)",
                 lambda: np.asarray(graph.distances(source=source, weights=weights)[0]), same_distances),
        "components": ("connected_components(weak)",
                       lambda: np.asarray(graph.connected_components(mode="weak").membership), same_parts),
        "betweenness": ("betweenness(sources=)", betweenness, same_scores),
    }  # fmt: skip
