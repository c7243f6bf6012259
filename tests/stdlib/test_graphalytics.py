"""The six algorithms of the LDBC Graphalytics benchmark agree with its definitions (arXiv 2011.15028, section 2.3).

The direct implementations in this file follow the definitions and use sets, queues and loops.
"""

from __future__ import annotations

import functools
from collections import Counter, deque
from heapq import heappop, heappush
from typing import Any

import numpy as np
import pytest

from tests.reference.graph import RefGraph
from tests.reference.graphs import to_graph
from tests.stdlib.test_more import program, simple
from vlang import Graph

N = 120


class Direct:
    """A graph as sets of out-neighbours (`out`), in-neighbours (`into`), all neighbours (`near`), and edge weights."""

    def __init__(self, graph: RefGraph) -> None:
        rng = np.random.default_rng(4)
        low, high = np.minimum(graph.src, graph.dst), np.maximum(graph.src, graph.dst)
        table = rng.random((N, N))
        weight = table[graph.src, graph.dst] if graph.directed else table[low, high]
        self.graph: Graph = to_graph(graph.with_columns(weight=weight))
        self.directed = graph.directed
        self.out: list[dict[int, float]] = [{} for _ in range(N)]
        self.into: list[set[int]] = [set() for _ in range(N)]
        for u, v, w in zip(graph.src.tolist(), graph.dst.tolist(), weight.tolist(), strict=True):
            self.out[u][v] = w
            self.into[v].add(u)
        self.near = [self.into[v] | self.out[v].keys() for v in range(N)]


@functools.cache
def made(directed: bool) -> Direct:
    """Return a sparse random graph, in which some vertices are unreachable and some have no edges."""
    return Direct(simple(N, 260 if directed else 400, directed))


both = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


@both
def test_breadth_first_search(directed: bool) -> None:
    have = made(directed)
    depth, queue = {3: 0}, deque([3])
    while queue:
        u = queue.popleft()
        for v in have.out[u]:
            if v not in depth:
                depth[v] = depth[u] + 1
                queue.append(v)
    result = program("bfs")(have.graph, source=3)
    assert 1 < len(depth) < N
    assert np.flatnonzero(result.reached("depth")).tolist() == sorted(depth)
    assert {v: int(result["depth"][v]) for v in depth} == depth


@both
@pytest.mark.parametrize("iterations", [1, 10, 33])
def test_pagerank_after_fixed_iterations(directed: bool, iterations: int) -> None:
    have = made(directed)
    rank = [1 / N] * N
    for _ in range(iterations):
        dangling = sum(rank[v] for v in range(N) if not have.out[v])
        rank = [0.15 / N + 0.85 * (sum(rank[u] / len(have.out[u]) for u in have.into[v]) + dangling / N)
                for v in range(N)]  # fmt: skip
    result = program("pagerank_rounds")(have.graph, iterations=iterations, precision=64)
    assert any(not out for out in have.out)
    np.testing.assert_allclose(result["rank"], rank, rtol=1e-12)


@both
def test_weakly_connected_components(directed: bool) -> None:
    have, label = made(directed), [-1] * N
    for start in range(N):
        stack = [start] if label[start] < 0 else []
        while stack:
            v = stack.pop()
            if label[v] < 0:
                label[v] = start
                stack.extend(have.near[v])
    assert program("components")(have.graph)["label"].tolist() == label


@both
@pytest.mark.parametrize("iterations", [1, 2, 10])
def test_communities_by_label_propagation(directed: bool, iterations: int) -> None:
    """Label propagation agrees with the definition: a neighbour in both directions of a directed graph counts twice,
    and of equally frequent labels the smallest wins.
    """
    have, label = made(directed), list(range(N))
    for _ in range(iterations):
        received = [Counter(label[u] for u in have.out[v]) for v in range(N)]
        if directed:
            for v in range(N):
                received[v].update(label[u] for u in have.into[v])
        label = [min(tally, key=lambda c: (-tally[c], c)) if tally else label[v] for v, tally in enumerate(received)]
    assert program("cdlp")(have.graph, iterations=iterations)["label"].tolist() == label


@both
def test_local_clustering_coefficient(directed: bool) -> None:
    have, want = made(directed), [0.0] * N
    for v, near in enumerate(have.near):
        if len(near) > 1:
            edges = sum(w in have.out[u] for u in near for w in near)
            want[v] = edges / (len(near) * (len(near) - 1))
    result = program("lcc_directed" if directed else "lcc")(have.graph)
    assert max(want) > 0
    np.testing.assert_allclose(result["lcc"], want, rtol=1e-6)


@both
def test_shortest_paths_in_64_bits(directed: bool) -> None:
    have = made(directed)
    dist: dict[int, float] = {}
    heap: list[tuple[float, int]] = [(0.0, 3)]
    while heap:
        far, u = heappop(heap)
        if u in dist:
            continue
        dist[u] = far
        for v, weight in have.out[u].items():
            heappush(heap, (far + weight, v))
    result: Any = program("sssp")(have.graph, source=3, precision=64)
    assert result["dist"].dtype == np.float64
    assert np.flatnonzero(result.reached("dist")).tolist() == sorted(dist)
    assert {v: float(result["dist"][v]) for v in dist} == dist
