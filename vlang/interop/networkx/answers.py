"""Results in terms of nodes: dictionaries by node, sets of nodes by label, and checks that nodes are in the graph."""

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
    """A dictionary from each node to its value.

    Args:
        values: shape [nodes], in the order of the nodes.
    """
    return dict(zip(graph.nodes, values.tolist()))


def nodes_of(graph: VlangGraph, places: Array) -> list[Any]:
    """The nodes at the given positions, in the order of the positions."""
    nodes = graph.nodes
    return [nodes[place] for place in places.tolist()]


def parts(graph: VlangGraph, labels: Array) -> list[set[Any]]:
    """The sets of nodes with equal labels, in the order of their first nodes.

    Args:
        labels: int[nodes].
    """
    if len(labels) == 0:
        return []
    order = np.argsort(labels, kind="stable")
    cuts = np.flatnonzero(np.diff(labels[order])) + 1
    groups = sorted(np.split(order, cuts), key=lambda group: int(group[0]))
    return [set(nodes_of(graph, group)) for group in groups]


def position(graph: VlangGraph, node: object, message: str, error: type[Exception] = networkx.NodeNotFound) -> int:
    """The position of a node. Raises an error with the message if the node is not in the graph.

    Args:
        graph: the graph.
        node: the node.
        message: the error message of NetworkX.
        error: the exception class of NetworkX.
    """
    if node not in graph:
        raise error(message)
    return graph.index[node]


def chosen(graph: VlangGraph, nodes: object) -> tuple[list[Any], bool]:
    """Return the nodes that an argument selects, and whether the argument is a single node. The argument None selects
    all nodes.

    The argument is None, a node, or an iterable of nodes. Nodes of an iterable that are not in the graph are left out,
    as in NetworkX. Raises `networkx.NetworkXError` for any other argument.
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
