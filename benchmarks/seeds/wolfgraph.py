"""Measure ablations of WolfGraph (Zhu et al., FGCS 2019): the time from file to answer (figure 15), local tables
(figure 8), and repeated parts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.seeds.setup import Cells, Setup, program
from benchmarks.seeds.tables import Finding, Table
from vlang import Graph

__all__ = ["MISSING", "ON_CPU", "tables"]

MISSING = ("the mapping array from vertices to edges (4.3): whole parts are concatenated instead",)
ON_CPU = False
STEPS = ("read", "first answer", "file to answer", "second answer")
POLICIES: Mapping[str, Mapping[str, Any]] = {"wolfgraph": {"policy": "wolfgraph"}, "sort first": {}}
PAPER_ROUNDS = 10  # the iterations of PageRank in the paper (6)


def tables(setup: Setup, gpu: bool) -> Iterator[Table]:
    """Yield the tables of WolfGraph."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.npz"
        _write_pairs(setup.graph("rmat"), path)
        yield _file_to_answer(setup, path)
        yield _local_tables(setup, path)
        yield _repeated_parts(setup, path)


def _write_pairs(graph: Graph, path: Path) -> None:
    """Write the two ends of every edge in random order, in the file format of scipy.sparse.save_npz for a COO matrix.
    """
    edges = graph.edges()
    order = np.random.default_rng(1).permutation(len(edges.src))
    np.savez(path, row=edges.src[order], col=edges.dst[order], data=np.ones(len(order), np.uint8),
             shape=np.array([graph.n, graph.n]), format=np.array("coo"))


def _file_to_answer(setup: Setup, path: Path) -> Table:
    """Measure the time from the file to the first result, and the time of a second run on the same graph."""
    source = setup.source(setup.graph("rmat"))
    works: dict[str, tuple[str, dict[str, Any]]] = {
        "PageRank": ("pagerank", {"tol": 0.0, "max_rounds": PAPER_ROUNDS}), "bfs": ("bfs", source),
        "components": ("components", {}),
    }
    rows = [f"{work}, {policy}" for work in works for policy in POLICIES]
    found: dict[str, dict[str, float]] = {}

    def cell(row: str, step: str) -> float:
        work, _, policy = row.partition(", ")
        if row not in found:
            name, arguments = works[work]
            found[row] = _steps(setup, path, name, {**arguments, **POLICIES[policy]})
        return found[row][step]

    def findings(cells: Cells) -> Iterator[Finding]:
        for work in works:
            ratio = cells[f"{work}, sort first"]["file to answer"] / cells[f"{work}, wolfgraph"]["file to answer"]
            yield Finding(f"{work}: file to answer, sort first by wolfgraph", "above 1 (6.1, figure 15)",
                          f"{ratio:.3g} x", "" if ratio > 1 else
                          "All threads of the CPU sort here, and every later superstep over sorted edges is faster.")

    return setup.table("From a binary list of edges without order to the answer, ms", rows, STEPS, cell, findings)


def _steps(setup: Setup, path: Path, name: str, given: Mapping[str, Any]) -> dict[str, float]:
    """Return the median milliseconds of each step. One earlier run compiles all kernels."""
    setup.run(program(name), Graph.read(path), **given)
    runs = []
    for _ in range(setup.repeats):
        marks = [time.perf_counter()]
        graph = Graph.read(path)
        marks.append(time.perf_counter())
        for _ in range(2):
            setup.run(program(name), graph, **given)
            marks.append(time.perf_counter())
        read, first, second = (1e3 * (end - begin) for begin, end in pairwise(marks))
        runs.append((read, first, read + first, second))
    return dict(zip(STEPS, map(median, zip(*runs, strict=True)), strict=True))


def _local_tables(setup: Setup, path: Path) -> Table:
    """Measure a sweep over the edge list with and without local tables, and a sweep over sorted edges."""
    graph = Graph.read(path)
    works = {"PageRank": "pagerank", "minimum (components)": "components"}
    plain: dict[str, dict[str, Any]] = {
        "local tables": {"policy": "wolfgraph"}, "global memory": {"policy": "wolfgraph"}, "sorted": {"mode": "pull"}}

    def cell(row: str, column: str) -> float:
        if column != "global memory":
            on = setup.graph("rmat") if column == "sorted" else graph
            return setup.sweep_ms(program(works[row]), on, **plain[column])
        with mock.patch("vlang.runtime.gpu.ways.listed_passes.TABLE_BYTES", 0):
            return setup.sweep_ms(program(works[row]), graph, **plain[column])

    def findings(cells: Cells) -> Iterator[Finding]:
        for name, row in cells.items():
            ratio = row["global memory"] / row["local tables"]
            yield Finding(f"{name}: global memory by local tables", "well above 1, from bars (3.3, figure 8)",
                          f"{ratio:.3g} x", "" if ratio > 1.25 else
                          "The L2 cache of this GPU joins atomic operations, and edges in random order seldom share a "
                          "receiver in a block.")

    return setup.table("Sweep over a list of edges, ms", works, tuple(plain), cell, findings)


def _repeated_parts(setup: Setup, path: Path) -> Table:
    """Measure runs over a streamed edge list. Each part is processed once, or again while the next part is copied."""
    graph = Graph.read(path, weights="1..64")
    works: dict[str, tuple[str, dict[str, Any]]] = {
        "sssp": ("sssp", setup.source(setup.graph("rmat"))), "components": ("components", {})}
    rounds: dict[tuple[str, str], int] = {}

    def cell(row: str, column: str) -> float:
        name, arguments = works[row]
        # A limit of supersteps keeps a loop from running in place, and so from repeating a part.
        limit = {} if column == "repeated" else {"max_rounds": 1 << 20}
        size = 12 if name == "sssp" else 8
        given = setup.streamed(program(name), graph, 0.25, size, **arguments, **limit, policy="wolfgraph")
        rounds[row, column] = setup.run(program(name), graph, **given).rounds
        return setup.run_ms(program(name), graph, **given)

    def findings(cells: Cells) -> Iterator[Finding]:
        for name in cells:
            yield Finding(f"{name}: supersteps, once and repeated", "3 and 2 in an example (4.3)",
                          f"{rounds[name, 'once']} and {rounds[name, 'repeated']}")

    return setup.table("Runs over a list streamed to the GPU, ms", works, ("repeated", "once"), cell, findings)
