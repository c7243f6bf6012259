"""Results in the nodes of a graph: dictionaries by node, sets of nodes by label, and nodes that have to be there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from vlang.interop.networkx.converted import VlangGraph

__all__ = ["by_node", "chosen", "nodes_of", "parts", "position"]

Array = NDArray[Any]


def by_node(graph: VlangGraph, values: Array) -> dict[Any, Any]:
    """The value of each node, in the order of nodes; values: [nodes]."""
    return dict(zip(graph.nodes, values.tolist()))


def nodes_of(graph: VlangGraph, places: Array) -> list[Any]:
    """The nodes at positions, in their order."""
    nodes = graph.nodes
    return [nodes[place] for place in places.tolist()]


def parts(graph: VlangGraph, labels: Array) -> list[set[Any]]:
    """The sets of nodes with equal labels, in the order of their first nodes; labels: int[nodes]."""
    if len(labels) == 0:
        return []
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    groups = sorted(np.split(order, cuts), key=lambda group: int(group[0]))
    return [set(nodes_of(graph, group)) for group in groups]


def position(graph: VlangGraph, node: object, message: str, error: type[Exception] = networkx.NodeNotFound) -> int:
    """The position of a node. Raises an error with the message if it is not in the graph.

    Args:
        graph: the graph.
        node: the node.
        message: what NetworkX says.
        error: what NetworkX raises.
    """
    if node not in graph:
        raise error(message)
    return graph.index[node]


def chosen(graph: VlangGraph, nodes: object) -> tuple[list[Any], bool]:
    """The nodes that an argument names, and whether it names one: None, a node, or any iterable of nodes.

    Nodes that the graph does not have are left out, as NetworkX does. Raises `networkx.NetworkXError` for anything
    else.
    """
    if nodes is None:
        return graph.nodes, False
    if nodes in graph:
        return [nodes], True
    if not isinstance(nodes, Iterable):
        raise networkx.NetworkXError(f"Node {nodes} is not in the graph.")
    listed = list(nodes)
    for node in listed:
        try:
            hash(node)
        except TypeError:
            raise networkx.NetworkXError(f"Node {node} in sequence nbunch is not a valid node.") from None
    return [node for node in listed if node in graph], False
