"""The figures in the documents agree with the records that the documents name."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest

from benchmarks.documents import DOCUMENTS, filled, recorded, tables
from tests.docs.transcripts import ROOT
from vlang import stdlib

NEWS = "write it with: python benchmarks/documents.py"


@pytest.fixture(scope="module")
def records() -> tuple[Path, Path, Path]:
    return recorded((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_shows_its_records(path: Path, records: tuple[Path, Path, Path]) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("<!-- measured: ") == text.count("<!-- end of measured -->") == 2 + (path.name == "benchmarks.md")
    assert text == filled(text, tables(*records)), NEWS


def test_a_changed_record_changes_what_is_shown(records: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """The row shows the fastest peer whose results agree with the results of vlang."""
    cpu, gpu, disk = records
    record = json.loads(cpu.read_text(encoding="utf-8"))
    (figure,) = (f for f in record["figures"] if (f["name"], f["graph"]) == ("bfs", "kron:20"))
    figure["other"] = 4444.0
    peer = next(p for p in record["peers"] if (p["work"], p["graph"], p["agrees"]) == ("bfs", "kron:20", True))
    peer["other"], peer["ours"] = 3.25, 7.5
    changed = tmp_path / cpu.name
    changed.write_text(json.dumps(record), encoding="utf-8")
    found = tables(changed, gpu, disk)
    assert "| 4444 |" in found["cpu"]
    assert f"| 7.5 ms | 3.25 ms ({peer['peer']}) |" in found["speed"]
    peer["agrees"] = False
    changed.write_text(json.dumps(record), encoding="utf-8")
    assert "3.25 ms" not in tables(changed, gpu, disk)["speed"]


def test_a_document_must_name_one_record_of_each_kind() -> None:
    with pytest.raises(SystemExit, match="and not none"):
        recorded("nothing")
    with pytest.raises(SystemExit, match="nothing is called gup"):
        filled("<!-- measured: gup -->\n<!-- end of measured -->\n", {"gpu": ""})


def test_a_row_that_the_record_lacks_is_an_error(records: tuple[Path, Path, Path], tmp_path: Path) -> None:
    cpu, gpu, disk = records
    record = json.loads(gpu.read_text(encoding="utf-8"))
    record["rows"] = [row for row in record["rows"] if row["work"] != "sssp"]
    partial = tmp_path / gpu.name
    partial.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(SystemExit, match="no sssp on rmat24"):
        tables(cpu, partial, disk)


def test_the_readme_counts_the_library() -> None:
    sizes = [
        sum(1 for line in stdlib.source(name).splitlines() if line.strip() and not line.lstrip().startswith("#"))
        for name in stdlib.names()
    ]
    claim = f"The {len(sizes)} programs of `vlang list` have {median(sizes):g} lines in the median"
    assert claim in (ROOT / "README.md").read_text(encoding="utf-8")
