"""Measure the effect of each choice that the engine makes on a GPU.

Usage: `python benchmarks/gpu/ablations.py [replication] [kernels] [streams] [cache] [--quick]`.

- `replication` measures a sweep of a skewed graph by the edge-parallel kernel: without replicas, with 1 to 32 replicas,
  with the number from Garaph's formula, and with the number from measured costs. The reductions are a sum of floats, a
  minimum of floats and a sum of integers.
- `kernels` measures a PageRank sweep by every kernel on uniformly random graphs of 2, 8, 32 and 128 edges per vertex.
- `streams` measures a streamed PageRank sweep without resident edges, for each number of streams.
- `cache` measures a streamed PageRank sweep for each share of the edges that stays on the device.

All times are milliseconds per sweep, and medians of three runs. Results are written to benchmarks/results, except with
--quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.gpu import inputs, report
from benchmarks.gpu.inputs import Kind
from benchmarks.gpu.runs import BUFFERS, bytes_of_edges, least_budget, prepared, program, spelled
from benchmarks.gpu.works import Work
from vlang import Graph, Program, compile

PARTS = ("replication", "kernels", "streams", "cache")
FEW, MANY = 2, 8  # sweeps of two runs; the difference of their times gives the time of one sweep
REPEATS = 3

# Sweeps that change all values, so that no work is skipped.
SWEEPS = {
    "float sum": "gather all = sum(u.x for u -> self)\n    apply x = all * 0.001 + 1",
    "float min": "gather all = min(u.x for u -> self)\n    apply x = all + 1",
    "int sum": "gather all = sum(u.x for u -> self)\n    apply x = all % 1021 + 1",
}
SWEEP = "program sweep\n\nvertex x: {type} = 1\n\nrepeat 100 times:\n    {body}\n"
REPLICATIONS = ("none", 1, 2, 4, 8, 16, 32, "garaph", "auto")
KERNELS = ("thread", *(f"virtual-warp-{lanes}" for lanes in (2, 4, 8, 16, 32)), "warp-segmentation", "stream", "edge",
           "auto")  # fmt: skip
STREAMS = (1, 2, 4, 8, 16, 32, 0)
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class Cell:
    """One measured cell of a table.

    Attributes:
        table, row, column: the place of the cell; each column is a choice.
        ms: milliseconds of a sweep; None after an error.
        problem: the error, or "".
    """

    table: str
    row: str
    column: str
    ms: float | None
    problem: str = ""


def cell(table: str, row: str, column: object, which: Program, graph: Graph, **options: Any) -> Cell:
    """Measure a cell. If the run fails, the cell has the text of the error.

    Args:
        table, row, column: the place of the cell.
        which: the program.
        graph: the graph.
        options: options of the run.
    """
    try:
        return Cell(table, row, str(column), sweep_ms(which, graph, **options))
    except Exception as error:  # a failing choice must not stop the others
        return Cell(table, row, str(column), None, f"{type(error).__name__}: {error}"[:200])


def sweep_ms(which: Program, graph: Graph, **options: Any) -> float:
    """Return the milliseconds of a full sweep."""
    arguments = spelled(options)
    which(graph, max_rounds=FEW, **arguments)
    samples = []
    for _ in range(REPEATS):
        short, long = (which(graph, max_rounds=rounds, **arguments) for rounds in (FEW, MANY))
        samples.append((long.seconds - short.seconds) * 1e3 / (long.rounds - short.rounds))
    return median(samples)


def replication(quick: bool, options: dict[str, Any]) -> Iterable[list[Cell]]:
    """Measure a sweep: a row for each reduction, a column for each number of replicas."""
    graph = inputs.build("rmat22", quick).graph
    more = {**options, "mode": "pull", "kernel": "edge"}
    for name, body in SWEEPS.items():
        which = compile(SWEEP.format(type=name.split()[0], body=body))
        yield [cell("replication", name, r, which, graph, **more, replication=r) for r in REPLICATIONS]


def kernels(quick: bool, options: dict[str, Any]) -> Iterable[list[Cell]]:
    """Measure a PageRank sweep: a row for each density of a graph with about 33 M edges, a column for each kernel."""
    more = {**options, "tol": 0.0, "mode": "pull"}
    for power in (1, 3, 5, 7):
        scale = (15 if quick else 25) - power
        graph = inputs.generated(f"uniform{scale}", Kind("uniform", f"{scale},{2**power}", directed=True))
        row = f"{2**power} edges a vertex"
        yield [cell("kernels", row, name, program("pagerank"), graph, **more, kernel=name) for name in KERNELS]


def streams(quick: bool, options: dict[str, Any]) -> Iterable[list[Cell]]:
    """Measure a streamed sweep: a column for each number of streams; 0 means that the engine chooses."""
    given = inputs.build("rmat22", quick)
    call = prepared(Work("pagerank", "rmat22", 0, 0, resident=0.0), given, options)
    yield [cell("streams", "no edges resident", count, call.program, given.graph, **call.arguments, streams=count)
           for count in STREAMS]  # fmt: skip


def cache(quick: bool, options: dict[str, Any]) -> Iterable[list[Cell]]:
    """Measure a streamed sweep: a column for each share of the edges that stays on the device. The budget also holds
    the vertices and two pages.
    """
    given, whole = inputs.build("rmat22", quick), Work("pagerank", "rmat22", 0, 0)
    call = prepared(whole, given, options)
    least, edges = least_budget(call), bytes_of_edges(whole, given)
    yield [cell("cache", "share resident", f"{share:.0%}", call.program, given.graph, **call.arguments,
                gpu_memory=least + max(int(share * edges), BUFFERS)) for share in SHARES]  # fmt: skip


def show(cells: list[Cell]) -> None:
    """Print a row of a table, and its errors below the row."""
    print(report.table_line([cells[0].row, "", *("-" if c.ms is None else f"{c.ms:.3f}" for c in cells)],
                            (20, 0, *_widths(cells))), flush=True)  # fmt: skip
    for problem in dict.fromkeys(c.problem for c in cells if c.problem):
        where = ", ".join(c.column for c in cells if c.problem == problem)
        print(f"    {where}: {problem}", flush=True)


def _widths(cells: list[Cell]) -> list[int]:
    return [max(7, len(c.column)) for c in cells]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to measure; default: everything")
    parser.add_argument("--quick", action="store_true", help="small graphs; nothing is written")
    parser.add_argument("--device", default="gpu", help="gpu or gpu:K")
    options = parser.parse_args()
    tables = {"replication": replication, "kernels": kernels, "streams": streams, "cache": cache}
    before, found = report.conditions(options.device), []
    for part in options.parts or PARTS:
        print(f"# {part}, ms a sweep")
        for number, cells in enumerate(tables[part](options.quick, {"device": options.device})):
            if number == 0:
                print(report.table_line(["", "", *(c.column for c in cells)], (20, 0, *_widths(cells))))
            show(cells)
            found.extend(cells)
    if not options.quick:
        print(f"# written to {os.path.relpath(report.save(before, 'gpu-ablations', {}, found))}")


if __name__ == "__main__":
    main()
