"""Results as frames and files of other libraries: fields of every type are read back unchanged."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vlang
from vlang.cli import main
from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.naming import NONE
from vlang.runtime.results.result import Result

TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
         "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64, "bool": np.bool_,
         "vertex": np.uint32, "f32[3]": np.float32, "i32[2]": np.int32}  # fmt: skip

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)


@st.composite
def results(draw: st.DrawFn) -> tuple[Result, dict[str, list[Any]]]:
    """Return a result with one field of each tested type, and the values as Python objects (None for a missing value).
    """
    n = draw(st.integers(0, 5))
    kind = draw(st.sampled_from(["consecutive", "listed", "text"]))
    if kind == "consecutive":
        ids = VertexIds(base=draw(st.integers(-3, 3)), count=n)
    elif kind == "listed":
        ids = VertexIds(np.array(sorted(draw(st.sets(st.integers(-9, 99), min_size=n, max_size=n))), np.int64))
    else:
        texts = np.empty(n, object)
        texts[:] = sorted(draw(st.sets(WORDS, min_size=n, max_size=n)))
        ids = VertexIds(texts)
    fields, types, expected = {}, {}, {"vertex": list(ids)}
    for type_ in draw(st.lists(st.sampled_from(sorted(TYPES)), unique=True, max_size=4)):
        name = type_.replace("[", "_").rstrip("]")
        shape = (n, int(type_[-2])) if "[" in type_ else (n,)
        fields[name], expected[name] = _field(draw, type_, shape, ids)
        types[name] = type_
    return Result("p", ids, fields, types, {}, 1, True, "done"), expected


def _field(draw: st.DrawFn, type_: str, shape: tuple[int, ...], ids: VertexIds) -> tuple[Any, list[Any]]:
    dtype, size = np.dtype(TYPES[type_]), int(np.prod(shape))
    if type_ == "vertex":
        dense = draw(st.lists(st.sampled_from([NONE, *range(len(ids))]), min_size=size, max_size=size))
        return np.array(dense, np.uint32), [None if v == NONE else ids.label(v) for v in dense]
    cells: st.SearchStrategy[Any] = st.booleans()
    if dtype.kind == "f":
        width: Any = 8 * dtype.itemsize
        cells = st.floats(width=width, allow_nan=False)
    elif dtype.kind != "b":
        low, high = _limits(dtype)
        cells = st.integers(low, high)
    raw = np.array(draw(st.lists(cells, min_size=size, max_size=size)), dtype).reshape(shape)
    values = raw.astype(object)
    if dtype.kind == "i":  # the smallest and the largest value mean infinity
        low, high = _limits(dtype)
        values[(raw == high) | (raw == low)] = None
    return raw, values.tolist()


def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    info: Any = np.iinfo(dtype)
    return int(info.min), int(info.max)


@given(results())
def test_arrow_polars_and_files(made: tuple[Result, dict[str, list[Any]]]) -> None:
    result, expected = made
    table = result.to_arrow()
    assert table.to_pydict() == expected
    assert pa.table(result).equals(table)
    assert result.to_polars().to_dict(as_series=False) == expected
    assert json.loads(table.schema.metadata[b"vlang"])["program"] == "p"
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    buffer.seek(0)
    assert pyarrow.parquet.read_table(buffer).to_pydict() == expected


@given(results())
def test_pandas(made: tuple[Result, dict[str, list[Any]]]) -> None:
    result, expected = made
    frame = result.to_pandas()
    for name, values in expected.items():
        if name in frame:
            found = [None if pd.isna(value) else value for value in frame[name].tolist()]
        else:
            width = sum(column.startswith(f"{name}.") for column in frame)
            parts = [frame[f"{name}.{k}"].tolist() for k in range(width)]
            found = [[None if v is pd.NA else v for v in row] for row in zip(*parts)]
        assert found == values


def test_memory_is_shared() -> None:
    values = np.arange(5, dtype=np.float64)
    result = Result("p", VertexIds(base=0, count=5), {"x": values}, {"x": "f64"}, {}, 1, True, "done")
    assert np.shares_memory(result.to_arrow()["x"].chunk(0).to_numpy(), result.x)
    frame = result.to_pandas()
    frame.loc[0, "x"] = 9
    assert result.x[0] == 0


PROGRAM = ["run", "sssp_tree", "examples/roads.csv", "source=Ulm", "--quiet"]


def _run(*words: str) -> int:
    return main([*PROGRAM, *words])


def _read(path: Path) -> pd.DataFrame:
    name = path.name
    if name.endswith(".parquet"):
        return pd.read_parquet(path)
    if name.endswith((".arrow", ".feather")):
        return pyarrow.feather.read_table(path).to_pandas()
    if name.endswith(".npz"):
        with np.load(path) as arrays:
            return pd.DataFrame({name: arrays[name] for name in ("vertex", "dist", "parent")})
    data = path.read_bytes()
    if name.endswith(".gz"):
        data = gzip.decompress(data)
    elif name.endswith(".zst"):
        data = pa.input_stream(pa.BufferReader(data), compression="zstd").read()
    if ".json" in name:
        found = json.loads(data)
        return pd.DataFrame({"vertex": found["vertex"], **found["fields"]})
    return pd.read_csv(io.BytesIO(data), sep="\t" if ".tsv" in name else ",", keep_default_na=True)


def test_every_output_reads_back(tmp_path: Path) -> None:
    result = vlang.load("sssp_tree")(vlang.Graph.read("examples/roads.csv", weights="weight"), source="Ulm")
    dist = np.where(np.isfinite(result.dist), result.dist, np.nan)
    for end in ("parquet", "arrow", "feather", "csv", "tsv", "json", "npz", "csv.gz", "tsv.zst", "json.gz", "csv.zst"):
        path = tmp_path / f"r.{end}"
        if end == "tsv.zst":
            assert _run("-o", str(path)) == 0
        else:
            result.save(path)
        frame = _read(path)
        assert frame["vertex"].tolist() == result.ids.tolist(), end
        found = frame["dist"].to_numpy(np.float64)
        assert np.allclose(np.where(np.isfinite(found), found, np.nan), dist, equal_nan=True), end
        parents = [None if p in ("", None) or p != p else p for p in frame["parent"].tolist()]
        assert parents == list(result.parent), end


def test_names_of_outputs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _run("-o", "r.npz.gz") == 2
    assert "unknown format of `r.npz.gz`; end it in .csv, .tsv" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert _run("-o", str(tmp_path / "r.parquet")) == 2
    assert "pip install 'vlang[arrow]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    with pytest.raises(GraphError, match="a table of a result needs pyarrow"):
        vlang.load("bfs")(vlang.Graph.read("karate"), source=1).to_arrow()


def test_files_of_arrow_load_no_pandas(tmp_path: Path) -> None:
    """pandas takes 30 MB, which no memory budget counts."""
    code = ("import sys, vlang\nresult = vlang.load('bfs')(vlang.Graph.read('karate'), source=1)\n"
            f"result.save({os.fspath(tmp_path / 'r.parquet')!r})\nsys.exit('pandas' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
