"""Full sweeps by rows or by cache blocks: when blocks are built, and that the faster way is kept."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from vlang import Graph, load
from vlang.runtime.cpu.passes import blocking
from vlang.runtime.cpu.passes.blocking import Trial, choose_blocks
from vlang.runtime.cpu.passes.passes import Passes

LARGE = 1 << 22


@pytest.mark.parametrize(
    ("asked", "edges", "made", "sweeps", "coming", "wanted"),
    [("always", 3, False, 0, None, True), ("never", LARGE, True, 99, 99, False), ("auto", LARGE, True, 0, None, True),
     ("auto", 1 << 15, False, 99, 99, False), ("auto", LARGE, False, 15, None, False),
     ("auto", LARGE, False, 16, None, True), ("auto", LARGE, False, 1, 15, True)],
)  # fmt: skip
def test_blocks_are_made_when_they_pay(
    asked: str, edges: int, made: bool, sweeps: int, coming: int | None, wanted: bool
) -> None:
    assert choose_blocks(asked, edges, made, sweeps, coming) is wanted


def ways(trial: Trial, rows: float, blocks: float, monkeypatch: pytest.MonkeyPatch) -> str:
    """The ways of eight sweeps, one letter each, if a sweep takes `rows` or `blocks` seconds."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    gone = ""
    for _ in range(8):
        with trial.sweep() as by_blocks:
            gone += "b" if by_blocks else "r"
            now[0] += blocks if by_blocks else rows
    return gone


def test_the_faster_way_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ways(Trial("auto", LARGE), 1.0, 2.0, monkeypatch) == "rbrbrrrr"
    assert ways(Trial("auto", LARGE), 2.0, 1.0, monkeypatch) == "rbrbbbbb"
    assert ways(Trial("auto", 1 << 16), 1.0, 2.0, monkeypatch) == "bbbbbbbb"  # too short to compare
    assert ways(Trial("always", LARGE), 1.0, 2.0, monkeypatch) == "bbbbbbbb"


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which the kernel of each launched pass is appended."""
    names: list[str] = []
    launch = Passes._launch

    def noted(self: Passes, kernel: str, *rest: Any) -> None:
        names.append(kernel.split("_")[0])
        launch(self, kernel, *rest)

    monkeypatch.setattr(Passes, "_launch", noted)
    return names


def test_both_ways_in_one_run(launched: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "_LEAST_EDGES", 0)
    monkeypatch.setattr(blocking, "_TRIED_FROM", 0)
    graph = Graph.read("kron:10")
    tried = load("pagerank")(graph, max_rounds=20, tol=0.0)
    assert [name for name in launched if name in ("pull", "blocked")][:4] == ["pull", "blocked", "pull", "blocked"]
    never = load("pagerank")(graph, max_rounds=20, tol=0.0, research={"blocking": "never"})
    assert np.array_equal(tried["rank"], never["rank"])
