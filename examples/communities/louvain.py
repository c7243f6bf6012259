"""Find communities by the Louvain method: each level makes local moves on the graph of the communities of the previous
level.

Usage: `python examples/communities/louvain.py karate`.

The method is from Blondel, Guillaume, Lambiotte, Lefebvre, Fast unfolding of communities in large networks (2008).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang import Graph, load

LEVEL = load("louvain")


def louvain(graph: Graph, seed: int = 1) -> tuple[NDArray[Any], float]:
    """Return the community of each vertex, named by the id of one of its vertices, and the modularity.

    Args:
        graph: an undirected graph; edges without a column `weight` weigh 1.
        seed: the seed of the random order in which vertices move.
    """
    level, community, best = graph, graph.ids.values, -1.0
    while True:
        found = LEVEL(level, seed=seed)
        if found["modularity"] <= best + 1e-7:
            return community, best
        best = float(found["modularity"])
        place = np.arange(graph.n) if level is graph else np.searchsorted(level.ids.values, community)
        community = np.asarray(found["community"])[place]
        level, seed = level.contracted(found["community"]), seed + 1000


def main(source: str) -> None:
    """Print the number of communities of a graph, and their modularity."""
    community, modularity = louvain(Graph.read(source))
    print(f"{len(np.unique(community))} communities, modularity {modularity:.4f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
