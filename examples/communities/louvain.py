"""Communities by the Louvain method: levels of local moves (move.vp), each on the graph of the previous communities.

Usage: `python examples/communities/louvain.py karate`.

The method is from Blondel, Guillaume, Lambiotte, Lefebvre, Fast unfolding of communities in large networks (2008).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlang import Graph, load

MOVE = load(Path(__file__).with_name("move.vp"))
Labels = NDArray[np.int64]
Weights = NDArray[np.float64]


def louvain(src: Labels, dst: Labels, weight: Weights, n: int, seed: int = 1) -> tuple[Labels, float]:
    """The community of each vertex, from 0 in the order of first members, and the modularity.

    Args:
        src, dst: the ends of each undirected edge, int64[m], from 0 to n - 1; each edge is listed once.
        weight: the weights, float64[m], >= 0.
        n: the number of vertices.
        seed: the seed of the random turns.
    """
    community, best = np.arange(n), -1.0
    for level in range(64):
        label, modularity = moved(src, dst, weight, n, seed + 1000 * level)
        if modularity <= best + 1e-7:
            break
        community, best, n = label[community], modularity, int(label.max()) + 1
        src, dst, weight = contracted(label[src], label[dst], weight, n)
    _, first, label = np.unique(community, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[label], best


def moved(src: Labels, dst: Labels, weight: Weights, n: int, seed: int) -> tuple[Labels, float]:
    """One level: the communities after moves, numbered from 0, and the modularity.

    Args:
        src, dst, weight, n: the graph, as for `louvain`.
        seed: the seed of the random turns.
    """
    k = np.bincount(src, weight, n) + np.bincount(dst, weight, n)
    m2 = float(k.sum())
    graph = Graph.from_edges(src, dst, vertices=n, directed=False, weight=weight.astype(np.float32))
    found = MOVE(graph, k=k.astype(np.float32), m2=m2, seed=seed)
    label = np.unique(np.asarray(found["community"]), return_inverse=True)[1]
    inside = weight[label[src] == label[dst]].sum()
    return label, float(2 * inside / m2 - ((np.bincount(label, k) / m2) ** 2).sum())


def contracted(src: Labels, dst: Labels, weight: Weights, n: int) -> tuple[Labels, Labels, Weights]:
    """The edges between communities, with the weights of parallel edges added up. n: the number of communities."""
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    pairs, at = np.unique(low * n + high, return_inverse=True)
    return pairs // n, pairs % n, np.bincount(at, weight)


def main(source: str) -> None:
    """Print the number of communities of a graph, and their modularity."""
    graph = Graph.read(source)
    rows = graph.adjacency("in")
    dst = np.repeat(np.arange(graph.n), np.diff(rows.offsets).astype(np.int64))
    src = rows.targets.astype(np.int64)
    weight = np.asarray(rows.column("weight"), np.float64) if "weight" in graph.columns else np.ones(len(src))
    once = src <= dst
    community, modularity = louvain(src[once], dst[once], weight[once], graph.n)
    print(f"{community.max() + 1} communities, modularity {modularity:.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
