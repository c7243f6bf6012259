"""Functions of degrees: degree centralities, isolates, mean degrees of neighbours."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from vlang.interop.networkx.answers import by_node, chosen, nodes_of
from vlang.interop.networkx.converted import VlangGraph
from vlang.interop.networkx.running import run

__all__ = [
    "average_neighbor_degree", "degree_centrality", "in_degree_centrality", "isolates", "number_of_isolates",
    "out_degree_centrality",
]


def degree_centrality(G: VlangGraph) -> dict[Any, float]:
    """Same result and arguments as for `networkx.degree_centrality`."""
    return _centrality(G, "in+out")


def in_degree_centrality(G: VlangGraph) -> dict[Any, float]:
    """Same result and arguments as for `networkx.in_degree_centrality`."""
    return _centrality(G, "in")


def out_degree_centrality(G: VlangGraph) -> dict[Any, float]:
    """Same result and arguments as for `networkx.out_degree_centrality`."""
    return _centrality(G, "out")


def isolates(G: VlangGraph) -> Iterator[Any]:
    """Same result and arguments as for `networkx.isolates`."""
    return iter(nodes_of(G, np.flatnonzero(_degree(G, "in+out") == 0)))


def number_of_isolates(G: VlangGraph) -> int:
    """Same result and arguments as for `networkx.number_of_isolates`."""
    return int(np.count_nonzero(_degree(G, "in+out") == 0))


def average_neighbor_degree(
    G: VlangGraph, source: str = "out", target: str = "out", nodes: Any = None, weight: Hashable | None = None
) -> dict[Any, float]:
    """Same result and arguments as for `networkx.average_neighbor_degree`."""
    if G.directed:
        for what, kind in (("source", source), ("target", target)):
            if kind not in ("in", "out", "in+out"):
                raise networkx.NetworkXError(f"{what} argument {kind} must be 'in', 'out' or 'in+out'")
    elif source != "out" or target != "out":
        raise networkx.NetworkXError("source and target arguments are only supported for directed graphs")
    own, others = (source, target) if G.directed else ("in+out", "in+out")
    degrees = _degree(G, others).astype(np.float64)
    ways = [backwards for backwards, kind in ((True, "out"), (False, "in")) if kind in own]
    sums = sum(run("spmv", G.simple(backwards=backwards), x=degrees)["y"]
               for backwards in (ways if G.directed else ways[:1]))
    count = _degree(G, own)
    means = np.divide(sums, count, out=np.zeros(len(G)), where=count != 0)
    asked = chosen(G, nodes)[0]
    found = by_node(G, means)
    return found if asked is G.nodes else {node: found[node] for node in asked}


def _centrality(G: VlangGraph, kind: str) -> dict[Any, float]:
    if len(G) <= 1:
        return dict.fromkeys(G.nodes, 1)
    return by_node(G, _degree(G, kind) * (1.0 / (len(G) - 1.0)))


def _degree(G: VlangGraph, kind: str) -> NDArray[np.int64]:
    """The degree of each node, int64[nodes]. All parallel edges count, and undirected self-loops count twice, as in
    NetworkX.

    Args:
        kind: "in", "out" or "in+out"; ignored for an undirected graph.
    """
    found = run("nx_degree", G.summed(None))
    if not G.directed:
        return np.asarray(found["coming"]) + G.loops
    parts = [np.asarray(found[name]) for name, part in (("coming", "in"), ("going", "out")) if part in kind]
    return np.asarray(sum(parts), dtype=np.int64)
