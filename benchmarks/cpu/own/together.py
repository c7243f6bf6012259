"""Compare runs by `Program.map`, which share reads of the edges, with the same runs by separate calls.

Usage: `python benchmarks/cpu/own/together.py [TURNS] [GRAPH ...]`. Runs of both kinds alternate; the script prints the
medians of the processor time of one thread, and their ratio. VLANG_DATA is the folder of published graphs (inputs.py).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import vlang
from benchmarks.cpu.inputs import folder
from vlang import Graph, Program
from vlang.api.running import together

GRAPHS = ["kron:14", "kron:16", "kron:18", "ca-GrQc", "soc-Slashdot0902"]
RUNS = {"ppr": 16, "php": 16, "bfs": 64}
"""The number of runs of each program: personalised PageRank, a program with an edge column, and searches."""


def _seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _alone(program: Program, graph: Graph, series: Mapping[str, list[Any]]) -> None:
    for row in zip(*series.values()):
        program(graph, threads=1, **dict(zip(series, row)))


def _together(program: Program, graph: Graph, series: Mapping[str, list[Any]]) -> str:
    results = list(program.map(graph, threads=1, **series))
    return results[0].together


def main(turns: int, names: list[str]) -> None:
    """Print a line for each graph and program. The runs of `Program.map` share reads on small graphs, too, to show
    which graphs are too small to save time.
    """
    together._FEWEST = together._FEWEST_SEARCHED = together._DENSE = 0
    for name in names:
        file = folder() / name / f"{name}.txt.gz"
        if ":" not in name and not file.exists():
            continue
        graph = Graph.read(name if ":" in name else file)
        weighted, ids = graph.with_rule_weights(1, 64), graph.ids.values[np.flatnonzero(graph.row_lengths("out"))]
        for known, runs in RUNS.items():
            program, used = vlang.load(known), weighted if known == "php" else graph
            chosen = np.random.default_rng(1).choice(ids, runs).tolist()
            series = {"seeds": [[one] for one in chosen]} if known == "ppr" else {"source": chosen}
            said = _together(program, used, series)
            ways: list[Callable[[], object]] = [
                partial(_alone, program, used, series), partial(_together, program, used, series)]
            taken = [[_seconds(way) for way in ways] for _ in range(turns + 1)][1:]
            alone, shared = (statistics.median(column) for column in zip(*taken))
            print(f"{name:17} {graph.m / graph.n:5.1f} edges a vertex  {known:4} {runs}  alone {alone:.3f} s  together "
                  f"{shared:.3f} s  {alone / shared:.2f} times; {said.rpartition(': ')[2]}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2:] or GRAPHS)
