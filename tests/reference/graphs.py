"""Graphs for tests: families of known shape, a strategy for random graphs, and the conversion to graphs of the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from tests.reference.graph import Array, RefGraph, ref_graph

if TYPE_CHECKING:
    from vlang import Graph

__all__ = ["FAMILIES", "RefGraph", "all_families", "family", "listed_once", "random_graph", "ref_graph",
           "ref_graphs", "to_graph"]

Edges = tuple[int, list[tuple[int, int]]]


def _path(n: int) -> list[tuple[int, int]]:
    return [(k, k + 1) for k in range(n - 1)]


def _grid(rows: int, columns: int) -> Edges:
    right = [(r * columns + c, r * columns + c + 1) for r in range(rows) for c in range(columns - 1)]
    down = [(r * columns + c, (r + 1) * columns + c) for r in range(rows - 1) for c in range(columns)]
    return rows * columns, right + down


def _rmat(scale: int, degree: int, seed: int) -> Edges:
    """Return an R-MAT graph with quadrant probabilities .57 .19 .19 .05, including repeated edges and self-loops."""
    rng = np.random.default_rng(seed)
    count = degree << scale
    src, dst = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        quadrant = rng.choice(4, count, p=[0.57, 0.19, 0.19, 0.05])
        src, dst = 2 * src + quadrant // 2, 2 * dst + quadrant % 2
    return 1 << scale, list(zip(src.tolist(), dst.tolist(), strict=True))


def _messy(seed: int) -> Edges:
    """Return a random graph with self-loops, parallel edges and vertices without edges."""
    rng = np.random.default_rng(seed)
    edges = [(int(u), int(v)) for u, v in rng.integers(0, 14, (40, 2))]
    return 17, edges + edges[:8] + [(3, 3), (3, 3), (5, 5)]


def _two_components() -> Edges:
    ring = [(k, (k + 1) % 6) for k in range(6)]
    tree = [(6, 7), (6, 8), (7, 9), (9, 7), (8, 10)]
    return 11, ring + tree


FAMILIES: dict[str, Callable[[], Edges]] = {
    "empty": lambda: (0, []),
    "one_vertex": lambda: (1, []),
    "one_loop": lambda: (1, [(0, 0)]),
    "no_edges": lambda: (5, []),
    "path": lambda: (9, _path(9)),
    "star_out": lambda: (70, [(0, k) for k in range(1, 70)]),
    "star_in": lambda: (70, [(k, 0) for k in range(1, 70)]),
    "grid": lambda: _grid(5, 6),
    "complete": lambda: (7, [(u, v) for u in range(7) for v in range(u + 1, 7)]),
    "cycle": lambda: (8, [(k, (k + 1) % 8) for k in range(8)]),
    "rmat": lambda: _rmat(6, 4, seed=1),
    "messy": lambda: _messy(seed=2),
    "two_components": _two_components,
}


def family(name: str, directed: bool = True, weights: str = "int") -> RefGraph:
    """Return a member of a family.

    The graph has an edge column `weight`: whole numbers 1..9 ("int") or multiples of 1/8 ("float").
    """
    n, edges = FAMILIES[name]()
    rng = np.random.default_rng(len(edges))
    drawn = rng.integers(1, 10, len(edges))
    column = drawn if weights == "int" else (drawn * 3 / 8).astype(np.float32)
    return ref_graph(n, edges, directed, weight=column)


def all_families() -> list[tuple[str, RefGraph]]:
    """Return every family, directed and undirected, with integer and with float weights. Each graph has a name for test
    ids.
    """
    return [
        (f"{name}-{'directed' if directed else 'undirected'}-{weights}", family(name, directed, weights))
        for name in FAMILIES
        for directed in (True, False)
        for weights in ("int", "float")
    ]


def random_graph(seed: int, directed: bool | None = None, largest: int = 20) -> RefGraph:
    """Return a graph of 5 to `largest` vertices, with loops, parallel edges and vertices without edges.

    The column `weight` has whole numbers 1..9, or these numbers divided by 4.

    Args:
        directed: None means that the graph is directed or undirected with equal probability.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, largest + 1))
    ends = rng.integers(0, max(2, n - int(rng.integers(0, 3))), (int(rng.integers(n, 3 * n)), 2))
    drawn = rng.integers(1, 10, len(ends))
    weight = drawn if rng.random() < 0.5 else (drawn / 4).astype(np.float32)
    way = bool(rng.random() < 0.5) if directed is None else directed
    return ref_graph(n, [(int(u), int(v)) for u, v in ends], way, weight=weight)


@st.composite
def ref_graphs(
    draw: st.DrawFn,
    max_n: int = 12,
    max_edges: int = 30,
    directed: bool | None = None,
    columns: dict[str, str] | None = None,
    min_n: int = 0,
) -> RefGraph:
    """Return random small graphs with self-loops and parallel edges.

    Args:
        draw: From Hypothesis.
        max_n: The largest number of vertices.
        max_edges: The largest number of listed edges.
        directed: None means that the graph may be directed or undirected.
        columns: The kind of each column by name: "int" (0..9), "float" (multiples of 1/4 from 0 to 8, exact in f32),
            "signed" (-9..9), or "wide" (0..9, or near the largest integer).
        min_n: The smallest number of vertices.
    """
    n = draw(st.integers(min_n, max_n))
    way = draw(st.booleans()) if directed is None else directed
    vertex = st.integers(0, max(n - 1, 0))
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=max_edges if n else 0))
    drawn: dict[str, Any] = {}
    for name, kind in (columns or {}).items():
        least = -9 if kind == "signed" else 0
        top = 32 if kind == "float" else 9
        values = st.integers(least, top)
        if kind == "wide":
            values |= st.sampled_from([1 << 30, (1 << 31) - 2, (1 << 31) - 1])
        numbers = draw(st.lists(values, min_size=len(edges), max_size=len(edges)))
        drawn[name] = np.array(numbers, np.float32) / 4 if kind == "float" else np.array(numbers, np.int32)
    return ref_graph(n, edges, way, **drawn)


def listed_once(graph: RefGraph) -> tuple[Array, Array, dict[str, Array]]:
    """Return src, dst and the columns of the edges as a user lists them: an undirected edge in one direction only."""
    once = graph.m
    if not graph.directed:  # `ref_graph` lists the edges first, then the opposite directions, without loops
        loops = int((graph.src == graph.dst).sum())
        once = (graph.m - loops) // 2 + loops
    return graph.src[:once], graph.dst[:once], {name: column[:once] for name, column in graph.columns.items()}


def to_graph(graph: RefGraph) -> Graph:
    """Return the same graph for the engine.

    The ids are `ids` of the test graph or 0 .. n-1, so that results have the same order.
    """
    from vlang import Graph

    src, dst, listed = listed_once(graph)
    columns: dict[str, Any] = dict(listed)
    if graph.ids is not None:
        return Graph.from_edges(src, dst, directed=graph.directed, ids=graph.ids, columns=columns)
    return Graph.from_edges(src, dst, directed=graph.directed, n=graph.n, columns=columns)
