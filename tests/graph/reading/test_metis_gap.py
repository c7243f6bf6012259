"""Files of METIS and of the GAP Benchmark Suite: the graphs that are read, and the messages about wrong files."""

from __future__ import annotations

import gzip
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlang import Graph
from vlang.errors import GraphError, OutOfMemory
from vlang.runtime.convert.convert import convert
from vlang.runtime.graph.edges.ends import OF_FILE
from vlang.runtime.graph.estimate import estimate
from vlang.runtime.graph.formats.metis import METIS

EDGES = [(1, 2, 5), (1, 3, 70_000), (2, 3, 3_000_000_000), (3, 5, 1)]
METIS_TEXT = "% five vertices, the fourth alone\n5 4 011 2\n9 9 2 5 3 70000\n9 9 1 5 3 3000000000\n% between\n" \
    "9 9 1 70000 2 3000000000 5 1\n9 9\n9 9 3 1"


def listed(graph: Graph) -> list[tuple[Any, ...]]:
    found = graph.edges()
    ends = (graph.ids.values[part].tolist() for part in (found.src, found.dst))
    return sorted(zip(*ends, *(values.tolist() for values in found.columns.values())))


def gap(path: Path, n: int, rows: list[list[Any]], directed: bool) -> Path:
    """Write a file in the same format as `writer.h` of GAP. `rows` are lists of neighbours, or of (neighbour, weight).
    """
    body = b""
    columns: list[list[Any]] = [[] for _ in range(n)] if directed else []
    for u, row in enumerate(rows if directed else []):
        for entry in row:
            v, *w = entry if isinstance(entry, tuple) else (entry,)
            columns[v].append((u, *w) if w else u)
    for lists in (rows, columns) if directed else (rows,):
        body += np.cumsum([0, *map(len, lists)]).astype("<i8").tobytes()
        flat = [number for row in lists for entry in row for number in np.atleast_1d(entry)]
        body += np.array(flat, "<i4").tobytes()
    path.write_bytes(struct.pack("<?qq", directed, sum(map(len, rows)), n) + body)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_metis(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ("a.graph.gz" if packed else "a.graph")
    path.write_bytes(gzip.compress(METIS_TEXT.encode()) if packed else METIS_TEXT.encode())
    for piece in (1 << 22, 7, 1):
        monkeypatch.setattr("vlang.runtime.graph.formats.metis._PIECE", piece)
        graph = Graph.read(path)
        assert (graph.n, graph.m, graph.directed, graph.ids.tolist()) == (5, 8, False, [1, 2, 3, 4, 5])
        assert listed(graph) == EDGES
    assert "Not read: the weights of vertices." in graph.notes
    assert Graph.read(path, directed=True).m == 8
    convert(path, tmp_path / "a.vg")
    assert listed(Graph.read(tmp_path / "a.vg")) == EDGES
    shape = estimate(str(path))
    assert shape is not None
    assert (shape.n, shape.m) == (5, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [("5 4 7\n", "line 1: a wrong line of counts"),
     ("% c\n5000000000 4\n", "line 2: too many vertices"),
     ("2 1\n2\n1\n\n\n1\n", "line 6: a line of neighbours after that of vertex 2"),
     ("3 1\n2\n% x\n1\n", "line 5: the file ends after 2 lines of neighbours"),
     ("2 1\n2\nx\n", "line 3: this is not a number"),
     ("% c\n2 1\n% c\n3\n1\n", "line 4: vertex 3 is out of range"),
     ("2 1\n2\n1 1\n", "line 3: more than 2 neighbours"),
     ("3 2\n2\n1\n   \n", "line 1: 2 neighbours in all lines"),
     ("3 2\n2\n3\n1 2\n", "an edge is in the line of one of its ends only"),
     ("2 1 1\n2 5\n1\n", "line 3: 1 numbers"),
     ("2 1 10\n\n1\n", "line 2: 0 numbers"),
     ("2 1\n2\n1111111111111111111\n", "line 3: a number of more than 18 digits"),
     ("4000000000 4\n1 2\n", "line 1: the file of 17 bytes is too short for these counts"),
     ("3 4\n2 3\n1 3\n1 2\n", "line 1: the file of 16 bytes is too short for these counts"),
     ("4 4000000000000\n1 2\n", "line 1: the file of 20 bytes is too short for these counts")],
)  # fmt: skip
def test_wrong_metis(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.graph").write_text(text)
    with pytest.raises(GraphError, match=re.escape(message)):
        Graph.read(tmp_path / "a.graph")


def test_a_line_too_many_at_the_start_of_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A surplus line is refused, even if the lines of all vertices are in earlier pieces."""
    monkeypatch.setattr("vlang.runtime.graph.formats.metis._PIECE", 2)
    (tmp_path / "a.graph").write_text("2 1\n2\n1\n1\n")
    with pytest.raises(GraphError, match=re.escape("line 4: a line of neighbours after that of vertex 2")):
        Graph.read(tmp_path / "a.graph")


def test_metis_takes_no_options_of_columns(tmp_path: Path) -> None:
    (tmp_path / "a.graph").write_text("2 1\n2\n1\n")
    with pytest.raises(GraphError, match="this is METIS, which declares its vertices"):
        Graph.read(tmp_path / "a.graph", vertices=5)
    assert METIS.read(tmp_path / "a.graph", ends=OF_FILE).ids.tolist() == [1, 2]


def test_gap(tmp_path: Path) -> None:
    plain = gap(tmp_path / "a", 4, [[1, 2], [0, 2], [0, 1], []], False)
    graph = Graph.read(plain)
    assert (graph.n, graph.directed, listed(graph)) == (4, False, [(0, 1), (0, 2), (1, 2)])
    assert listed(Graph.read(plain, directed=True)) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    weighted = gap(tmp_path / "b", 3, [[(1, 7), (1, 9)], [(2, -4)], []], True)
    graph = Graph.read(weighted)
    assert (graph.n, graph.directed, listed(graph)) == (3, True, [(0, 1, 7), (0, 1, 9), (1, 2, -4)])
    shape = estimate(str(weighted))
    assert shape is not None
    assert (shape.n, shape.m, list(shape.columns)) == (3, 3, ["weight"])
    convert(weighted, tmp_path / "b.vg")
    assert listed(Graph.read(tmp_path / "b.vg")) == listed(graph)
    assert Graph.read(gap(tmp_path / "c", 0, [], True)).n == 0


def test_wrong_gap(tmp_path: Path) -> None:
    """A file that is too short for its counts is refused before arrays of that size are allocated."""
    whole = gap(tmp_path / "a.sg", 4, [[1, 2], [0, 2], [0, 1], []], False).read_bytes()
    wrong = {
        whole[:10]: "the counts alone take 17", whole[:-1]: "4 vertices and 6 entries do not fit its",
        struct.pack("<?qq", True, 1 << 39, 1 << 30) + bytes(100): "do not fit its 117 bytes",
        whole[:17] + struct.pack("<5q", 0, 2, 1, 6, 6) + whole[57:]: "the offset of vertex 2 is less",
        whole[:17] + struct.pack("<5q", 0, 2, 4, 5, 5) + whole[57:]: "its offsets go from 0 to 5, not from 0 to 6",
        whole[:57] + struct.pack("<i", 4) + whole[61:]: "a neighbour is vertex 4, and vertices are 0 to 3",
        whole[:57] + struct.pack("<i", 3) + whole[61:]: "an edge is stored in one direction only",
    }  # fmt: skip
    for content, message in wrong.items():
        (tmp_path / "a.sg").write_bytes(content)
        with pytest.raises((GraphError, OutOfMemory), match=re.escape(message)):
            Graph.read(tmp_path / "a.sg")
