"""`benchmarks/seeds/run.py` runs on tiny graphs and the emulated device. Every ablation runs and shows its
measurements.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.seeds import grid
from benchmarks.seeds.run import SYSTEMS, main
from benchmarks.seeds.tables import compared
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import emulated
from tests.sample import sampled

TINY = ("--scale", "7", "--repeats", "1", "--page-size", "512")


@needs_compiler
@pytest.mark.parametrize("system", sampled(SYSTEMS, ["garaph", "ws-vr", "hytgraph"]))
def test_every_ablation_runs(system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with emulated("bfs_tree" if system in ("gts", "hytgraph") else "pagerank"):
        tables = main([system, *TINY, "--json", str(tmp_path / "t.json")], device="emulated")
    shown = capsys.readouterr().out
    assert tables
    assert json.loads((tmp_path / "t.json").read_text())["tables"] == json.loads(json.dumps(tables))
    assert ("- left out: " in shown) == bool(SYSTEMS[system].MISSING)
    for table in tables:
        assert f"**{table['title']}**" in shown
        assert [problem for problem in table["problems"] if "cannot gather rows" not in problem] == []
        for name, cells in table["rows"]:
            assert len(cells) == len(table["columns"]), name
            assert all(cell is None or cell >= 0 for cell in cells), name
        assert "could not be measured" not in str(table["findings"])


def test_without_a_gpu_the_script_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert main(["gts", *TINY]) == []
    assert capsys.readouterr().out.startswith("No GPU: ")


def test_a_finding_has_a_reason_only_if_figures_differ() -> None:
    assert compared("a", "2 x", (2.0, 2.0), 2.4, "why").differs == ""
    assert compared("a", "2 to 4 x", (2.0, 4.0), 1.5, "why").differs == "why"
    assert compared("a", "2 to 4 x", (2.0, 4.0), 5.1, "why").here == "5.1 x"


@needs_compiler
def test_the_grid_compares_auto_with_every_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with emulated("pagerank"):
        found = grid.main([*TINY, "--json", str(tmp_path / "t.json")], device="emulated")
    assert {(cell.program, cell.residency) for cell in found} == {
        ("pagerank", "resident"), ("pagerank", "quarter")}
    for cell in found:
        assert cell.ratio >= 1
        assert {*cell.samples, *cell.refused} == {"auto", "garaph", "gts", "wolfgraph", "ws-vr", "hytgraph"}
        assert len(cell.samples) >= 4, cell.refused
    assert "cells" in json.loads((tmp_path / "t.json").read_text())
    assert "auto is within 1.15 x of the best policy in " in capsys.readouterr().out
