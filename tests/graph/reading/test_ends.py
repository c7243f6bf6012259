"""The choice of source and target among the columns of a text, and the vertices without edges in a graph."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.graph import Graph

SALES = "date,buyer,seller,amount\n2001,1,2,5\n2002,2,3,6\n"
HOW = "--source-column and --target-column (source_column=, target_column=) choose others"


def written(folder: Path, name: str, text: str | bytes) -> str:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(folder / name)


def edges(graph: Graph) -> list[tuple[Any, Any]]:
    listed = graph.edges()
    return sorted(zip(graph.ids.values[listed.src].tolist(), graph.ids.values[listed.dst].tolist()))


def refused(folder: Path, text: str, **options: Any) -> str:
    with pytest.raises(GraphError) as error:
        Graph.read(written(folder, "g", text), **options)
    return str(error.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(("source", "target"), [("buyer", "seller"), (2, 3), ("2", "seller"), (np.int64(2), "3")])
def test_ends_are_chosen(source: Any, target: Any, tmp_path: Path) -> None:
    graph = Graph.read(written(tmp_path, "g.csv", SALES), source_column=source, target_column=target)
    assert edges(graph) == [(1, 2), (2, 3)]
    assert (set(graph.columns), graph.warnings) == ({"date", "amount"}, ())


def test_ends_of_a_file_without_header(tmp_path: Path) -> None:
    path = written(tmp_path, "g", "9 1 2 5\n8 2 3 6\n")
    graph = Graph.read(path, source_column=3, target_column=2, weights="4")
    assert edges(graph) == [(2, 1), (3, 2)]
    assert set(graph.columns) == {"column1", "weight"}


def test_one_end_is_chosen_and_the_other_known(tmp_path: Path) -> None:
    graph = Graph.read(written(tmp_path, "g", "to,x,y\n1,2,3\n"), source_column="y")
    assert edges(graph) == [(3, 1)]


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("x,Start_ID,END-ID", [(2, 3)]), ("v,u,w", [(2, 1)]), ("w,:START_ID,:END_ID", [(2, 3)]),
        ("Node 1,w,Node 2", [(1, 3)]), ("w,target,source", [(3, 2)]),
        ("from,source,target", [(2, 3)]),
    ],
)  # fmt: skip
def test_known_names(header: str, expected: list[tuple[int, int]], tmp_path: Path) -> None:
    graph = Graph.read(written(tmp_path, "g", f"{header}\n1,2,3\n"))
    assert (edges(graph), graph.warnings) == (expected, ())


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("date,buyer,seller", "no column is called like a source or a target, so column 1 (date) is the source and "
         "column 2 (buyer) the target"),
        ("from,person,x", "no column is called like a target, so column 1 (from) is the source and column 2 (person) "
         "the target"),
        ("person,to,x", "no column is called like a source, so column 1 (person) is the source and column 2 (to) the "
         "target"),
        ("start,to,from", "column 1 (start) and column 3 (from) are both called like a source; the first is taken"),
    ],
)  # fmt: skip
def test_a_guess_is_said(header: str, why: str, tmp_path: Path) -> None:
    graph = Graph.read(written(tmp_path, "g", f"{header}\n1,2,3\n"))
    assert graph.warnings == (f"{tmp_path}/g, line 1: {'' if 'both' in why else 'read as a header, and '}{why}; {HOW}",)
    assert edges(graph) == [(1, 2)]
    assert graph.thinned(self_loops="drop").with_rule_weights(1, 2).warnings == graph.warnings


def test_wrong_choices(tmp_path: Path) -> None:
    assert refused(tmp_path, SALES, source_column="byer", target_column=3) == (
        "g: there is no column 'byer' to take as source\n"
        "  expected: one of: 1 (date), 2 (buyer), 3 (seller), 4 (amount)")
    assert refused(tmp_path, "1 2\n", source_column=3, target_column=1) == (
        "g: there is no column '3' to take as source\n  expected: a number from 1 to 2, as the file has no header")
    assert refused(tmp_path, SALES, source_column="buyer") == (
        "g, line 1: no column is called like a target\n  found:    date, buyer, seller, amount\n"
        "  expected: --target-column NAME (target_column=NAME), or a well-known name such as target")
    assert refused(tmp_path, "1 2 3\n", target_column=2).startswith("g: without a header, the column of the source")
    assert "is taken as source and as target" in refused(tmp_path, SALES, source_column=2, target_column="buyer")
    assert "no column is called like a target" in refused(tmp_path, "date,from,x\n1,2,3\n")
    for value in (0, -1, True, 1.5, ""):
        assert "write the name of a column" in refused(tmp_path, SALES, source_column=value)


@pytest.mark.parametrize("option", ["source_column", "target_column", "vertices"])
def test_only_for_lists_of_edges(option: str, tmp_path: Path) -> None:
    matrix = "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n"
    assert f"({option}=)" in refused(tmp_path, matrix, **{option: 2})
    Graph.read("path:3").save(tmp_path / "g.npz")
    options: dict[str, Any] = {option: 2}
    for name in ("karate", tmp_path / "g.npz"):
        with pytest.raises(GraphError, match=f"{option}='?2'?: .* is no file of text"):
            Graph.read(name, **options)


# ------------------------------------------------------------------ vertices without edges


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("1\n2\n3\n9\n", [1, 2, 3, 9]), ("# all\n9\n\n3\n2\n1", [1, 2, 3, 9]), ("id\n1\n2\n3\n", [1, 2, 3]),
        ("city\n1\n2\n3\n", [1, 2, 3]), ("name,id\nAnn,3\nBob,1\n\"C, D\",2\n,7\n", [1, 2, 3, 7]),
        ("1 0.5\n2 0.25\n3 1\n", [1, 2, 3]), ("3\tx y\n2\t\n1\tz\n4\tz\n", [1, 2, 3, 4]),
        ("1\n2\n3\n18446744073709551615\n", [1, 2, 3, 2**64 - 1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_of_vertices(text: str, ids: list[int], packed: bool, tmp_path: Path) -> None:
    path = written(tmp_path, "g", "1 2\n3 2\n")
    vertices = written(tmp_path, "v", gzip.compress(text.encode()) if packed else text)
    graph = Graph.read(path, vertices=vertices)
    assert (graph.ids.values.tolist(), edges(graph), graph.warnings) == (ids, [(1, 2), (3, 2)], ())
    assert f"Vertices: those of {vertices}, {len(ids) - 3} of them without edges." in graph.notes


def test_vertices_that_are_texts(tmp_path: Path) -> None:
    path = written(tmp_path, "g", "1 2\n2 3\n")
    graph = Graph.read(path, vertices=written(tmp_path, "v", "1\nulm\n2\n3\n"))
    assert (graph.ids.values.tolist(), edges(graph)) == (["1", "2", "3", "ulm"], [("1", "2"), ("2", "3")])
    graph = Graph.from_edges(["b"], ["a"], vertices=["c", "b", "a"])
    assert (graph.ids.values.tolist(), edges(graph)) == (["a", "b", "c"], [("b", "a")])


@pytest.mark.parametrize(("vertices", "ids"), [(5, range(5)), ("5", range(5)), ("1..4", range(1, 5)),
                                               ("-1..3", range(-1, 4)), ([7, 3, 2, 1], [1, 2, 3, 7])])
def test_counts_ranges_and_arrays(vertices: Any, ids: Any, tmp_path: Path) -> None:
    graph = Graph.read(written(tmp_path, "g", "1 2\n2 3\n"), vertices=vertices)
    assert (graph.ids.values.tolist(), edges(graph)) == (list(ids), [(1, 2), (2, 3)])
    graph = Graph.from_edges([1, 2], [2, 3], vertices=vertices, weight=[5, 6])
    assert (graph.ids.values.tolist(), edges(graph)) == (list(ids), [(1, 2), (2, 3)])
    assert Graph.from_edges([], [], vertices=vertices).n == len(ids)


def test_an_end_that_is_no_vertex_is_named(tmp_path: Path) -> None:
    vertices = written(tmp_path, "v", "1\n2\n")
    assert refused(tmp_path, "1 2\n2 1\n2 3\n", vertices=vertices) == (
        "g: vertex 3 is not in the list of vertices (v, 2 vertices); it is an end of edge 3: 2 -> 3")
    assert "vertex 3 is not in the list of vertices (0..2, 3 vertices)" in refused(tmp_path, "1 2\n2 3\n", vertices=3)
    assert "the ids of the edges are strings, such as 'x'" in refused(tmp_path, "1 x\n", vertices=vertices)
    with pytest.raises(GraphError, match=r"vertex 'z' is not in the list of vertices .* edge 1: 'z' -> 'a'"):
        Graph.from_edges(["z"], ["a"], vertices=["a", "b"])


@pytest.mark.parametrize(("low", "high"), [(-(2**63), -(2**63) + 2), (2**64 - 3, 2**64 - 1), (2**63 - 2, 2**63)])
def test_ranges_at_the_ends_of_64_bits(low: int, high: int, tmp_path: Path) -> None:
    graph = Graph.read(written(tmp_path, "g", f"{low} {high}\n"), vertices=f"{low}..{high}")
    assert [int(v) for v in graph.ids] == [low, low + 1, high]


@pytest.mark.parametrize("beyond", [f"{-(2**63) - 1}..{-(2**63) + 2}", f"{2**64 - 3}..{2**64}"])
def test_ranges_beyond_64_bits(beyond: str, tmp_path: Path) -> None:
    assert "with ids of 64 bits" in refused(tmp_path, "1 2\n", vertices=beyond)


@pytest.mark.parametrize("vertices", [True, 1.5, "5..x", -1, 2**32, "9..1", [1, 1], [1.5], "", "5_0"])
def test_vertices_that_are_none(vertices: Any, tmp_path: Path) -> None:
    with pytest.raises((GraphError, DiskError)):
        Graph.read(written(tmp_path, "g", "1 2\n"), vertices=vertices)
    with pytest.raises(GraphError, match="`vertices` and `n` both say which vertices there are"):
        Graph.from_edges([1], [2], vertices=3, n=3)
    with pytest.raises(GraphError, match="`vertices` and `ids` both say which vertices there are"):
        Graph.from_edges([1], [2], vertices=3, ids=[1, 2, 3])


def test_files_of_vertices_that_are_wrong(tmp_path: Path) -> None:
    vertices = written(tmp_path, "v", "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n")
    assert "this is MatrixMarket, a list of edges" in refused(tmp_path, "1 2\n", vertices=vertices)
    assert "lists no vertices" in refused(tmp_path, "1 2\n", vertices=written(tmp_path, "v", "# none\n"))
    assert "v, line 3: there is more" in refused(tmp_path, "1 2\n", vertices=written(tmp_path, "v", "1\n2\n3 4\n"))
    graph = Graph.read(written(tmp_path, "g", "1 2\n"), vertices=written(tmp_path, "v", "2\n1\n2\n"))
    assert graph.warnings == (f"{tmp_path}/v: 1 line of vertices that are listed before",)
    graph = Graph.read(tmp_path / "g", vertices=written(tmp_path, "v", "no,age\n1,30\n2,31\n"))
    assert "no column is called like ids of vertices, so column 1 (no) is taken" in graph.warnings[0]


@pytest.mark.parametrize("ending", [".v", ".v.gz"])
def test_vertices_of_ldbc(ending: str, tmp_path: Path) -> None:
    text = b"1 5\n2 6\n7 8\n"
    table = written(tmp_path, f"x{ending}", gzip.compress(text) if ending.endswith("gz") else text)
    with pytest.raises(GraphError, match=r"files that end in \.v are lists of vertices \(LDBC\), not of edges"):
        Graph.read(table)
    graph = Graph.read(written(tmp_path, "x.e", "1 2\n"))
    assert f"--vertices {table}" in graph.warnings[0]
    graph = Graph.read(tmp_path / "x.e", vertices=table)
    assert (graph.n, graph.warnings) == (3, ())
