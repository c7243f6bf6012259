"""The benchmarks run on tiny graphs and the CPU, and their checks find wrong results."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.gpu import checks
from benchmarks.gpu.inputs import INPUTS, QUICK, Input, build, weights
from benchmarks.gpu.works import LARGE, WORKS, chosen
from vlang import load

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Changed:
    """A result with some changed values. The changed result has the attributes that the checks use."""

    arrays: dict[str, NDArray[Any]]
    finite: NDArray[np.bool_]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]

    def reached(self, name: str) -> NDArray[np.bool_]:
        """Return the vertices with a finite value."""
        return self.finite


@pytest.mark.parametrize(
    ("name", "field", "graph", "check"),
    [
        ("bfs", "depth", "rmat22", checks.check_levels),
        ("sssp", "dist", "rmat22", checks.check_paths),
        ("sssp", "dist", "grid2000", checks.check_paths),
        ("components", "label", "rmat22s", checks.check_components),
    ],
)
def test_a_check_finds_one_wrong_value(
    name: str, field: str, graph: str, check: Callable[[Input, Any], None]
) -> None:
    given = build(graph, quick=True)
    result = load(name)(given.graph, **({} if name == "components" else {"source": given.source}))
    check(given, result)
    right, finite = np.array(result[field]), result.reached(field)
    where = np.flatnonzero(finite & (right > 0))
    for at, other in ((where[0], 1), (where[-1], 1), (where[len(where) // 2], -1)):
        wrong = right.copy()
        wrong[at] += other
        with pytest.raises(AssertionError, match="wrong"):
            check(given, Changed({field: wrong}, finite))


def test_the_check_of_a_sweep_finds_another_sweep() -> None:
    given, rank = build("rmat22", quick=True), load("pagerank")
    runs = [rank(given.graph, max_rounds=rounds, tol=0.0) for rounds in (3, 4, 5)]
    checks.check_sweep(given, runs[0], runs[1])
    with pytest.raises(AssertionError, match="is off by"):
        checks.check_sweep(given, runs[0], runs[2])


def test_weights_are_1_to_64_and_alike_in_both_directions() -> None:
    src, dst = np.random.default_rng(1).integers(0, 2**22, (2, 1 << 18), dtype=np.uint32)
    drawn = weights(src, dst, 2)
    np.testing.assert_array_equal(drawn, weights(dst, src, 1))
    counts = np.bincount(drawn)
    assert len(counts) == 65
    assert counts[0] == 0
    assert 0.9 < counts[1:].min() / counts[1:].mean() < counts[1:].max() / counts[1:].mean() < 1.1


def test_works_name_graphs_and_are_grouped_by_them() -> None:
    assert {work.graph for work in WORKS} <= set(INPUTS) == set(QUICK)
    graphs = [work.graph for work in chosen([], [])]
    assert len(graphs) == sum(work.graph not in LARGE for work in WORKS)
    assert {work.graph for work in chosen([], list(LARGE))} == set(LARGE)
    assert sum(a != b for a, b in pairwise(graphs)) == len(set(graphs)) - 1
    assert {work.name for work in chosen(["streamed-bfs"], [])} == {"streamed-bfs"}


def test_the_script_runs_on_the_cpu() -> None:
    command = [sys.executable, "benchmarks/gpu/run.py", "--quick", "--device", "cpu",
               "--only", "pagerank,bfs,components"]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    lines = [line for line in done.stdout.splitlines() if line.split()[:1] in (["pagerank"], ["bfs"], ["components"])]
    assert len(lines) == 8, done.stdout
    assert "Error" not in done.stdout, done.stdout
