"""Graphs as .npz: a saved graph is read back unchanged. Other or damaged files give an error that names the fault."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from tests.graph.oracle import draw
from tests.graph.test_build import SEED, graph_of, same
from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.graph import Graph


def saved(graph: Graph, folder: Path) -> Graph:
    graph.save(folder / "graph.npz")
    assert os.listdir(folder) == ["graph.npz"]
    return Graph.read(folder / "graph.npz")


@pytest.mark.parametrize("first", ["in", "out", None])
@pytest.mark.parametrize("directed", [True, False])
def test_round_trip(directed: bool, first: str | None, tmp_path: Path) -> None:
    drawn = draw(np.random.default_rng([SEED, 21]), 500, 9000)
    graph = graph_of(drawn, directed)
    if first:
        graph.adjacency(first)
    again = saved(graph, tmp_path)
    assert (again.n, again.m, again.directed, again.notes) == (graph.n, graph.m, directed, graph.notes)
    assert again.columns == graph.columns
    for kind in ("out", "in", "both"):
        same(again, drawn, kind)


@pytest.mark.parametrize(
    "ids", [[0, 1, 2], [-5, 7, 2**63 - 1], [2**64 - 1, 2**63, 0], ["b", "", "ä\U0001f600"], ["a" * 10_000, "b", "c"]]
)
def test_ids_come_back(ids: list[Any], tmp_path: Path) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], ids=np.array(ids, dtype=object))
    again = saved(graph, tmp_path)
    assert again.ids.values.tolist() == sorted(ids)
    assert again.ids.consecutive == graph.ids.consecutive


@pytest.mark.parametrize("n", [0, 1])
def test_small(n: int, tmp_path: Path) -> None:
    again = saved(Graph.from_edges([], [], n=n), tmp_path)
    assert (again.n, again.m) == (n, 0)


def test_the_rule_of_weights_comes_back(tmp_path: Path) -> None:
    graph = Graph.read("kron:6,weights=-7..63")
    again = saved(graph, tmp_path)
    assert again.rule == graph.rule
    expected, found = (g.adjacency("in").column("weight") for g in (graph, again))
    np.testing.assert_array_equal(found, expected)


def test_options_apply_to_a_saved_graph(tmp_path: Path) -> None:
    drawn = draw(np.random.default_rng([SEED, 22]), 30, 900)
    graph_of(drawn).save(tmp_path / "g.npz")
    for options in ({"symmetrize": True}, {"self_loops": "drop"}, {"parallel": "drop"}, {"directed": False}):
        expected = graph_of(drawn, **options)
        found = Graph.read(tmp_path / "g.npz", **options)
        assert (found.m, found.directed) == (expected.m, expected.directed)
        a, b = expected.adjacency("out"), found.adjacency("out")
        np.testing.assert_array_equal(a.targets, b.targets)
        np.testing.assert_array_equal(np.sort(a.column("weight")), np.sort(b.column("weight")))
    graph_of(drawn, directed=False).save(tmp_path / "u.npz")
    turned = Graph.read(tmp_path / "u.npz", directed=True, weights="1..9")
    assert turned.directed
    assert turned.m == graph_of(drawn, directed=False).m
    assert turned.column_range("weight") == (1, 9)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_scipy_files(kind: str, tmp_path: Path) -> None:
    drawn = draw(np.random.default_rng([SEED, 23]), 60, 700)
    matrix = scipy.sparse.coo_matrix((drawn.weight, (drawn.src, drawn.dst)), shape=(60, 60)).asformat(kind)
    matrix.data[:3] = 0
    scipy.sparse.save_npz(tmp_path / "m.npz", matrix)
    for graph in (Graph.read(tmp_path / "m.npz"), Graph.from_scipy(matrix)):
        assert graph.m == matrix.nnz
        dense = np.zeros((60, 60))
        out = graph.adjacency("out")
        rows = np.repeat(np.arange(60), np.diff(out.offsets).astype(int))
        np.add.at(dense, (rows, out.targets), out.column("weight"))
        np.testing.assert_array_equal(dense, matrix.toarray())


def test_scipy_matrices_that_are_no_graph(tmp_path: Path) -> None:
    scipy.sparse.save_npz(tmp_path / "m.npz", scipy.sparse.csr_matrix(np.ones((2, 3))))
    with pytest.raises(GraphError, match="the matrix must be square; its shape is 2 x 3"):
        Graph.read(tmp_path / "m.npz")
    with pytest.raises(GraphError, match="the matrix must be square; its shape is 2 x 3"):
        Graph.from_scipy(scipy.sparse.csr_matrix(np.ones((2, 3))))
    scipy.sparse.save_npz(tmp_path / "m.npz", scipy.sparse.dia_matrix(np.eye(3)))
    with pytest.raises(GraphError, match="a matrix of format 'dia'; save it as csr, csc or coo"):
        Graph.read(tmp_path / "m.npz")
    with pytest.raises(GraphError, match=r"a scipy\.sparse matrix is needed, not list"):
        Graph.from_scipy([[1]])


def test_symmetric_matrix_as_undirected() -> None:
    matrix = scipy.sparse.coo_array(np.array([[0, 5], [5, 7]]))
    graph = Graph.from_scipy(matrix, weight="w", directed=False)
    assert (graph.m, graph.directed) == (3, False)
    with pytest.raises(GraphError, match="the matrix is not symmetric"):
        Graph.from_scipy(scipy.sparse.coo_array(np.array([[0, 5], [0, 7]])), directed=False)


def test_foreign_and_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, a=np.arange(3), b=np.arange(3))
    with pytest.raises(GraphError, match=r"x\.npz: neither a graph that vlang saved nor .* it holds a, b"):
        Graph.read(path)
    np.savez(path, vlang_graph=np.array(99))
    with pytest.raises(GraphError, match=r"graph format 99; this version of vlang reads format 1"):
        Graph.read(path)
    np.savez(path, vlang_graph=np.array([None], dtype=object))
    with pytest.raises(GraphError, match="the array `vlang_graph` holds Python objects"):
        Graph.read(path)
    Graph.read("kron:6").save(path)
    whole = path.read_bytes()
    for length in (5, 400, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:length])
        with pytest.raises(GraphError, match=r"x\.npz: damaged or cut off"):
            Graph.read(path)
    path.write_bytes(whole[:1000] + bytes(200) + whole[1200:])
    with pytest.raises(GraphError, match=r"x\.npz: "):
        Graph.read(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("targets", np.array([0, 9], dtype=np.uint32)), ("offsets", np.array([0, 3, 2], dtype=np.uint64)),
        ("kind", np.array("both")), ("offsets", np.array([], dtype=np.uint64)), ("ids", np.array([5, 5])),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_together(name: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    Graph.from_edges([0, 9], [9, 0], weight=[1, 2]).save(path)
    arrays = dict(np.load(path))
    arrays[name] = value
    np.savez(path, **arrays)
    with pytest.raises(GraphError, match="the arrays of this graph do not fit together"):
        Graph.read(path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="cannot write"):
        Graph.read("path:3").save(tmp_path / "no" / "x.npz")
