"""Common neighbours of the two vertices of an edge are compared with the interpreter, NetworkX and plain sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, interpreted
from tests.cpu.reductions.wholes import hubs
from tests.reference.cases import Case
from tests.reference.graph import RefGraph, ref_graph
from tests.reference.graphs import all_families, to_graph
from vlang import Graph, compile, load
from vlang.runtime.plan.derived import COMMON

DESIGN = Path(__file__).resolve().parents[2] / "reference" / "design"
TEXTS = {
    "lcc": (DESIGN / "lcc.vp").read_text(encoding="utf-8"),
    "triangles": (DESIGN / "triangles.vp").read_text(encoding="utf-8"),
    "every way": """program every_way
edge   weight: float = 1
vertex into:   int   = sum(common(u, self) for u -> self if u != self)
vertex out:    int   = max(common(self, u) * 2 for self -> u, default = -1)
vertex both:   int   = count(common(self, u) > common(u, self) - 1 for u -- self)
vertex often:  int   = mode(common(self, u) for u -- self, default = 7)
vertex near:   float = sum(weight * common(self, u) for u -> self)
repeat 2 times:
    gather tight = sum(u.into for u -- self if common(self, u) >= 2)
    apply  into += tight
""",
}


PAIRS = """program pairs(s: vertex, t: vertex)
vertex link:  vertex
vertex near:  int = common(self, s)
vertex own:   int = common(self, self)
vertex other: int = common(self, link) if link != none else -1
vertex past:  int = max(common(u, t) for u -- self, default = -5)
global top = max(common(v, t) for v in vertices)
global pair = common(s, t)
where common(self, t) > 0:
    apply own += 100
repeat 2 times:
    gather less = sum(u.near for u -> self if common(u.link, self) < 3 and u.link != none)
    apply  near = less + common(self, t)
"""


def pair_cases() -> Iterator[Case]:
    """Yield cases with pairs of any vertices, not only neighbours. Short lists are merged, and the list of a hub
    is searched.
    """
    graphs = [graph for _, graph in all_families() if graph.n] + [hubs(4000, {3: 6000, 8: 3000}, 6, rest=2000)]
    for seed, graph in enumerate(graphs):
        rng = np.random.default_rng(seed)
        link = np.where(rng.random(graph.n) < 0.2, -1, rng.integers(0, graph.n, graph.n))
        yield Case(graph, {"s": int(rng.integers(0, graph.n)), "t": min(3, graph.n - 1)}, {"link": link})


def test_pairs() -> None:
    program = compile(PAIRS)
    for case in pair_cases():
        assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))


def test_no_vertex_has_no_neighbours() -> None:
    program = compile("program p\nvertex link: vertex\nvertex x: int = common(self, link)\n")
    graph = Graph.from_edges([0, 1, 2], [1, 2, 0], directed=False)
    assert program(graph, link=np.array([-1, 2, -1]))["x"].tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", TEXTS)
def test_families(name: str) -> None:
    program = compile(TEXTS[name])
    for _, graph in all_families():
        case = Case(graph, {}, {})
        assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))


def _counts(graph: RefGraph, kind: str) -> list[int]:
    """Return the number of common neighbours for every entry of the adjacency, row by row."""
    near: list[set[int]] = [set() for _ in range(graph.n)]
    for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        near[u] |= {v} - {u}
        near[v] |= {u} - {v}
    adjacency = to_graph(graph).adjacency(kind)
    rows = np.repeat(np.arange(graph.n), np.diff(adjacency.offsets).astype(np.int64)).tolist()
    return [len(near[a] & near[b]) for a, b in zip(rows, adjacency.targets.tolist(), strict=True)]


@pytest.mark.parametrize("kind", ["in", "out", "both"])
@pytest.mark.parametrize("directed", [True, False])
def test_columns(kind: str, directed: bool) -> None:
    for seed in range(20):
        print("seed", seed)
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 40))
        edges = [(int(u), int(v)) for u, v in rng.integers(0, n, (int(rng.integers(0, 6 * n)), 2))]
        graph = ref_graph(n, edges, directed)
        assert to_graph(graph).adjacency(kind).column(COMMON).tolist() == _counts(graph, kind)


def test_a_hub_beside_short_rows() -> None:
    graph = hubs(300, {3: 40_000, 8: 20_000}, 4, rest=9000)
    assert to_graph(graph).adjacency("in").column(COMMON).tolist() == _counts(graph, "in")


def test_a_larger_graph() -> None:
    made = nx.powerlaw_cluster_graph(3000, 7, 0.4, seed=5)
    ends = np.array(made.edges).T
    graph = Graph.from_edges(ends[0], ends[1], directed=False)
    triangles, clustering = nx.triangles(made), nx.clustering(made)
    found = load(DESIGN / "triangles.vp")(graph)
    assert found["mine"].tolist() == [triangles[v] for v in range(3000)]
    assert found["total"] == sum(triangles.values()) // 3
    np.testing.assert_allclose(load(DESIGN / "lcc.vp")(graph)["lcc"], [clustering[v] for v in range(3000)], rtol=1e-6)


def test_counted_once_a_graph() -> None:
    """The graph caches the counts. Neighbour lists without self-loops and parallel edges are not copied."""
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 0, 0], directed=False)
    adjacency = graph.adjacency("both")
    assert adjacency.column(COMMON) is adjacency.column(COMMON)
    assert COMMON not in graph.columns
    assert adjacency.column(COMMON).tolist() == [1, 1, 0, 1, 1, 1, 1, 0]
