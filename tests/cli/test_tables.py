"""Tables on the command line: Parquet files as graphs, tables and lists of vertices."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli.conftest import Call
from tests.graph.test_frames import SALES
from vlang.runtime.graph.graph import Graph


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pa.parquet.write_table(pa.table(SALES), "sales.parquet")
    return tmp_path


def test_parquet(vlang: Call, here: Path) -> None:
    options = ("--source-column", "buyer", "--target-column", "seller")
    done = vlang("run", "sssp", "sales.parquet", "source=ann", *options, "--weights", "amount", "--memory", "1G")
    assert done.status == 0
    assert "sssp on sales.parquet needs about" in done.err
    assert "Not numbers, so left out: column day" in done.err
    assert done.out.split() == ["vertex", "dist", "ann", "0", "cy", "1", "bob", "5"]
    warned = vlang("run", "sssp", "sales.parquet", "source=ann", *options)
    assert 'with --weights amount' in warned.err
    assert vlang("convert", "sales.parquet", "sales.vg", *options, "--memory", "64M").status == 0
    assert Graph.read("sales.vg").m == 3
    (here / "empty").mkdir()
    assert "this is a directory" in vlang("info", "empty").err


def test_without_the_library(vlang: Call, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = vlang("info", "sales.parquet")
    assert done.status == 1
    assert done.err == "error: sales.parquet, a file of Parquet or Arrow, needs pyarrow: pip install 'vlang[arrow]'\n"
