"""Vertex ids: vertices are numbered by the rank of their ids, found by id, and named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.graph import Graph

SEED = 7


def ends(graph: Graph) -> list[tuple[Any, Any]]:
    """Return the edges in the user's ids, sorted."""
    out = graph.adjacency("out")
    rows = np.repeat(np.arange(graph.n), np.diff(out.offsets).astype(int))
    return sorted((graph.label(u), graph.label(v)) for u, v in zip(rows.tolist(), out.targets.tolist()))


@pytest.mark.parametrize(
    "ids",
    [
        [0, 1, 2], [5, 6, 7], [-3, -2, -1], [10, 1000, 7], [-(2**63), 0, 2**63 - 1], [2**63 - 1, 2**63 - 2],
        [2**64 - 1, 2**63, 3], [2**40, 2**40 + 1], [2**32 - 1, 2**32], [-128, 127], [10**6, 5, 10**9],
    ],
)  # fmt: skip
def test_integer_ids(ids: list[int]) -> None:
    rng = np.random.default_rng(SEED)
    picks = [ids[i] for i in rng.integers(0, len(ids), 40)] + ids
    others = [ids[i] for i in rng.integers(0, len(ids), 40)] + ids
    wide = np.uint64 if max(ids) >= 2**63 else np.int64
    graph = Graph.from_edges(np.array(picks, dtype=wide), np.array(others, dtype=wide))
    assert [graph.label(i) for i in range(graph.n)] == sorted(ids) == graph.ids.values.tolist()
    assert ends(graph) == sorted(zip(picks, others))
    for rank, vertex in enumerate(sorted(ids)):
        assert graph.find(vertex) == graph.find(str(vertex)) == graph.find(wide(vertex)) == rank


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_every_integer_type(dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    info = np.iinfo(dtype)
    src, dst = (rng.integers(info.min, info.max, 300, dtype=dtype, endpoint=True) for _ in range(2))
    graph = Graph.from_edges(src, dst)
    assert graph.ids.values.tolist() == np.unique(np.append(src, dst)).tolist()
    assert ends(graph) == sorted(zip(src.tolist(), dst.tolist()))


def test_many_sparse_ids() -> None:
    rng = np.random.default_rng(SEED)
    src, dst = rng.choice(rng.integers(-(2**62), 2**62, 50_000), (2, 1_200_000))
    graph = Graph.from_edges(src, dst, threads=2)
    known, ranks = np.unique(np.append(src, dst), return_inverse=True)
    np.testing.assert_array_equal(graph.ids.values, known)
    edges = graph.edges()
    order = np.lexsort((ranks[: len(src)], ranks[len(src) :]))
    np.testing.assert_array_equal(edges.src, ranks[: len(src)][order])


def test_string_ids() -> None:
    for kind in (np.str_, object):
        graph = Graph.from_edges(np.array(["b", "ä", "a"], dtype=kind), np.array(["zz", "b", "a"], dtype=kind))
        assert graph.ids.values.tolist() == ["a", "b", "zz", "ä"]
        assert ends(graph) == [("a", "a"), ("b", "zz"), ("ä", "b")]
        assert graph.find("zz") == graph.find(np.str_("zz")) == 2


def test_n_keeps_vertices_without_edges() -> None:
    graph = Graph.from_edges([3], [1], n=6)
    assert graph.ids.consecutive
    assert graph.ids.values.tolist() == [0, 1, 2, 3, 4, 5]


def test_ids_given_in_any_order() -> None:
    graph = Graph.from_edges([0, 1], [2, 0], ids=["z", "a", "m"])
    assert ends(graph) == [("a", "z"), ("z", "m")]
    graph = Graph.from_edges([0, 1], [2, 0], ids=[9, 7, 8])
    assert graph.ids.consecutive
    assert ends(graph) == [(7, 9), (9, 8)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [1, 0]), "src holds float64; vertex ids are integers or strings"),
        (([np.nan], [1]), "src holds float64"),
        (([0, 1], [1]), "src has 2 entries and dst 1"),
        (([[0]], [[1]]), "src must have one dimension, not 2"),
        (([True], [False]), "src holds bool"),
        (([None], [1]), "src holds NoneType; vertex ids are all integers or all strings"),
        ((np.array([0, "a"], dtype=object), [1, 2]), "src holds int, str"),
        ((["a"], [1]), "one of src and dst holds strings and the other integers"),
        (([2**64], [1]), "need more than 64 bits"),
        (([2**63], [-1]), "no integer type of 64 bits holds both"),
    ],
)
def test_ids_that_are_refused(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.from_edges(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 1}, "an edge ends at vertex 1; with n=1 vertices are 0 to 0"),
        ({"n": -1}, "n is -1; a graph has 0 to"),
        ({"n": 2**32}, "a graph has 0 to 4294967294 vertices"),
        ({"ids": ["a"]}, "an edge ends at vertex 1; with the ids given vertices are 0 to 0"),
        ({"ids": ["a", "a"]}, "the id 'a' is given twice"),
        ({"ids": [1, 2], "n": 3}, "n is 3, but there are 2 ids"),
        ({"weight": [1]}, "edge column 'weight' has 1 values for 2 edges"),
        ({"weight": [[1, 2]]}, "edge column 'weight' must have one dimension, not 2"),
        ({"weight": "amount"}, "edge column 'weight' is 'amount': give an array with a value for each edge"),
        ({"weight": [1j, 2]}, "edge column 'weight' must hold numbers, not complex numbers"),
    ],
)
def test_edges_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        Graph.from_edges([0, 1], [1, 0], **options)


