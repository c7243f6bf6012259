"""Functions of cores, triangles and two-colourings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from vlang.interop.networkx.answers import by_node, chosen
from vlang.interop.networkx.converted import VlangGraph
from vlang.interop.networkx.running import run

__all__ = [
    "average_clustering", "clustering", "color", "core_number", "is_bipartite", "k_core", "k_crust", "k_shell", "sets",
    "transitivity", "triangles",
]

Array = NDArray[Any]


def core_number(G: VlangGraph) -> dict[Any, int]:
    """Same result and arguments as for `networkx.core_number`."""
    if G.loops.any():
        raise networkx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; Consider using "
            "G.remove_edges_from(nx.selfloop_edges(G)).")
    return by_node(G, run("kcore", G.simple())["core"])


def k_core(G: VlangGraph, k: int | None = None, core_number: Mapping[Any, int] | None = None) -> Any:
    """Same result and arguments as for `networkx.k_core`."""
    return _core_subgraph(G, k, core_number, lambda core, k: core >= k)


def k_shell(G: VlangGraph, k: int | None = None, core_number: Mapping[Any, int] | None = None) -> Any:
    """Same result and arguments as for `networkx.k_shell`."""
    return _core_subgraph(G, k, core_number, lambda core, k: core == k)


def k_crust(G: VlangGraph, k: int | None = None, core_number: Mapping[Any, int] | None = None) -> Any:
    """Same result and arguments as for `networkx.k_crust`."""
    return _core_subgraph(G, k, core_number, lambda core, k: core <= k, below=1)


def triangles(G: VlangGraph, nodes: Any = None) -> Any:
    """Same result and arguments as for `networkx.triangles`."""
    return _of(G, nodes, _triangles(G))


def transitivity(G: VlangGraph) -> Any:
    """Same result and arguments as for `networkx.transitivity`."""
    degree = G.simple(loops=False).out_degree.astype(np.int64)
    closed, pairs = 2 * int(_triangles(G).sum()), int((degree * (degree - 1)).sum())
    return closed / pairs if closed else 0


def clustering(G: VlangGraph, nodes: Any = None, weight: Hashable | None = None) -> Any:
    """Same result and arguments as for `networkx.clustering`."""
    degree = G.simple(loops=False).out_degree.astype(np.int64)
    return _of(G, nodes, np.divide(2 * _triangles(G), degree * (degree - 1), out=np.zeros(len(G)), where=degree > 1))


def average_clustering(
    G: VlangGraph, nodes: Any = None, weight: Hashable | None = None, count_zeros: bool = True
) -> float:
    """Same result and arguments as for `networkx.average_clustering`."""
    values = clustering(G, nodes).values()
    counted = [value for value in values if count_zeros or value > 0]
    return float(sum(counted) / len(counted))


def color(G: VlangGraph) -> dict[Any, int]:
    """Same result and arguments as for `networkx.bipartite.color`."""
    found = run("bipartite", G.simple())
    if G.loops.any() or np.asarray(found["bad"]).any():
        raise networkx.NetworkXError("Graph is not bipartite.")
    side, label, degree = found["side"], found["label"], G.simple().degree
    roots = np.flatnonzero(G.simple().out_degree > 0)  # NetworkX begins with the first node that has a neighbour
    labels, first = np.unique(label[roots], return_index=True)
    begun = np.zeros(len(G), dtype=side.dtype)
    begun[labels] = side[roots[first]]
    colors = np.where(side == begun[label], 1, 0)
    colors[degree == 0] = 0
    return by_node(G, colors)


def is_bipartite(G: VlangGraph) -> bool:
    """Same result and arguments as for `networkx.is_bipartite`."""
    return not (G.loops.any() or np.asarray(run("bipartite", G.simple())["bad"]).any())


def sets(G: VlangGraph, top_nodes: Any = None) -> tuple[set[Any], set[Any]]:
    """Same result and arguments as for `networkx.bipartite.sets`."""
    if top_nodes is not None:
        top = set(top_nodes)
        return top, set(G) - top
    if len(G) == 0:
        raise networkx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    if np.asarray(run("components", G.simple())["label"]).any():
        raise networkx.AmbiguousSolution("Disconnected graph: Ambiguous solution for bipartite sets.")
    colors = color(G)
    return {node for node, one in colors.items() if one}, {node for node, one in colors.items() if not one}


def _core_subgraph(
    G: VlangGraph, k: int | None, given: Mapping[Any, int] | None, keep: Callable[[Any, int], bool], below: int = 0
) -> Any:
    """Return the subgraph of the nodes for whose core numbers `keep` returns true.

    Args:
        G: the graph.
        k: the core number to compare with; None for the largest core number minus `below`.
        given: the core numbers; None to compute them.
        keep: takes a core number and k, and returns whether nodes with this core number are kept.
        below: the distance from the largest core number if `k` is None.
    """
    cores = core_number(G) if given is None else given
    if k is None:
        k = max(cores.values()) - below
    return G.original.subgraph([node for node, core in cores.items() if keep(core, k)]).copy()


def _triangles(G: VlangGraph) -> Array:
    """The triangles at each node, int64[nodes]."""
    return np.asarray(run("triangles", G.simple(loops=False))["mine"])


def _of(G: VlangGraph, nodes: Any, values: Array) -> Any:
    """Return the value of a node if the argument is a single node, else a dictionary of values by node."""
    found = by_node(G, values)
    if nodes is None:
        return found
    asked, single = chosen(G, nodes)
    return found[asked[0]] if single else {node: found[node] for node in asked}
