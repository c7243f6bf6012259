"""A graph owns its arrays: no later write to an array of the user, the graph or a result changes an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from vlang import Graph, compile, load
from vlang.runtime.graph.edges.edge_list import EdgeList, VertexIds
from vlang.runtime.storage import device_copies
from vlang.runtime.storage.device_copies import DeviceCopies

SSSP = load("sssp")
SRC, DST, WEIGHT = [0, 0, 1, 2, 3], [1, 2, 3, 3, 4], [5, 1, 2, 9, 4]

Given = tuple[Callable[[], Graph], list[Any]]


def from_arrays(ends: type, weights: type, **more: Any) -> Given:
    arrays: list[Any] = [np.array(SRC, ends), np.array(DST, ends), np.array(WEIGHT, weights)]
    lent: dict[str, Any] = {name: np.array(value) if isinstance(value, list) else value for name, value in more.items()}
    given = [*arrays, *(value for value in lent.values() if isinstance(value, np.ndarray))]
    return lambda: Graph.from_edges(arrays[0], arrays[1], weight=arrays[2], **lent), given


def from_views() -> Given:
    """Return a graph from columns that are views of one table and do not own their memory."""
    table = np.array([SRC, DST, WEIGHT], np.uint32)
    return lambda: Graph.from_edges(table[0], table[1], n=5, weight=table[2]), [table]


def from_names() -> Given:
    names = np.array(["a", "b", "c", "d", "e"], object)
    src, dst, weight = names[SRC], names[DST], np.array(WEIGHT, np.float32)
    return lambda: Graph.from_edges(src, dst, weight=weight), [src, dst, weight]


def from_given_names() -> Given:
    names, weight = np.array(["a", "b", "c", "d", "e"], object), np.array(WEIGHT, np.uint8)
    src, dst = np.array(SRC, np.uint32), np.array(DST, np.uint32)
    return lambda: Graph.from_edges(src, dst, ids=names, weight=weight), [names, src, dst, weight]


def from_matrix(kind: str) -> Given:
    matrix = sp.coo_matrix((np.array(WEIGHT, np.float32), (SRC, DST)), shape=(5, 5)).asformat(kind)
    arrays = [matrix.data, *((matrix.row, matrix.col) if kind == "coo" else (matrix.indices, matrix.indptr))]
    return lambda: Graph.from_scipy(matrix), arrays


def from_frame() -> Given:
    frame = pd.DataFrame({"src": np.array(SRC, np.uint32), "dst": np.array(DST, np.uint32),
                          "weight": np.array(WEIGHT, np.float32)})  # fmt: skip
    return lambda: Graph.from_edges(frame.src, frame.dst, n=5, weight=frame.weight), [
        np.ndarray.view(np.asarray(frame[name])) for name in frame]


WAYS: dict[str, Callable[[], Given]] = {
    "numbers of 32 bits": lambda: from_arrays(np.uint32, np.uint8, n=5),
    "floats": lambda: from_arrays(np.uint32, np.float32, n=5),
    "undirected": lambda: from_arrays(np.uint32, np.float32, n=5, directed=False),
    "symmetrized": lambda: from_arrays(np.uint32, np.float64, n=5, symmetrize=True),
    "thinned": lambda: from_arrays(np.uint32, np.float32, n=5, parallel="drop"),
    "numbers of 64 bits": lambda: from_arrays(np.int64, np.int64),
    "numbers that occur": lambda: from_arrays(np.uint64, np.float64),
    "ids given": lambda: from_arrays(np.uint32, np.uint8, ids=[10, 20, 30, 40, 70]),
    "names": from_names,
    "names given": from_given_names,
    "views": from_views,
    "coo": lambda: from_matrix("coo"),
    "csr": lambda: from_matrix("csr"),
    "csc": lambda: from_matrix("csc"),
    "DataFrame": from_frame,
}  # fmt: skip


def overwrite(arrays: list[Any]) -> None:
    for array in arrays:
        if array.flags.writeable:  # pandas returns read-only arrays
            array[...] = "zz" if array.dtype == object else 3


@pytest.mark.parametrize("way", WAYS)
def test_the_arrays_of_the_caller_may_change(way: str) -> None:
    """Changes of the user's arrays before or after the first call do not affect the graph.

    Changes of the user's arrays do not affect column ranges either. The column ranges matter because they decide which
    checks are skipped.
    """
    make, _ = WAYS[way]()
    whole = make()
    source = whole.label(0)
    want = SSSP(whole, source=source)
    for late in (False, True):
        make, given = WAYS[way]()
        graph = make()
        if late:
            graph.built()
        overwrite(given)
        found = SSSP(graph, source=source)
        assert found["dist"].tolist() == want["dist"].tolist()
        assert found.ids.tolist() == want.ids.tolist()
        assert graph.column_range("weight") == whole.column_range("weight")
        assert graph.edges().columns["weight"].tolist() == whole.edges().columns["weight"].tolist()


def test_networkx_and_files(tmp_path: Path) -> None:
    other = nx.DiGraph()
    other.add_weighted_edges_from(zip(SRC, DST, WEIGHT))
    graph = Graph.from_networkx(other)
    want = SSSP(Graph.from_networkx(other), source=0)["dist"].tolist()
    for _, _, data in other.edges(data=True):
        data["weight"] = 100
    assert SSSP(graph, source=0)["dist"].tolist() == want
    graph.save(tmp_path / "graph.npz")
    again = Graph.read(tmp_path / "graph.npz")
    (tmp_path / "graph.npz").write_bytes(bytes((tmp_path / "graph.npz").stat().st_size))
    assert SSSP(again, source=0)["dist"].tolist() == want


def test_an_edge_list_is_taken_over() -> None:
    """The arrays of an edge list are not copied, but become read-only."""
    src, dst, weight = np.array(SRC, np.uint32), np.array(DST, np.uint32), np.array(WEIGHT, np.float32)
    ids = np.array([1, 2, 3, 5, 8])
    graph = Graph(EdgeList(src, dst, VertexIds(ids), {"weight": weight}))
    for array in (src, dst, weight, ids):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    assert SSSP(graph, source=1)["dist"].tolist() == [0.0, 5.0, 1.0, 7.0, 11.0]


def test_edges_that_are_added() -> None:
    graph = Graph.from_edges(np.array(SRC), np.array(DST), weight=np.array(WEIGHT, np.uint8))
    src, dst, weight = np.array([4], np.uint32), np.array([5], np.uint32), np.array([1], np.uint8)
    changed = graph.changed({"src": src, "dst": dst, "weight": weight})
    src[:], dst[:], weight[:] = 0, 0, 200
    assert SSSP(changed, source=0)["dist"].tolist() == [0.0, 5.0, 1.0, 7.0, 11.0, 12.0]
    assert SSSP(graph, source=0)["dist"].tolist() == [0.0, 5.0, 1.0, 7.0, 11.0]


@pytest.mark.parametrize("ids", [None, [10, 20, 30, 40, 70], ["a", "b", "c", "d", "e"]])
def test_what_is_handed_out_is_read_only(ids: list[Any] | None) -> None:
    n = 5 if ids is None else None
    graph = Graph.from_edges(SRC, DST, ids=ids, n=n, weight=np.array(WEIGHT, np.float32))
    result = SSSP(graph, source=graph.label(0))
    near = graph.neighbours()
    handed = [graph.ids.values, result.ids, graph.out_degree, graph.in_degree, graph.degree, near.offsets, near.targets]
    for kind in ("in", "out", "both"):
        lists = graph.adjacency(kind, ["weight"])
        handed += [lists.offsets, lists.targets, lists.column("weight"), lists.column("weight", np.float64)]
    for array in handed:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array[:1]


def test_fields_of_a_result_are_its_own() -> None:
    """Writes to the fields of a result change neither the graph nor another result."""
    program = compile("program own\nvertex d: int = 0\nvertex id: vertex = self\n"
                      "repeat 1 times:\n    apply d = outdegree\n")
    graph = Graph.from_edges(SRC, DST, n=5)
    want = program(graph)["d"].tolist()
    result = program(graph)
    again = program(graph, d=result["d"])
    result["d"][:] = 9
    result["id"][:] = 0
    assert again["d"].tolist() == program(graph)["d"].tolist() == want == graph.out_degree.tolist()
    assert program(graph)["id"].tolist() == [0, 1, 2, 3, 4]


def test_a_result_keeps_its_parameters() -> None:
    """A result keeps its list of vertices, even if the user's list changes later or can be read only once."""
    program = compile("program near(centers: vertices)\n"
                      "vertex dist: float = 0.0 if position(self, centers) >= 0 else inf\n"
                      "repeat:\n    gather d = min(u.dist + 1.0 for u -> self)\n    apply dist = min(dist, d)\n")
    graph = Graph.from_edges([0, 1, 2], [1, 2, 3])
    for centers in (np.array([0, 2]), [0, 2], iter([0, 2])):
        result = program(graph, centers=centers)
        if not hasattr(centers, "__next__"):
            centers[0] = 3
        assert program.resume(result, added=[(3, 4)])["dist"].tolist() == [0.0, 1.0, 0.0, 1.0, 2.0]


def test_a_graph_that_outlives_the_modules_is_freed_without_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph is freed without a message at the end of the interpreter, when the names of modules are None."""
    copies = DeviceCopies()
    monkeypatch.setattr(device_copies, "os", None)
    copies.__del__()