@pytest.mark.parametrize(
    ("ids", "vertex", "message"),
    [
        (VertexIds(base=1, count=34), 0, "vertex 0 is not in the graph; its ids are integers from 1 to 34"),
        (VertexIds(base=1, count=34), "x", "vertex 'x' is not in the graph; its ids are integers from 1 to 34"),
        (VertexIds(base=1, count=34), True, "vertex True is not in the graph; its ids are integers from 1 to 34"),
        (VertexIds(base=1, count=34), 2.0, "vertex 2.0 is not in the graph; its ids are integers from 1 to 34"),
        (VertexIds(base=5, count=1), 4, "vertex 4 is not in the graph; its only id is the integer 5"),
        (VertexIds(), 4, "vertex 4 is not in the graph, which has no vertices"),
        (VertexIds(np.array([3, 10, 90])), np.int32(80),
         "vertex 80 is not in the graph; its ids are some of the integers from 3 to 90; the nearest is 90"),
        (VertexIds(np.array([3, 10, 90])), 2**70,
         f"vertex {2**70} is not in the graph; its ids are some of the integers from 3 to 90; the nearest is 90"),
        (VertexIds(np.array([3, 2**64 - 1], dtype=np.uint64)), -1,
         "vertex -1 is not in the graph; its ids are some of the integers from 3 to 18446744073709551615; "
         "the nearest is 3"),
        (VertexIds(np.array(["anna", "bert", "carl"], dtype=object)), "ana",
         "vertex 'ana' is not in the graph; its ids are strings such as 'anna'; the nearest is 'anna'"),
        (VertexIds(np.array(["anna", "bert"], dtype=object)), 17,
         "vertex 17 is not in the graph; its ids are strings such as 'anna'"),
    ],
)  # fmt: skip
def test_a_missing_vertex_is_explained(ids: VertexIds, vertex: object, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        ids.find(vertex)
    assert str(caught.value) == message


def test_consecutive_ids_near_the_end_of_64_bits() -> None:
    assert VertexIds(base=2**64 - 3, count=3).values.tolist() == [2**64 - 3, 2**64 - 2, 2**64 - 1]
    assert VertexIds(base=2**63 - 2, count=2).values.dtype == np.int64
    with pytest.raises(IndexError):
        VertexIds(base=0, count=2).label(2)
