"""GraphML, GEXF, GML and Pajek through NetworkX, JSON lines, and texts in several files."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.graph.reading.test_metis_gap import listed
from vlang import Graph
from vlang.errors import GraphError, OutOfMemory
from vlang.runtime.convert.convert import convert
from vlang.runtime.graph.estimate import estimate
from vlang.runtime.storage.ledger import budget

networkx = pytest.importorskip("networkx")
pytest.importorskip("pyarrow")

WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "GraphML": networkx.write_graphml, "GEXF": networkx.write_gexf, "GML": networkx.write_gml,
    "Pajek": networkx.write_pajek,
}  # fmt: skip


@pytest.mark.parametrize("name", WRITERS)
def test_formats_of_networkx(name: str, tmp_path: Path) -> None:
    for directed in (False, True):
        graph = networkx.DiGraph() if directed else networkx.Graph()
        graph.add_weighted_edges_from([(1, 2, 0.5), (2, 30, 2.5), (1, 1, 1.0)])
        graph.add_node(7)
        WRITERS[name](graph, tmp_path / "g")
        found = Graph.read(tmp_path / "g")
        assert (found.ids.tolist(), found.directed) == ([1, 2, 7, 30], directed)
        ordered = [(*sorted(ends), w) for *ends, w in listed(found)] if not directed else listed(found)
        assert sorted(ordered) == [(1, 1, 1.0), (1, 2, 0.5), (2, 30, 2.5)]
        assert found.notes[0] == f"{name}, read by NetworkX."
        assert Graph.read(tmp_path / "g", directed=True).m == (3 if directed else 5)
    (tmp_path / "g.gz").write_bytes(gzip.compress((tmp_path / "g").read_bytes()))
    assert listed(Graph.read(tmp_path / "g.gz")) == listed(found)
    convert(tmp_path / "g", tmp_path / "g.vg")
    assert listed(Graph.read(tmp_path / "g.vg")) == listed(found)


XML = '<?xml version="1.0"?>\n<graphml>\n<graph edgedefault="directed">\n<node id="a"/>\n{}</graph>\n</graphml>\n'
BOMB = '<?xml version="1.0"?>\n<!DOCTYPE g [\n<!ENTITY a "aaaa">\n<!ENTITY b "&a;&a;">\n]>\n<graphml>&b;</graphml>'
PAJEK = '*Vertices 2\n1 "a"\n2 "b"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [(BOMB, "g, line 2: a document type or an entity is declared"),
     (BOMB.replace("graphml>", "gexf>"), "g, line 2: a document type or an entity is declared"),
     (XML.format("<edge source=1>"), "g, line 5: this is no XML: not well-formed (invalid token)"),
     (XML.format('<edge source="a"/>'), "g, line 5: this edge has no target"),
     (XML.format('<edge source="a" target="b"/>'), "g, line 5: an edge ends at the vertex 'b', which is not in"),
     (XML.format('<data key="k">1</data>'), "g: this is no GraphML that NetworkX reads: "),
     (XML.format("").replace('1.0"', '1.0" encoding="cp037"'), "this is no XML"),
     ("graph [\n node [ id 1 ]\n edge [ source 1 ]\n]\n", "g: this is no GML that NetworkX reads: edge #0 has no"),
     ("graph [\n node [ id ? ]\n]\n", "g, line 2: this is no GML that NetworkX reads: cannot tokenize"),
     (f"{PAJEK}*Arcs\n1 3\n", "g, line 5: this is no edge"),
     (f"{PAJEK}*Arcs\n1 2 x\n", "g, line 5: the weight 'x' is not a number"),
     (f"{PAJEK}*Arcs\n1 2\n*Edges\n1 2\n", "g, line 6: the section *Edges"),
     (f"{PAJEK}*Arcslist\n1 2\n", "g, line 4: this is not read"),
     (f"{PAJEK}*Matrix\n1 0\n1\n", "g, line 6: a wrong row of the matrix"),
     ("*Vertices 3\n1 a\n2 b\n*Arcs\n", "g, line 4: this is no vertex"),
     ("*Vertices 2\n1 a\n2 a\n*Arcs\n1 2\n", "two vertices have the same label"),
     ('{"source": 1, "target": 2}\n\n{"source": 1,}\n', "g, line 3: this line is no JSON object"),
     ('{"source": 1, "target": 2}\n[3]\n', "g, line 2: this line is no JSON object"),
     ('{"source": 1, "target": 2}\n{"source": 1, "target": "x"}\n', "g, line 2: Column(/target) changed from number"),
     ('{"source": 1}\n', "g: an object has 1 members")],
)  # fmt: skip
def test_wrong_files(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "g").write_text(text)
    with pytest.raises(GraphError, match=re.escape(message)) as caught:
        Graph.read(tmp_path / "g")
    assert "Traceback" not in str(caught.value)


def test_a_small_file_that_becomes_large_is_refused_by_the_budget(tmp_path: Path) -> None:
    """A compressed megabyte of blanks is not unpacked beyond the memory budget."""
    text = b"graph [\n" + b" " * (32 << 20) + b"]\n"
    (tmp_path / "g.gz").write_bytes(gzip.compress(text, 1))
    with budget(256 << 20), pytest.raises(OutOfMemory, match="a graph that NetworkX reads"):
        Graph.read(tmp_path / "g.gz")


def test_json_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ['{"source": 1, "target": 20, "w": 3, "at": "2020-01-01", "kind": "road"}',
             '{"target": 1, "source": 3, "w": 2.5, "at": "2020-01-02", "kind": "rail", "new": 1}', "",
             '{"source": 20, "target": 3, "w": 7, "at": "2020-01-03", "kind": "road", "new": 2}']  # fmt: skip
    (tmp_path / "a").write_text("\n".join(lines))
    for window in (1 << 22, 100):
        monkeypatch.setattr("vlang.runtime.graph.formats.json_lines._WINDOW", window)
        graph = Graph.read(tmp_path / "a", columns=["w"])
        assert listed(graph) == [(1, 20, 3.0), (3, 1, 2.5), (20, 3, 7.0)]
    assert "at" in graph.left_out
    assert Graph.read(tmp_path / "a", columns={"w": "number", "kind": "category"}).kinds["kind"]
    shape = estimate(str(tmp_path / "a"))
    assert shape is not None
    assert shape.m in (3, 4)
    with pytest.raises(GraphError, match="no value in row 1"):
        Graph.read(tmp_path / "a", columns=["new"])
    (tmp_path / "node-link").write_text('{"nodes": [{"id": 1}], "edges": [{"source": 1, "target": 1}]}\n')
    with pytest.raises(GraphError, match="this looks like node-link data of NetworkX"):
        Graph.read(tmp_path / "node-link")
    (tmp_path / "b").write_text('{"source": "2020-01-01", "target": "b"}\n{"source": "2021-01-01", "target": "c"}\n')
    assert Graph.read(tmp_path / "b").ids.tolist() == ["2020-01-01", "2021-01-01", "b", "c"]


def test_texts_in_several_files(tmp_path: Path) -> None:
    """Each file may repeat the header, and messages name the file and the line in this file."""
    folder = tmp_path / "parts"
    folder.mkdir()
    parts = ["# c\nsource,target,w\n1,2,5\n2,3,6", "source,target,w\n3,4,7\n", "", "4,5,8\n"]
    for i, text in enumerate(parts):
        (folder / f"part-{i}.csv").write_text(text)
    (folder / "_SUCCESS").write_text("")
    (folder / "part-4.csv.gz").write_bytes(gzip.compress(b"source,target,w\n5,6,9\n"))
    expected = [(1, 2, 5), (2, 3, 6), (3, 4, 7), (4, 5, 8), (5, 6, 9)]
    for path in (folder, folder / "part-*", tmp_path / "**/*.csv*"):
        assert listed(Graph.read(path)) == expected
        convert(path, tmp_path / "a.vg")
        assert listed(Graph.read(tmp_path / "a.vg")) == expected
    assert "4 files" in Graph.read(folder).notes[0]
    dated = tmp_path / "dated" / "year=2024"
    dated.mkdir(parents=True)
    (dated / "a.jsonl").write_text('{"source": 1, "target": 2}\n')
    said = "Not read: the values in names of folders, such as year=2024."
    assert said in Graph.read(tmp_path / "dated").notes
    (dated / "a.jsonl").write_text("1 2\n")
    assert said in Graph.read(tmp_path / "dated").notes
    assert said not in Graph.read(dated).notes
    plain = tmp_path / "plain"
    plain.mkdir()
    for i in range(2):
        (plain / str(i)).write_text("1 2\n2 3\n")
    assert Graph.read(plain).m == 4  # the first line is an edge, not a header
    for text, message in {"3,4,7\n4,5\n": "part-1.csv, line 2: a column is missing",
                          "source,target,w\n3,4,x\n": "part-1.csv, line 2: 'x' in column 3",
                          "target,source,w\n3,4,7\n": "part-1.csv, line 1: the columns are not those"}.items():
        (folder / "part-1.csv").write_text(text)
        with pytest.raises(GraphError, match=re.escape(message)):
            Graph.read(folder, columns=["w"])
    (folder / "part-0.csv").write_text("%%MatrixMarket matrix coordinate pattern general\n1 1 0\n")
    with pytest.raises(GraphError, match="MatrixMarket, which is read from one file"):
        Graph.read(folder)
    for i in range(2):
        (plain / str(i)).write_text('{"source": 1, "target": 2}\n')
    assert Graph.read(plain).m == 2
