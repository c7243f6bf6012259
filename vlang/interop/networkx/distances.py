"""Functions of the numbers of hops between all pairs of nodes, such as closeness, harmonic centrality and eccentricity.

No distances of pairs are stored. Searches from 512 nodes run at the same time, and each node sums its distances from
these 512 nodes.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import networkx
import numpy as np
from numpy.typing import NDArray

from vlang.interop.networkx.answers import by_node, chosen
from vlang.interop.networkx.converted import VlangGraph
from vlang.interop.networkx.running import run
from vlang.runtime.graph.graph import Graph

__all__ = [
    "average_shortest_path_length", "center", "closeness_centrality", "diameter", "eccentricity", "global_efficiency",
    "harmonic_centrality", "periphery", "radius", "wiener_index",
]

_WORDS = 8
_SOURCES = 64 * _WORDS


class _Sums(NamedTuple):
    """Sums for each node over the other sources from which the node is reached. The sums are arrays of shape [nodes].

    Attributes:
        reached: the number of these other sources.
        far: the sum of the numbers of hops.
        near: the sum of 1 / h over these sources, where h is the number of hops.
        farthest: the largest number of hops.
    """

    reached: NDArray[np.int64]
    far: NDArray[np.int64]
    near: NDArray[np.float64]
    farthest: NDArray[np.int64]


def closeness_centrality(
    G: VlangGraph, u: Any = None, distance: Hashable | None = None, wf_improved: bool = True
) -> Any:
    """Same result and arguments as for `networkx.closeness_centrality`."""
    n = len(G)
    if u is not None:
        if u not in G:
            raise networkx.NodeNotFound(f"Source {u} is not in G")
        depths = run("bfs", G.simple(backwards=True), source=G.index[u])
        hops = depths["depth"][depths.reached("depth")]
        return _closeness(np.array([len(hops) - 1]), np.array([int(hops.sum())]), n, wf_improved).tolist()[0]
    sums = _to_each(G.simple())
    return by_node(G, _closeness(sums.reached, sums.far, n, wf_improved))


def harmonic_centrality(
    G: VlangGraph, nbunch: Any = None, distance: Hashable | None = None, sources: Any = None
) -> dict[Any, Any]:
    """Same result and arguments as for `networkx.harmonic_centrality`."""
    asked = set(chosen(G, nbunch)[0])  # a set, to get the same order as NetworkX
    starts = chosen(G, sources)[0]
    places = np.unique(np.array([G.index[node] for node in starts], dtype=np.int64))
    near = _to_each(G.simple(), places).near.tolist()
    return {node: near[G.index[node]] or 0 for node in asked}


def eccentricity(G: VlangGraph, v: Any = None, sp: None = None, weight: Hashable | None = None) -> Any:
    """Same result and arguments as for `networkx.eccentricity`."""
    nodes, single = chosen(G, v)
    if not nodes:
        return {}
    if single or len(nodes) <= _WORDS:
        found = {node: _farthest(G, node) for node in nodes}
        return found[v] if single else found
    farthest = _eccentricities(G)
    return {node: farthest[G.index[node]] for node in nodes}


def diameter(
    G: VlangGraph, e: Mapping[Any, Any] | None = None, usebounds: bool = False, weight: Hashable | None = None
) -> Any:
    """Same result and arguments as for `networkx.diameter`."""
    return max(_by_node_or(G, e).values())


def radius(
    G: VlangGraph, e: Mapping[Any, Any] | None = None, usebounds: bool = False, weight: Hashable | None = None
) -> Any:
    """Same result and arguments as for `networkx.radius`."""
    return min(_by_node_or(G, e).values())


def center(
    G: VlangGraph, e: Mapping[Any, Any] | None = None, usebounds: bool = False, weight: Hashable | None = None
) -> list[Any]:
    """Same result and arguments as for `networkx.center`."""
    if e is None and len(G) == 0 and not G.directed:
        raise networkx.NetworkXPointlessConcept("G has no nodes.")
    found = _by_node_or(G, e)
    least = min(found.values())
    return [node for node, value in found.items() if value == least]


def periphery(
    G: VlangGraph, e: Mapping[Any, Any] | None = None, usebounds: bool = False, weight: Hashable | None = None
) -> list[Any]:
    """Same result and arguments as for `networkx.periphery`."""
    found = _by_node_or(G, e)
    most = max(found.values())
    return [node for node, value in found.items() if value == most]


def average_shortest_path_length(G: VlangGraph, weight: Hashable | None = None, method: str | None = None) -> Any:
    """Same result and arguments as for `networkx.average_shortest_path_length`."""
    n = len(G)
    if n == 0:
        raise networkx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length")
    if n == 1:
        return 0
    sums = _to_each(G.simple())
    if int(sums.reached.min()) < n - 1:
        raise networkx.NetworkXError(f"Graph is not {'strongly ' if G.directed else ''}connected.")
    return int(sums.far.sum()) / (n * (n - 1))


def wiener_index(G: VlangGraph, weight: Hashable | None = None) -> Any:
    """Same result and arguments as for `networkx.wiener_index`."""
    if len(G) == 0:
        raise networkx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    sums = _to_each(G.simple())
    if int(sums.reached.min()) < len(G) - 1:
        return math.inf
    total = int(sums.far.sum())
    return total if G.directed else total / 2


def global_efficiency(G: VlangGraph) -> Any:
    """Same result and arguments as for `networkx.global_efficiency`."""
    pairs = len(G) * (len(G) - 1)
    return float(_to_each(G.simple()).near.sum()) / pairs if pairs else 0


def _to_each(graph: Graph, sources: NDArray[np.int64] | None = None) -> _Sums:
    """Sum the hops from the sources to each vertex. `sources` None means all vertices."""
    sources = np.arange(graph.n) if sources is None else sources
    reached, far, farthest = (np.zeros(graph.n, dtype=np.int64) for _ in range(3))
    near = np.zeros(graph.n)
    for first in range(0, len(sources), _SOURCES):
        batch = sources[first : first + _SOURCES]
        bits = np.arange(len(batch), dtype=np.uint64)
        seen = np.zeros((graph.n, _WORDS), dtype=np.uint64)
        seen[batch, (bits // 64).astype(np.int64)] = np.uint64(1) << bits % 64
        found = run("nx_distances", graph, seen=seen)
        reached += found["reached"].astype(np.int64)
        far += found["far"].astype(np.int64)
        near += found["near"]
        np.maximum(farthest, found["farthest"], out=farthest)
    return _Sums(reached, far, near, farthest)


def _closeness(reached: NDArray[Any], far: NDArray[Any], n: int, improved: bool) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.divide(reached, far, out=np.zeros(len(far)), where=far > 0)
    if improved and n > 1:
        found *= reached / (n - 1)
    return found


def _by_node_or(G: VlangGraph, given: Mapping[Any, Any] | None) -> Mapping[Any, Any]:
    return dict(zip(G.nodes, _eccentricities(G))) if given is None else given


def _eccentricities(G: VlangGraph) -> Any:
    """For each node, the number of hops to the node that is farthest from it.

    Raises `networkx.NetworkXError` if a node is not reached.
    """
    sums = _to_each(G.simple(backwards=True))
    if len(G) and int(sums.reached.min()) < len(G) - 1:
        raise networkx.NetworkXError(_infinite(G))
    return sums.farthest.tolist()


def _farthest(G: VlangGraph, node: Any) -> int:
    found = run("bfs", G.simple(), source=G.index[node])
    if not found.reached("depth").all():
        raise networkx.NetworkXError(_infinite(G))
    return int(found["depth"].max())


def _infinite(G: VlangGraph) -> str:
    return "Found infinite path length because the digraph is not strongly connected" if G.directed else \
        "Found infinite path length because the graph is not connected"
