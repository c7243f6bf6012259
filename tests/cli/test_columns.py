"""The command on files with wrong, missing and hidden columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call

HIDDEN = "source,target,the amount\n1,2,5\n2,3,7\n"
WARNING = (
    "warning: edge field `weight`: default 1; the graph has `the amount`: read it with --weights 'the amount', or "
    "name it `weight`\n"
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.csv").write_text('source,target,weight\n1,2,5\n2,3,"1,5"\n')
    (tmp_path / "lacks.csv").write_text("source,target,weight\n1,2,NA\n1,3,5\n2,3,\n")
    (tmp_path / "hidden.csv").write_text(HIDDEN)
    return tmp_path


@pytest.mark.parametrize("command", [("run", "sssp", "wrong.csv", "source=1"), ("info", "wrong.csv"),
                                     ("convert", "wrong.csv", "w.npz"), ("explain", "sssp", "wrong.csv")])  # fmt: skip
def test_a_wrong_column_is_one_error(command: tuple[str, ...], vlang: Call, here: Path) -> None:
    done = vlang(*command)
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "error: wrong.csv, line 3: '1,5' in column 3 (weight) is not a number\n"
        '  found:    2,3,"1,5"\n  expected: a decimal point and no commas, such as 1234.5\n'
    )


def test_a_program_that_does_not_need_it_runs(vlang: Call, here: Path) -> None:
    done = vlang("run", "bfs", "wrong.csv", "source=1", "-o", "-")
    assert (done.status, done.out) == (0, "vertex,depth\n1,0\n2,1\n3,2\n")
    assert "Left out for line 3: '1,5' in column 3 (weight) is not a number" in " ".join(done.err.split())


def test_the_fields_of_the_program_are_needed(vlang: Call, here: Path) -> None:
    (here / "r.csv").write_text("source,target,bandwidth,weight\n1,2,-,NA\n2,3,4,x\n")
    done = vlang("run", "sswp", "r.csv", "source=1")
    assert done.status == 1
    assert done.err.startswith("error: r.csv, line 2: column 3 (bandwidth) has no number, only '-'\n")
    done = vlang("run", "sswp", "r.csv", "source=2", "--missing", "drop", "-o", "-", "-q")
    assert done.out == "vertex,width\n2,\n3,4.0\n"


def test_missing_cells(vlang: Call, here: Path) -> None:
    call = ("run", "sssp", "lacks.csv", "source=1", "-o", "-")
    done = vlang(*call)
    assert done.status == 1
    assert "lacks.csv, line 2: column 3 (weight) has no number, only 'NA'" in done.err
    assert vlang(*call, "--missing", "error") == done
    done = vlang(*call, "--missing", "drop")
    assert done.out == "vertex,dist\n1,0.0\n3,5.0\n"
    assert "Missing cells: 2 rows of 3 dropped" in " ".join(done.err.split())
    assert vlang(*call, "--missing", "2", "-q").out == "vertex,dist\n1,0.0\n2,2.0\n3,4.0\n"
    done = vlang(*call, "--missing", "zero")
    assert done.status == 2
    assert "write error, drop or a number, not 'zero'" in done.err


@pytest.mark.parametrize("output", [("-o", "-"), ("--json",), ()])
def test_a_hidden_column_is_said_once_on_stderr(output: tuple[str, ...], vlang: Call, here: Path) -> None:
    done = vlang("run", "sssp", "hidden.csv", "source=1", *output)
    assert done.status == 0
    assert done.err.count(WARNING) == done.err.count("warning") == 1
    assert "warning:" not in done.out
    if output == ("--json",):
        assert len(json.loads(done.out)["warnings"]) == 1
    assert vlang("run", "sssp", "hidden.csv", "source=1", *output, "-q").err.startswith("warning: edge field `weight`")
    done = vlang("run", "sssp", "hidden.csv", "source=1", "--weights", "the amount", "-o", "-")
    assert done.out == "vertex,dist\n1,0.0\n2,5.0\n3,12.0\n"
    assert "warning" not in done.err


def test_the_advice_holds_for_a_saved_graph(vlang: Call, here: Path) -> None:
    assert vlang("convert", "hidden.csv", "h.npz").status == 0
    assert WARNING in vlang("run", "sssp", "h.npz", "source=1").err
    done = vlang("run", "sssp", "h.npz", "source=1", "--weights", "the amount", "-o", "-", "-q")
    assert done.out == "vertex,dist\n1,0.0\n2,5.0\n3,12.0\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "bfs", "absent", "source=1", "--weights", "w"), "`weight`, and bfs has no edge fields; leave it out"),
        (("run", "bfs", "absent", "source=1", "--weights", "1..9"), "and bfs has no edge fields; leave it out"),
        (("run", "sswp", "absent", "source=1", "--weights", "w"), "sswp reads `bandwidth`; name the column so"),
        (("run", "bfs", "absent", "source=1", "--missing", "drop"), "and bfs has no edge fields; leave it out"),
        (("explain", "bfs", "absent", "--weights", "w"), "and bfs has no edge fields; leave it out"),
    ],
)
def test_options_that_give_nothing_are_refused_before_the_file_is_read(
    words: tuple[str, ...], message: str, vlang: Call, here: Path
) -> None:
    done = vlang(*words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "no such file" not in done.err
