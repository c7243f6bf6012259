"""Lengths of shortest paths from one or several nodes, by hops or by weights, and the nodes that can be reached."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from vlang.interop.networkx.answers import nodes_of, position
from vlang.interop.networkx.converted import VlangGraph
from vlang.interop.networkx.reading import EXACT
from vlang.interop.networkx.running import run

__all__ = [
    "all_pairs_dijkstra_path_length", "all_pairs_shortest_path_length", "ancestors", "bellman_ford_path_length",
    "descendants", "descendants_at_distance", "dijkstra_path_length", "ego_graph", "has_path",
    "multi_source_dijkstra_path_length", "shortest_path_length", "single_source_bellman_ford_path_length",
    "single_source_dijkstra_path_length", "single_source_shortest_path_length", "single_target_shortest_path_length",
]

Lengths = dict[Any, Any]


def single_source_shortest_path_length(G: VlangGraph, source: Any, cutoff: float | None = None) -> Lengths:
    """Same result and arguments as for `networkx.single_source_shortest_path_length`."""
    return _hops(G, position(G, source, f"Source {source} is not in G"), cutoff)


def single_target_shortest_path_length(G: VlangGraph, target: Any, cutoff: float | None = None) -> Lengths:
    """Same result and arguments as for `networkx.single_target_shortest_path_length`."""
    return _hops(G, position(G, target, f"Target {target} is not in G"), cutoff, backwards=True)


def all_pairs_shortest_path_length(G: VlangGraph, cutoff: float | None = None) -> Iterator[tuple[Any, Lengths]]:
    """Same result and arguments as for `networkx.all_pairs_shortest_path_length`."""
    return ((node, _hops(G, place, cutoff)) for place, node in enumerate(G.nodes))


def single_source_dijkstra_path_length(
    G: VlangGraph, source: Any, cutoff: float | None = None, weight: Hashable = "weight"
) -> Lengths:
    """Same result and arguments as for `networkx.single_source_dijkstra_path_length`."""
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


def multi_source_dijkstra_path_length(
    G: VlangGraph, sources: Iterable[Any], cutoff: float | None = None, weight: Hashable = "weight"
) -> Lengths:
    """Same result and arguments as for `networkx.multi_source_dijkstra_path_length`."""
    if not sources:
        raise ValueError("sources must not be empty")
    starts = [position(G, source, f"Node {source} not found in graph") for source in sources]
    return _weighted(G, starts, weight, cutoff)


def all_pairs_dijkstra_path_length(
    G: VlangGraph, cutoff: float | None = None, weight: Hashable = "weight"
) -> Iterator[tuple[Any, Lengths]]:
    """Same result and arguments as for `networkx.all_pairs_dijkstra_path_length`."""
    _require_lengths(G, weight)
    return ((node, _weighted(G, [place], weight, cutoff)) for place, node in enumerate(G.nodes))


def dijkstra_path_length(G: VlangGraph, source: Any, target: Any, weight: Hashable = "weight") -> Any:
    """Same result and arguments as for `networkx.dijkstra_path_length`."""
    place = position(G, source, f"Node {source} not found in graph")
    return _to(G, place, source, target, weight, f"Node {target} not reachable from {source}")


def single_source_bellman_ford_path_length(G: VlangGraph, source: Any, weight: Hashable = "weight") -> Lengths:
    """Same result and arguments as for `networkx.single_source_bellman_ford_path_length`."""
    return _weighted(G, [position(G, source, f"Source {source} not in G")], weight)


def bellman_ford_path_length(G: VlangGraph, source: Any, target: Any, weight: Hashable = "weight") -> Any:
    """Same result and arguments as for `networkx.bellman_ford_path_length`."""
    if source == target:
        if source not in G:
            raise networkx.NodeNotFound(f"Node {source} not found in graph")
        return 0
    place = position(G, source, f"Source {source} not in G")
    return _to(G, place, source, target, weight, f"node {target} not reachable from {source}")


def shortest_path_length(
    G: VlangGraph, source: Any = None, target: Any = None, weight: Hashable | None = None, method: str = "dijkstra"
) -> Any:
    """Same result and arguments as for `networkx.shortest_path_length`."""
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    if source is None and target is None:
        return all_pairs_shortest_path_length(G) if weight is None else \
            all_pairs_dijkstra_path_length(G, weight=weight)
    if source is not None and target is not None:
        return _between(G, source, target, weight, method)
    end = target if source is None else source
    message = f"Source {end} is not in G" if weight is None else \
        f"Node {end} not found in graph" if method == "dijkstra" else f"Source {end} not in G"
    place = position(G, end, message)
    return _hops(G, place, None, source is None) if weight is None else \
        _weighted(G, [place], weight, backwards=source is None)


def has_path(G: VlangGraph, source: Any, target: Any) -> bool:
    """Same result and arguments as for `networkx.has_path`."""
    try:
        _between(G, source, target, None, "dijkstra")
    except networkx.NetworkXNoPath:
        return False
    return True


def descendants(G: VlangGraph, source: Any) -> set[Any]:
    """Same result and arguments as for `networkx.descendants`."""
    return _reached(G, source, backwards=False)


def ancestors(G: VlangGraph, source: Any) -> set[Any]:
    """Same result and arguments as for `networkx.ancestors`."""
    return _reached(G, source, backwards=True)


def descendants_at_distance(G: VlangGraph, source: Any, distance: int) -> set[Any]:
    """Same result and arguments as for `networkx.descendants_at_distance`."""
    place = position(G, source, f"The node {source} is not in the graph.", networkx.NetworkXError)
    return set(nodes_of(G, np.flatnonzero(_depths(G, place) == distance))) if distance >= 0 else set()


def ego_graph(
    G: VlangGraph, n: Any, radius: float = 1, center: bool = True, undirected: bool = False,
    distance: Hashable | None = None,
) -> Any:
    """Same result and arguments as for `networkx.ego_graph`."""
    if distance is None:
        near = _hops(G, position(G, n, f"Source {n} is not in G"), radius)
    else:
        near = _weighted(G, [position(G, n, f"Node {n} not found in graph")], distance, radius)
    found = G.original.subgraph(near).copy()
    if not center:
        found.remove_node(n)
    return found


def _between(G: VlangGraph, source: Any, target: Any, weight: Hashable | None, method: str) -> Any:
    if weight is not None:
        path_length = dijkstra_path_length if method == "dijkstra" else bellman_ford_path_length
        return path_length(G, source, target, weight)
    if source not in G or target not in G:
        what = "Source" if source not in G else "Target"
        raise networkx.NodeNotFound(f"{what} {source if what == 'Source' else target} is not in G")
    hops = int(_depths(G, G.index[source])[G.index[target]])
    if hops < 0:
        raise networkx.NetworkXNoPath(f"No path between {source} and {target}.")
    return hops


def _depths(G: VlangGraph, place: int, backwards: bool = False) -> NDArray[np.int64]:
    """The number of hops from a node to each node, int64[nodes]; -1 for a node without a path.

    Args:
        backwards: whether to count the hops of paths that end at the node instead.
    """
    found = run("bfs", G.simple(backwards=backwards), source=place)
    return np.where(found.reached("depth"), found["depth"], -1)


def _hops(G: VlangGraph, place: int, cutoff: float | None, backwards: bool = False) -> Lengths:
    depths = _depths(G, place, backwards)
    near = depths >= 0
    if cutoff is not None:
        near &= (depths < cutoff + 1) | (depths == 0)  # NetworkX goes on while the cutoff is above the depth
    return _ordered(G, depths, near)


def _weighted(
    G: VlangGraph, starts: list[int], weight: Hashable, cutoff: float | None = None, backwards: bool = False
) -> Lengths:
    lengths = _lengths(G, starts, weight, backwards)
    near = np.isfinite(lengths)
    if cutoff is not None:
        near &= lengths <= cutoff
        near[starts] = True  # NetworkX does not compare the starts
    return _ordered(G, lengths, near, _integral(G, weight))


def _lengths(G: VlangGraph, starts: list[int], weight: Hashable, backwards: bool = False) -> NDArray[np.float64]:
    """Return for each node the length of the shortest path from a start node; the length is infinite if there is no
    path.
    """
    _require_lengths(G, weight)
    graph = G.nearest(weight, backwards)
    if len(starts) == 1:
        return np.asarray(run("sssp", graph, source=starts[0])["dist"])
    first = np.full(len(G), np.inf)
    first[starts] = 0
    return np.asarray(run("nx_nearest", graph, dist=first)["dist"])


def _require_lengths(G: VlangGraph, weight: Hashable) -> None:
    """Raise NotImplementedError if the sums of these weights may differ from the lengths that NetworkX computes."""
    weights = G.weights(weight)
    if weights.low < 0:
        raise NotImplementedError(f"the edge attribute {weight!r} has negative values")
    if weights.integral and weights.least is not None and len(weights.least) \
            and int(weights.least.max()) * max(len(G), 1) >= EXACT:
        raise NotImplementedError(f"sums of the edge attribute {weight!r} may need more than 53 bits")


def _integral(G: VlangGraph, weight: Hashable) -> bool:
    return G.weights(weight).integral


def _to(G: VlangGraph, place: int, source: Any, target: Any, weight: Hashable, message: str) -> Any:
    if source == target:
        return 0
    length = _lengths(G, [place], weight)[G.index[target]] if target in G else np.inf
    if not np.isfinite(length):
        raise networkx.NetworkXNoPath(message)
    return int(length) if _integral(G, weight) else float(length)


def _ordered(
    G: VlangGraph, lengths: NDArray[Any], near: NDArray[np.bool_], integral: bool = True
) -> Lengths:
    """Return the lengths for the nodes where `near` is true, by increasing length. Nodes at equal distance are in the
    order of nodes.
    """
    places = np.flatnonzero(near)
    places = places[np.argsort(lengths[places], kind="stable")]
    values = lengths[places].astype(np.int64) if integral else lengths[places]
    return dict(zip(nodes_of(G, places), values.tolist()))


def _reached(G: VlangGraph, source: Any, backwards: bool) -> set[Any]:
    kind = "digraph" if G.directed else "graph"
    place = position(G, source, f"The node {source} is not in the {kind}.", networkx.NetworkXError)
    reached = _depths(G, place, backwards) > 0
    return set(nodes_of(G, np.flatnonzero(reached)))
