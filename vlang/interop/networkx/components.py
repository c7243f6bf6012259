"""Components: connected, weakly and strongly connected; trees and forests.

NetworkX computes the sets of strongly connected nodes itself, because functions of NetworkX rely on the depth-first
order of the sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from vlang.interop.networkx.answers import nodes_of, parts
from vlang.interop.networkx.converted import VlangGraph
from vlang.interop.networkx.running import run

__all__ = [
    "connected_components", "is_connected", "is_forest", "is_strongly_connected", "is_tree", "is_weakly_connected",
    "node_connected_component", "number_connected_components", "number_strongly_connected_components",
    "number_weakly_connected_components", "weakly_connected_components",
]

_NULL = "Connectivity is undefined for the null graph."


def connected_components(G: VlangGraph) -> Iterator[set[Any]]:
    """Same result and arguments as for `networkx.connected_components`."""
    return iter(parts(G, _weak(G)))


def number_connected_components(G: VlangGraph) -> int:
    """Same result and arguments as for `networkx.number_connected_components`."""
    return _number(_weak(G))


def is_connected(G: VlangGraph) -> bool:
    """Same result and arguments as for `networkx.is_connected`."""
    return _one(G, _weak)


def node_connected_component(G: VlangGraph, n: Any) -> set[Any]:
    """Same result and arguments as for `networkx.node_connected_component`."""
    if n not in G:
        raise KeyError(n)
    labels = _weak(G)
    return set(nodes_of(G, np.flatnonzero(labels == labels[G.index[n]])))


def weakly_connected_components(G: VlangGraph) -> Iterator[set[Any]]:
    """Same result and arguments as for `networkx.weakly_connected_components`."""
    return iter(parts(G, _weak(G)))


def number_weakly_connected_components(G: VlangGraph) -> int:
    """Same result and arguments as for `networkx.number_weakly_connected_components`."""
    return _number(_weak(G))


def is_weakly_connected(G: VlangGraph) -> bool:
    """Same result and arguments as for `networkx.is_weakly_connected`."""
    return _one(G, _weak)


def number_strongly_connected_components(G: VlangGraph) -> int:
    """Same result and arguments as for `networkx.number_strongly_connected_components`."""
    return _number(_strong(G))


def is_strongly_connected(G: VlangGraph) -> bool:
    """Same result and arguments as for `networkx.is_strongly_connected`."""
    return _one(G, _strong)


def is_tree(G: VlangGraph) -> bool:
    """Same result and arguments as for `networkx.is_tree`."""
    _require_nodes(G)
    return len(G) - 1 == G.number_of_edges() and _number(_weak(G)) == 1


def is_forest(G: VlangGraph) -> bool:
    """Same result and arguments as for `networkx.is_forest`.

    A graph with n nodes and c components is a forest if and only if it has n - c edges.
    """
    _require_nodes(G)
    return G.number_of_edges() == len(G) - _number(_weak(G))


def _require_nodes(G: VlangGraph) -> None:
    if len(G) == 0:
        raise networkx.NetworkXPointlessConcept("G has no nodes.")


def _weak(G: VlangGraph) -> NDArray[Any]:
    labels: NDArray[Any] = run("components", G.simple())["label"]
    return labels


def _strong(G: VlangGraph) -> NDArray[Any]:
    labels: NDArray[Any] = run("scc", G.simple())["scc"]
    return labels


def _number(labels: NDArray[Any]) -> int:
    """Return the number of different labels. The label of a component is the position of a node of the component."""
    return int(np.count_nonzero(labels == np.arange(len(labels))))


def _one(G: VlangGraph, labels: Any) -> bool:
    if len(G) == 0:
        raise networkx.NetworkXPointlessConcept(_NULL)
    return _number(labels(G)) == 1
