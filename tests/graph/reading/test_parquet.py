"""Parquet and Arrow files as graphs: single files, folders, globs, conversion within a budget, and damaged files."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vlang
from tests.graph.test_frames import SALES, listed, tables
from vlang import BindError, load
from vlang.errors import GraphError, OutOfMemory
from vlang.runtime.convert.convert import convert
from vlang.runtime.convert.source import Reading
from vlang.runtime.graph.estimate import estimate
from vlang.runtime.graph.graph import Graph
from vlang.runtime.storage.ledger import budget

TABLE = pa.table(SALES)
ENDS: dict[str, Any] = {"source_column": "buyer", "target_column": "seller"}


def _written(table: Any, path: Path, kind: str) -> Path:
    if kind == "parquet":
        pa.parquet.write_table(table, path, row_group_size=3, compression="zstd")
    elif kind == "stream":
        with pa.ipc.new_stream(path, table.schema) as out:
            out.write_table(table)
    else:
        pa.feather.write_feather(table, path, compression=kind)
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@given(tables(), st.sampled_from(["parquet", "stream", "lz4", "zstd", "uncompressed"]), st.sampled_from(["drop", 1]))
def test_a_file_is_the_graph_of_its_table(made: tuple[Any, bool], kind: str, missing: str | int) -> None:
    table, _ = made
    if kind == "parquet":  # Parquet has neither of these types
        types = {pa.string_view(): pa.string(), pa.float16(): pa.float32()}
        table = table.cast(pa.schema([one.with_type(types.get(one.type, one.type)) for one in table.schema]))
    with tempfile.TemporaryDirectory() as folder:
        path = _written(table, Path(folder) / "t", kind)
        if missing == "drop" and table["x"].null_count == len(table):
            with pytest.raises(GraphError, match="every row has a missing cell"):
                Graph.read(path, columns=["x"], missing=missing)
            return
        graph = Graph.read(path, columns=["x"], missing=missing)
    assert listed(graph) == listed(Graph.from_edges(table, columns=["x"], missing=missing))


def test_folders_and_globs(here: Path) -> None:
    for part in range(3):
        (here / "all" / f"year={part}").mkdir(parents=True)
        _written(TABLE.slice(part, 1), here / "all" / f"year={part}" / "a.parquet", "parquet")
    (here / "all" / "_SUCCESS").write_text("")
    for name in ("all", "all/*/*.parquet", "all/**/a.parquet"):
        graph = Graph.read(name, weights="amount", columns=[], **ENDS)
        assert listed(graph) == [("ann", "bob", 5.0), ("ann", "cy", 1.0), ("bob", "cy", 7.5)]
        assert graph.notes[0] == "Parquet, 3 files."
        assert "Not read: the values in names of folders, such as year=0." in graph.notes
        assert "Not needed, so not read: columns day, count." in graph.notes
        again = pickle.loads(pickle.dumps(graph.by_path()))
        assert listed(again) == listed(graph)
    _written(TABLE.append_column("more", TABLE["count"]), here / "all" / "year=2" / "a.parquet", "parquet")
    more = "Not read: column more, which the first file, a.parquet, does not have."
    assert more in Graph.read("all", **ENDS).notes
    (here / "all" / "year=0" / "A notes.txt").write_text("1 2")  # before the tables in order
    with pytest.raises(GraphError, match=r"notes.txt is neither Parquet nor Arrow, as a.parquet is"):
        Graph.read("all", **ENDS)
    light = pickle.dumps(graph.by_path())
    _written(TABLE, here / "all" / "year=1" / "a.parquet", "parquet")
    with pytest.raises(GraphError, match="has changed since the graph"):
        pickle.loads(light)


def test_mistakes_in_files(here: Path) -> None:
    _written(TABLE, here / "a.parquet", "parquet")
    whole = (here / "a.parquet").read_bytes()
    (here / "b.parquet").write_bytes(whole[:200])
    (here / "c.parquet").write_bytes(whole[:8] + b"\xff" * (len(whole) // 3) + whole[8 + len(whole) // 3 :])
    (here / "old.feather").write_bytes(b"FEA1" + b"\0" * 40)
    _written(TABLE.select(["buyer", "seller", "day"]), here / "d.parquet", "parquet")
    _written(TABLE, here / "e.arrow", "lz4")
    (here / "g.arrow").write_bytes((here / "e.arrow").read_bytes().replace(b"buyer", b"\xffuyer"))
    for name, message in {
        "b.parquet": "b.parquet: this file is damaged, or its content is not supported",
        "c.parquet": "c.parquet: this file is damaged, or its content is not supported",
        "g.arrow": "g.arrow: the name of a column is not UTF-8",
        "old.feather": "a file of Feather version 1",
        "[ad].parquet": "d.parquet: column 'amount' is not there, and in a.parquet it holds double",
        "[ae].*": "the files are of 2 formats: Arrow file, Parquet",
    }.items():
        with pytest.raises(GraphError) as caught:
            Graph.read(name, **ENDS)
        assert message in str(caught.value)
    with pytest.raises(BindError, match="holds points in time"):
        load("sssp")(Graph.read("a.parquet", weights="day", **ENDS), source="ann")
    assert any("no column is called like a source" in text for text in Graph.read(
        _written(TABLE.select(["buyer", "seller"]), here / "f.parquet", "parquet")).warnings)


def _large(count: int, text: bool) -> Any:
    rng = np.random.default_rng(7)
    ends = rng.integers(0, 5000, (2, count))
    names = np.array([f"v{i}" for i in range(5000)], dtype=object)
    return pa.table({"source": names[ends[0]] if text else ends[0], "target": names[ends[1]] if text else ends[1],
                     "weight": rng.integers(0, 99, count), "share": rng.random(count)})


@pytest.mark.parametrize("text", [False, True], ids=["integers", "texts"])
def test_conversion_writes_what_reading_saves(here: Path, text: bool) -> None:
    pa.parquet.write_table(_large(100_000, text), "g.parquet", row_group_size=20_000)
    for weights in (None, "share", "1..9"):
        convert("g.parquet", here / "a.vg", Reading(weights=weights, symmetrize=True), memory=16 << 20, threads=2)
        Graph.read("g.parquet", weights=weights, symmetrize=True).save("b.vg")
        assert (here / "a.vg").read_bytes() == (here / "b.vg").read_bytes()


def test_row_groups_count_towards_the_budget(here: Path) -> None:
    pa.parquet.write_table(_large(600_000, False), "wide.parquet", row_group_size=600_000, use_dictionary=False)
    pa.parquet.write_table(_large(600_000, False), "g.parquet", row_group_size=20_000)
    with budget(18 << 20), pytest.raises(OutOfMemory, match=r"wide.parquet: a row group of 600,000 rows takes 18 MiB"):
        Graph.read("wide.parquet")
    with budget(40 << 20) as ledger:
        assert Graph.read("g.parquet").m == 600_000
        assert ledger.peak < 40 << 20
    with pytest.raises(OutOfMemory, match="a row group of 600,000 rows takes"):
        convert("wide.parquet", here / "a.vg", memory=8 << 20)


def test_estimates_are_exact_in_edges(here: Path) -> None:
    table = _large(10_000, False)
    pa.parquet.write_table(table, "g.parquet", row_group_size=1000)
    shape, graph = estimate("g.parquet"), Graph.read("g.parquet")
    assert shape is not None
    assert (shape.m, shape.listed, shape.exact) == (graph.m, graph.m, False)  # the number of vertices is an upper bound
    assert graph.n <= shape.n == int(max(pa.compute.max(table[name]).as_py() for name in ("source", "target"))) + 1
    assert set(shape.columns) == {"weight", "share"}
    few = estimate("g.parquet", columns=["weight"], symmetrize=True)
    assert few is not None
    assert (few.m, list(few.columns)) == (2 * graph.m, ["weight"])
    pa.parquet.write_table(_large(10_000, True), "t.parquet")
    texts = estimate("t.parquet")
    assert texts is not None
    assert (texts.m, texts.exact) == (10_000, False)


def test_vertices_in_parquet(here: Path) -> None:
    pa.parquet.write_table(pa.table({"age": [1, 2, 3, 4], "id": ["ann", "bob", "cy", "dee"]}), "people.parquet")
    _written(TABLE, here / "sales.parquet", "parquet")
    graph = Graph.read("sales.parquet", vertices="people.parquet", **ENDS)
    assert (graph.n, graph.m) == (4, 3)
    assert vlang.load("bfs")(graph, source="ann")["depth"].tolist()[:3] == [0, 1, 1]
