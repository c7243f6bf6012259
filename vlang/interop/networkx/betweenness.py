"""The function betweenness_centrality, for all nodes or for a sample of nodes."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import networkx
import numpy as np

from vlang.interop.networkx.answers import by_node
from vlang.interop.networkx.converted import VlangGraph
from vlang.interop.networkx.running import run

__all__ = ["betweenness_centrality"]


def betweenness_centrality(
    G: VlangGraph, k: int | None = None, normalized: bool = True, weight: Hashable | None = None,
    endpoints: bool = False, seed: Any = None,
) -> dict[Any, float]:
    """Same result and arguments as for `networkx.betweenness_centrality`; nodes are sampled as in NetworkX."""
    n = len(G)
    k = None if k == n else k
    places = np.arange(n) if k is None else _sample(G, k, seed)
    score = np.asarray(run("betweenness", G.simple(), sources=places)["score"]) if len(places) else np.zeros(n)
    pairs = n - 1
    if pairs < 2:
        return by_node(G, np.zeros(n))
    unit = 1 / (pairs - 1) if normalized else pairs / (1 if G.directed else 2)
    sources = pairs if k is None else len(places)
    scale = np.full(n, unit / sources)
    if k is not None:
        scale[places] = unit / (sources - 1) if sources > 1 else math.nan
    return by_node(G, score * scale)


def _sample(G: VlangGraph, k: int, seed: Any) -> Any:
    draw = networkx.utils.create_py_random_state(seed)
    return np.array([G.index[node] for node in draw.sample(G.nodes, k)], dtype=np.int64)
