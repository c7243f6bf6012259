"""Centralities by power iteration: pagerank, hits, katz_centrality, eigenvector_centrality."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from vlang.interop.networkx.answers import by_node
from vlang.interop.networkx.converted import VlangGraph
from vlang.interop.networkx.running import run
from vlang.runtime.graph.graph import Graph
from vlang.runtime.results.result import Result

__all__ = ["eigenvector_centrality", "hits", "katz_centrality", "pagerank"]

_SHARPER = 1e-3
"""Of the tolerance of `hits`: where power iteration ends. ARPACK's tolerance bounds an error, and this one a change."""
_ALONE = 1 << 16
"""Edges and vertices below which a pass takes so little time that handing parts of it to threads takes longer."""
_STEPS = 20
"""Power iterations for each iteration of ARPACK, which multiplies 20 times by default."""


def pagerank(
    G: VlangGraph,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: Hashable | None = "weight",
    dangling: Mapping[Any, float] | None = None,
) -> dict[Any, float]:
    """Same result and arguments as for `networkx.pagerank`."""
    n = len(G)
    if n == 0:
        return {}
    even = np.full(n, 1 / n)
    start = even if nstart is None else _shares(G, nstart)
    jump = even
    if personalization is not None:
        if sum(personalization.get(node, 0) for node in G.nodes) == 0:
            raise ZeroDivisionError
        jump = _shares(G, personalization)
    landing = jump if dangling is None else _shares(G, dangling)
    found = _iterated("nx_pagerank", G, weight, max_iter, tol,
                      damping=float(alpha), jump=jump, landing=landing, rank=start, total=G.totals(weight))
    return by_node(G, found["rank"])


def katz_centrality(
    G: VlangGraph,
    alpha: float = 0.1,
    beta: float | Mapping[Any, float] = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
    weight: Hashable | None = None,
) -> dict[Any, float]:
    """Same result and arguments as for `networkx.katz_centrality`."""
    if len(G) == 0:
        return {}
    start = np.zeros(len(G)) if nstart is None else _start(G, nstart)
    try:
        base = np.full(len(G), float(beta))  # type: ignore[arg-type]
    except (TypeError, ValueError, AttributeError) as error:
        if set(beta) != set(G.nodes):  # type: ignore[arg-type]
            raise networkx.NetworkXError("beta dictionary must have a value for every node") from error
        base = _values(G, beta)  # type: ignore[arg-type]
    x = _iterated("nx_katz", G, weight, max_iter, tol, alpha=float(alpha), base=base, x=start)["x"]
    length = math.hypot(*x.tolist()) if normalized else 1.0
    return by_node(G, x * (1 / length if length else 1.0))


def eigenvector_centrality(
    G: VlangGraph,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: Hashable | None = None,
) -> dict[Any, float]:
    """Same result and arguments as for `networkx.eigenvector_centrality`."""
    if len(G) == 0:
        raise networkx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    start = np.ones(len(G)) if nstart is None else _start(G, nstart)
    if not start.any():
        raise networkx.NetworkXError("initial vector cannot have all zero values")
    return by_node(G, _iterated("nx_eigenvector", G, weight, max_iter, tol, x=start / start.sum())["x"])


def hits(
    G: VlangGraph,
    max_iter: int = 100,
    tol: float = 1e-8,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
) -> tuple[dict[Any, float], dict[Any, float]]:
    """Same result and arguments as for `networkx.hits`."""
    if len(G) == 0:
        return {}, {}
    if max_iter <= 0:
        raise networkx.PowerIterationFailedConvergence(max_iter)
    start = np.ones(len(G)) if nstart is None else np.array(list(nstart.values()), dtype=np.float64)
    if len(start) != len(G):
        raise ValueError(f"nstart has {len(start)} values, and the graph has {len(G)} nodes")
    length = math.hypot(*start.tolist())
    graph = G.summed("weight")
    found = run("nx_hits", graph, **_few(graph), auth=start / length, rounds=_STEPS * max_iter, bound=_SHARPER * tol)
    if not found.converged or not found["auth"].any():
        raise networkx.PowerIterationFailedConvergence(max_iter)
    hubs, authorities = found["score"], found["auth"]
    if normalized:
        hubs, authorities = hubs / hubs.sum(), authorities / authorities.sum()
    return by_node(G, hubs), by_node(G, authorities)


def _iterated(
    name: str, G: VlangGraph, weight: Hashable | None, max_iter: int, tol: float, **arguments: Any
) -> Result:
    """Run a power iteration.

    Raises `networkx.PowerIterationFailedConvergence` if the iteration does not converge in `max_iter` steps.

    Args:
        name: the name of the program.
        G: the graph.
        weight: the edge attribute; None for 1.
        max_iter: the largest number of iterations.
        tol: the tolerance. The iteration ends when the mean change of the values of nodes is smaller than `tol`.
        arguments: further arguments of the program.
    """
    if max_iter > 0 and tol > 0:
        graph = G.summed(weight)
        found = run(name, graph, **_few(graph), bound=float(len(G) * tol), rounds=int(max_iter), **arguments)
        if found.converged:
            return found
    raise networkx.PowerIterationFailedConvergence(max_iter)


def _values(G: VlangGraph, given: Mapping[Any, float]) -> NDArray[np.float64]:
    """Return the number given for each node, in the order of nodes; 0 for nodes without a number."""
    return np.array([given.get(node, 0) for node in G.nodes], dtype=np.float64)


def _start(G: VlangGraph, given: Mapping[Any, float]) -> NDArray[np.float64]:
    """The number given for each node. Raises NotImplementedError unless each node of the graph has a number."""
    if len(given) != len(G) or set(given) != set(G.nodes):
        raise NotImplementedError("nstart names other nodes than the graph")
    return _values(G, given)


def _shares(G: VlangGraph, given: Mapping[Any, float]) -> NDArray[np.float64]:
    values = _values(G, given)
    shares: NDArray[np.float64] = values / values.sum()
    return shares


def _few(graph: Graph) -> dict[str, Any]:
    """The options for runs on a graph: a small graph gets one thread, because its passes are short."""
    return {"threads": 1} if graph.n + graph.m < _ALONE else {}
