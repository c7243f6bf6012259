"""Values that would overflow 32 bits on large, dense or deep graphs are right."""

from __future__ import annotations

import numpy as np

from tests.reference.cases import without_needs
from vlang import Graph, load


def graph_of(pairs: list[tuple[int, int]], chance: float = 1.0) -> Graph:
    """Return an undirected graph of these edges. Every edge has the column value `chance`."""
    src, dst = (np.array(side) for side in zip(*pairs, strict=True))
    return Graph.from_edges(src, dst, directed=False, chance=np.full(len(pairs), chance))


def wheel(spokes: int) -> Graph:
    """Return a ring of vertices 1 to `spokes`, all joined to vertex 0."""
    ring = [(k, k % spokes + 1) for k in range(1, spokes + 1)]
    return graph_of(ring + [(0, k) for k in range(1, spokes + 1)])


def test_shortest_paths_are_counted_in_64_bits() -> None:
    """Numbers of shortest paths are right: a grid has about 10^58 paths from corner to corner.

    The sum of the dependencies of a source is the sum of all distances minus the number of reached vertices, because a
    path of d hops has d - 1 inner vertices.
    """
    side = 100
    score = load("betweenness")(Graph.read(f"grid:{side}x{side}"), sources=[0], threads=1).score
    depth = np.add.outer(np.arange(side), np.arange(side)).reshape(-1)[1:]
    np.testing.assert_allclose(score.sum(), (depth - 1).sum(), rtol=1e-12)
    np.testing.assert_allclose(score[1], (side * side - 3) / 2, rtol=1e-12)


def test_the_coefficient_of_a_vertex_with_many_neighbours() -> None:
    """The clustering coefficient is right although the number of pairs of 50,000 neighbours does not fit 32 bits."""
    spokes = 50_000
    lcc = load("lcc")(wheel(spokes), threads=1).lcc
    np.testing.assert_allclose(lcc[0], 2 / (spokes - 1), rtol=1e-6)
    np.testing.assert_allclose(lcc[1:], 2 / 3, rtol=1e-6)


def test_many_triangles_at_one_vertex() -> None:
    """Triangles are counted right at two vertices with 25,000 common neighbours and 100,000 parallel edges. Each
    parallel edge counts.
    """
    shared, parallel = 25_000, 100_000
    pairs = [(0, 1)] * parallel + [(end, k) for k in range(2, shared + 2) for end in (0, 1)]
    graph = graph_of(pairs)
    expected = parallel * shared + shared
    assert without_needs("lcc")(graph, threads=1).links[0] == expected
    assert without_needs("triangles")(graph, threads=1).mine[0] == expected // 2


def test_a_path_of_small_probability() -> None:
    """A path of probability 0.5 ** 300 is found. In 32 bits this value is 0, which means that there is no path."""
    graph = graph_of([(k, k + 1) for k in range(300)], chance=0.5)
    best = load("viterbi")(graph, source=0, threads=1).best
    np.testing.assert_array_equal(best, 0.5 ** np.arange(301))
