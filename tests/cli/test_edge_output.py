"""`vlang run --edge-output FILE` writes the edge states."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Call
from tests.cpu.edge_states import TEXTS

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def test_files_of_edges(tmp_path: Path, vlang: Call) -> None:
    """The command writes a row for each edge, with ids, empty cells for `inf`, and more rows than one block."""
    count = 70_000
    edges = pd.DataFrame({"source": np.arange(count) + 7, "target": np.arange(count) + 8, "weight": 9})
    edges.loc[0, "weight"] = 2
    edges.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "p.vp").write_text(TEXTS["directed"])
    for name in ("b.csv", "b.json", "b.npz", "b.parquet"):
        done = vlang("run", tmp_path / "p.vp", tmp_path / "a.csv", "rounds=0", "--edge-output", tmp_path / name)
        assert done.status == 0, done.err
        assert f"wrote {tmp_path / name}: 70,000 rows" in done.err
    want = edges.assign(far=[math.nan, *[9] * (count - 1)]).drop(columns="weight")
    for read in (pd.read_csv(tmp_path / "b.csv"), pd.read_parquet(tmp_path / "b.parquet")):
        pd.testing.assert_frame_equal(read, want, check_dtype=False)
    found = json.loads((tmp_path / "b.json").read_text())
    assert (found["source"], found["target"]) == (want["source"].tolist(), want["target"].tolist())
    assert found["states"]["far"] == [None, *[9] * (count - 1)]
    with np.load(tmp_path / "b.npz") as arrays:
        assert sorted(arrays) == ["far", "source", "target"]
        assert arrays["far"][:2].tolist() == [2**31 - 1, 9]
    done = vlang("run", "bfs", "karate", "source=1", "--edge-output", tmp_path / "b.csv")
    assert (done.status, "bfs has no edge states: leave out --edge-output" in done.err) == (2, True)
    done = vlang("run", tmp_path / "p.vp", "karate", "--edge-output", tmp_path / "b.xls")
    assert (done.status, "unknown format" in done.err) == (2, True)
