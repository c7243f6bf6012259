"""Ablations of WolfGraph (Zhu et al., FGCS 2019): the time from the file of a graph to the answer (figure 15)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.seeds.setup import ROUNDS, Cells, Setup, program
from benchmarks.seeds.tables import Finding, Table
from vlang import Graph

__all__ = ["MISSING", "ON_CPU", "tables"]

MISSING = ("edge blocks straight from the file (2.3), which are not built: every policy sorts edges by receiver first",)
ON_CPU = False
STEPS = ("read and sort", "first answer", "second answer")


def tables(setup: Setup, gpu: bool) -> Iterator[Table]:
    """The table: a file with the two ends of every edge in no order, read, and PageRank run on it twice."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.npz"
        setup.graph("rmat").save(path)
        found: dict[str, dict[str, float]] = {}

        def step(policy: str, column: str) -> float:
            if policy not in found:
                found[policy] = _steps(setup, path, {} if policy == "auto" else {"policy": policy})
            return found[policy][column]

        yield setup.table(f"From a file to {ROUNDS} supersteps of PageRank, ms, by step", ("wolfgraph", "auto"), STEPS,
                          step, _findings)


def _steps(setup: Setup, path: Path, options: dict[str, Any]) -> dict[str, float]:
    """Milliseconds of each step, after a run that compiled all kernels."""
    given = {**options, "tol": 0.0, "max_rounds": ROUNDS}
    setup.run(program("pagerank"), Graph.read(path), **given)
    marks = [time.perf_counter()]
    graph = Graph.read(path)
    graph.adjacency("in")
    marks.append(time.perf_counter())
    for _ in range(2):
        setup.run(program("pagerank"), graph, **given)
        marks.append(time.perf_counter())
    return {name: 1e3 * (end - begin) for name, begin, end in zip(STEPS, marks, marks[1:], strict=False)}


def _findings(cells: Cells) -> Iterator[Finding]:
    row = cells["auto"]
    share = 100 * row["read and sort"] / (row["read and sort"] + row["first answer"])
    yield Finding("reading and building by the time to the first answer", "most of it (6.1, figure 15)",
                  f"{share:.3g} %", "" if share > 50 else
                  "All threads read and sort here, which takes less time than the run.")
