"""Runs on emulated GPUs that are stopped at random supersteps and resumed end with the bits of a run without a stop."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoints.cases import CASES, graph_of, program_of
from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.cuda.runs import emulated
from tests.sample import EXHAUSTIVE
from vlang import CheckpointError, Graph, Result, load

_TWO = {"device": "emulated:0,1"}
_RUNS: dict[str, tuple[dict[str, Any], ...]] = {
    "pull": ({"research": {"mode": "pull"}, "tol": 1e-4}, {"tol": 1e-4}),
    "reach": ({}, {"research": {"mode": "notify-pull"}}, _TWO, {"gpu_memory": "40K"}),
    "pushed sums": ({},),
    "nested": ({}, _TWO),
    "for-range": ({},),
    "repeating": ({},),
}
"""For each case, the options of its parts, in turn."""
_LONG = () if EXHAUSTIVE else ("pushed sums", "repeating")  # seconds of emulated supersteps
_GRAPHS = {"pushed sums": "uniform:5"}


def _same(result: Result, want: Result) -> None:
    for name in (*want.fields, *want.globals):
        assert np.asarray(result[name]).tobytes() == np.asarray(want[name]).tobytes(), name
    assert (result.converged, result.resumed != "") == (want.converged, True)


@pytest.mark.parametrize("case", [case for case in _RUNS if case not in _LONG])
def test_a_run_stopped_again_and_again(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part saves a checkpoint before each superstep, and stops at a random superstep."""
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    draw, program = random.Random(seed), program_of(case)
    written_at_once(monkeypatch)
    graph = Graph.read(_GRAPHS[case]) if case in _GRAPHS else graph_of(case)
    given = {name: value for name, value in CASES[case].given.items() if name != "research"}

    def run(**more: Any) -> Result:
        with emulated(lanes=64):
            return program(graph, **{"device": "emulated", "deterministic": True, **given, **more})

    want, parts = run(**_RUNS[case][0]), 0
    while True:
        stops = stopped_after(draw.randint(1, max(2, len(want.history) // 3))) if parts < 3 else None
        try:
            result = run(checkpoint=tmp_path, every=0, progress=stops, **_RUNS[case][parts % len(_RUNS[case])])
        except Stopped:
            parts += 1
            continue
        break
    assert parts
    _same(result, want)


def test_another_kind_of_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run over integers may continue on another kind of device than it began on; a run over floats may not.
    """
    written_at_once(monkeypatch)
    graph = graph_of("reach")
    with emulated(lanes=64):
        want = load("bfs")(graph, source=3)
        for number, (first, second) in enumerate((("cpu", "emulated"), ("emulated", "cpu"))):
            with pytest.raises(Stopped):
                load("bfs")(graph, source=3, device=first, checkpoint=tmp_path / f"{number}", every=0,
                            progress=stopped_after(4))
            _same(load("bfs")(graph, source=3, device=second, checkpoint=tmp_path / f"{number}"), want)
        with pytest.raises(Stopped):
            load("pagerank")(graph, checkpoint=tmp_path / "floats", every=0, progress=stopped_after(3))
        with pytest.raises(CheckpointError, match="its run was on a CPU, and this one is on a GPU, which rounds"):
            load("pagerank")(graph, device="emulated", checkpoint=tmp_path / "floats")
