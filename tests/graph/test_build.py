"""Adjacency lists equal the lists that NumPy computes, for any number of threads, any order in which the lists are
requested, and any grouping of the work.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from tests.graph.oracle import Drawn, draw, lists
from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_list import EdgeList, VertexIds
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology import build

SEED = 20_261


@pytest.fixture(autouse=True, params=["by kernels", "by numpy where it is small"])
def _small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "by kernels":
        monkeypatch.setattr(build, "SMALL", -1)


@cache
def _drawn(n: int, edges: int) -> Drawn:
    return draw(np.random.default_rng([SEED, n]), n, edges)


_expected = cache(lists)  # sorting takes longer than all that is tested


def graph_of(drawn: Drawn, directed: bool = True, **options: Any) -> Graph:
    return Graph.from_edges(drawn.src, drawn.dst, n=drawn.n, directed=directed, weight=drawn.weight, **options)


def same(graph: Graph, drawn: Drawn, kind: str) -> None:
    offsets, targets, weights = _expected(drawn, kind, graph.directed)
    built = graph.adjacency(kind, ["weight"])
    assert built.offsets.dtype == np.uint64
    assert built.targets.dtype == np.uint32
    np.testing.assert_array_equal(built.offsets, offsets)
    np.testing.assert_array_equal(built.targets, targets)
    np.testing.assert_array_equal(built.column("weight", np.float64), weights)


SIZES = [(1, 0), (1, 5), (2, 7), (3, 1), (7, 40), (100, 1000), (5000, 90_000), (70_000, 200_000)]


@pytest.mark.parametrize("order", [("in", "out", "both"), ("out", "in", "both"), ("both", "out", "in")])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(("n", "edges"), SIZES)
def test_adjacencies(n: int, edges: int, directed: bool, order: tuple[str, ...]) -> None:
    drawn = _drawn(n, edges)
    graph = graph_of(drawn, directed, threads=2)
    assert graph.m == len(_expected(drawn, "in", directed)[1])
    for kind in order:
        same(graph, drawn, kind)


@pytest.mark.parametrize(("threads", "in_flight", "narrow"), [(1, 1, 0), (3, 10_000, 32), (8, 1, 32), (8, 10_000, 0)])
def test_threads_groups_and_widths_change_nothing(
    threads: int, in_flight: int, narrow: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "ENTRIES_IN_FLIGHT", in_flight)
    monkeypatch.setattr(build, "BYTES_IN_FLIGHT", 1)
    monkeypatch.setattr(build, "NARROW", narrow)
    drawn = _drawn(20_000, 300_000)
    for directed in (True, False):
        graph = graph_of(drawn, directed, threads=threads)
        for kind in ("out", "in", "both"):
            same(graph, drawn, kind)


def test_keys_have_32_bits_where_they_fit() -> None:
    """Rows and neighbours of 2^16 vertices in two buckets take 31 bits, and those of 2^17 vertices 33 bits."""
    entries = build.ENTRIES_PER_BUCKET + 1
    assert [build.bytes_in_flight(1 << bits, entries, False) for bits in (16, 17)] == [4 * entries, 8 * entries]
    drawn = _drawn(1 << 17, entries)
    same(graph_of(drawn), drawn, "in")


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f4", "i8", "f8", "u8"])
def test_column_types_travel(dtype: str) -> None:
    drawn = draw(np.random.default_rng([SEED, 5]), 50, 4000)
    values = (drawn.weight % 100).astype(dtype) if dtype != "u8" else drawn.weight.astype("u8") + np.uint64(2**63)
    drawn = Drawn(drawn.n, drawn.src, drawn.dst, values)
    graph = graph_of(drawn)
    for kind in ("out", "in", "both"):
        np.testing.assert_array_equal(graph.adjacency(kind).column("weight", dtype), lists(drawn, kind, True)[2])


@pytest.mark.parametrize("directed", [True, False])
def test_degrees(directed: bool) -> None:
    drawn = draw(np.random.default_rng([SEED, 2]), 300, 70_000)
    expected = {kind: np.diff(lists(drawn, kind, directed)[0]) for kind in ("in", "out", "both")}
    for first in ("in", "out", None):
        graph = graph_of(drawn, directed)
        if first:
            graph.adjacency(first)
        np.testing.assert_array_equal(graph.out_degree, expected["out"])
        np.testing.assert_array_equal(graph.in_degree, expected["in"])
        np.testing.assert_array_equal(graph.degree, expected["both"])
        assert graph.degree.dtype == np.uint32


def test_scipy_agrees() -> None:
    drawn = draw(np.random.default_rng([SEED, 3]), 400, 5000)
    matrix = scipy.sparse.coo_array((drawn.weight.astype("f8"), (drawn.src, drawn.dst)), shape=(400, 400))
    graph = Graph.from_scipy(matrix, parallel="drop")
    merged = graph.adjacency("out")
    rows = matrix.tocsr()
    np.testing.assert_array_equal(merged.offsets, rows.indptr)
    np.testing.assert_array_equal(merged.targets, rows.indices)


def test_two_threads_get_the_same_object() -> None:
    graph = graph_of(draw(np.random.default_rng([SEED, 4]), 1000, 50_000))
    with ThreadPoolExecutor(8) as pool:
        built = list(pool.map(lambda i: graph.adjacency(("in", "out", "both")[i % 3], ["weight"]), range(24)))
    assert len({id(adjacency) for adjacency in built}) == 3


def test_undirected_is_one_object() -> None:
    graph = graph_of(draw(np.random.default_rng([SEED, 6]), 10, 50), directed=False)
    assert graph.adjacency("in") is graph.adjacency("out") is graph.adjacency("both")


def test_loop_and_mutual_pair_are_seen_twice_by_both() -> None:
    graph = Graph.from_edges([0, 1, 1], [1, 0, 1])
    both = graph.adjacency("both")
    assert both.offsets.tolist() == [0, 2, 6]
    assert both.targets.tolist() == [1, 1, 0, 0, 1, 1]
    assert graph.degree.tolist() == [2, 4]


def test_all_edges_in_one_row() -> None:
    star = Graph.read("star:200000", directed=True)
    assert star.adjacency("in").targets.tolist() == [0] * 199_999
    np.testing.assert_array_equal(star.adjacency("out").targets, np.arange(1, 200_000))
    assert star.out_degree[0] == 199_999


@pytest.mark.parametrize("n", [0, 1, 5])
def test_no_edges(n: int) -> None:
    for directed in (True, False):
        graph = Graph.from_edges([], [], n=n, directed=directed, weight=[])
        assert (graph.n, graph.m) == (n, 0)
        for kind in ("in", "out", "both"):
            assert graph.adjacency(kind, ["weight"]).offsets.tolist() == [0] * (n + 1)
            assert len(graph.adjacency(kind).column("weight", "f4")) == 0
        assert graph.degree.tolist() == [0] * n


def test_arrays_are_read_only() -> None:
    graph = Graph.from_edges([0], [1], weight=[2])
    built = graph.adjacency("in")
    for array in (built.offsets, built.targets, built.column("weight"), graph.degree):
        assert not array.flags.writeable


def test_a_column_that_was_not_materialised_is_built_later() -> None:
    drawn = draw(np.random.default_rng([SEED, 7]), 60, 900)
    graph = graph_of(drawn)
    graph.adjacency("in")
    out = graph.adjacency("out")
    assert not out.holds("weight")
    np.testing.assert_array_equal(out.column("weight"), lists(drawn, "out", True)[2])


def test_an_unknown_column_names_those_there_are() -> None:
    with pytest.raises(GraphError, match="no edge column 'cost'; it has: weight"):
        Graph.from_edges([0], [1], weight=[2]).adjacency("in", ["cost"])


def test_an_edge_list_that_would_lead_kernels_astray_is_refused() -> None:
    ends = np.array([0, 3], dtype=np.uint32)
    with pytest.raises(GraphError, match="vertex number 3, but there are 3 vertices"):
        Graph(EdgeList(ends, ends, VertexIds(base=0, count=3)))
    with pytest.raises(GraphError, match="src has 2 entries and dst 1"):
        Graph(EdgeList(ends, ends[:1], VertexIds(base=0, count=4)))
