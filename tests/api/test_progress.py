"""`progress=True` prints a line for each superstep, on standard error only."""

from __future__ import annotations

import re

import pytest

from vlang import Graph, load


def test_progress_prints_each_superstep(capsys: pytest.CaptureFixture[str]) -> None:
    result = load("bfs")(Graph.read("karate"), source=1, progress=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = [re.fullmatch(r"round (\d+): (\S+), ([\d,]+) active, ([\d,]+) edges, \d+\.\d{3} s", line)
             for line in printed.err.splitlines()]  # fmt: skip
    assert [(int(m[1]), m[2], int(m[3]), int(m[4])) for m in lines if m] == [
        (r.round, r.mode, r.active, r.edges) for r in result.history]  # fmt: skip
    assert len(lines) == result.rounds > 0
