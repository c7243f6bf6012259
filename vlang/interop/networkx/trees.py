"""Shortest paths themselves (not only their lengths), computed from the tree of parents that a search returns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.interop.networkx.answers import position
from vlang.interop.networkx.converted import VlangGraph
from vlang.interop.networkx.running import run

__all__ = ["single_source_dijkstra_path", "single_source_shortest_path"]


def single_source_shortest_path(G: VlangGraph, source: Any, cutoff: float | None = None) -> dict[Any, list[Any]]:
    """Same result and arguments as for `networkx.single_source_shortest_path`."""
    place = position(G, source, f"Source {source} not in G")
    found = run("bfs_tree", G.simple(), source=place)
    depths, reached = found["depth"], found.reached("depth")
    near = reached if cutoff is None else reached & ((depths < cutoff + 1) | (depths == 0))
    return _paths(G, depths, found["parent"], near)


def single_source_dijkstra_path(
    G: VlangGraph, source: Any, cutoff: float | None = None, weight: Hashable = "weight"
) -> dict[Any, list[Any]]:
    """Same result and arguments as for `networkx.single_source_dijkstra_path`.

    Raises NotImplementedError for a weight that is not above 0, because the parents would then form no tree.
    """
    place = position(G, source, f"Node {source} not found in graph")
    if len(G.ends.src) and G.weights(weight).low <= 0:
        raise NotImplementedError(f"the edge attribute {weight!r} has values that are not above 0")
    found = run("sssp_tree", G.nearest(weight), source=place)
    near = np.isfinite(found["dist"])
    if cutoff is not None:
        near &= found["dist"] <= cutoff
        near[place] = True
    return _paths(G, found["dist"], found["parent"], near)


def _paths(
    G: VlangGraph, lengths: NDArray[Any], parents: NDArray[Any], near: NDArray[np.bool_]
) -> dict[Any, list[Any]]:
    """The path to each requested node, nearest nodes first. The source is its own parent.

    Args:
        G: the graph.
        lengths: the length of the path to each node, [nodes]. The length increases from parent to child.
        parents: the position of the parent of each node, [nodes].
        near: whether a node is requested, [nodes]; the parents of requested nodes must be requested as well.
    """
    places = np.flatnonzero(near)
    places = places[np.argsort(lengths[places], kind="stable")]
    nodes, found = G.nodes, dict[Any, list[Any]]()
    for place, parent in zip(places.tolist(), parents[places].tolist()):
        found[nodes[place]] = [*found[nodes[parent]], nodes[place]] if parent != place else [nodes[place]]
    return found
