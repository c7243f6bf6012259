"""Personalised PageRanks, computed by `Program.map`, where runs share their reads of the edges, and by one call after
the other.

Usage: `python benchmarks/cpu/own/together.py [TURNS]`. Runs of both kinds alternate; the script prints the medians of
the processor time of one thread, and their ratio. VLANG_DATA is the folder of published graphs (see inputs.py).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import vlang
from benchmarks.cpu.inputs import folder
from vlang import Graph, Program
from vlang.api.running import together

GRAPHS = ["kron:12", "kron:14", "kron:16", "kron:18", "ca-GrQc", "soc-Slashdot0902"]
RUNS = 16


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def _alone(program: Program, graph: Graph, seeds: list[list[Any]]) -> None:
    for one in seeds:
        program(graph, seeds=one, threads=1)


def _together(program: Program, graph: Graph, seeds: list[list[Any]]) -> None:
    for _ in program.map(graph, seeds=seeds, threads=1):
        pass


def main(turns: int) -> None:
    """Print a line for each graph. Runs share their reads on every graph, large or small, to show from which size on
    sharing saves time.
    """
    together._FEWEST = together._DENSE = 0
    ppr = vlang.load("ppr")
    for name in GRAPHS:
        file = folder() / name / f"{name}.txt.gz"
        if ":" not in name and not file.exists():
            continue
        graph = Graph.read(name if ":" in name else file)
        sources = graph.ids.values[np.flatnonzero(graph.row_lengths("out"))]
        seeds = [[one] for one in np.random.default_rng(1).choice(sources, RUNS).tolist()]
        ways = [partial(_alone, ppr, graph, seeds), partial(_together, ppr, graph, seeds)]
        taken = [[_seconds(way) for way in ways] for _ in range(turns + 1)][1:]
        alone, shared = (statistics.median(column) for column in zip(*taken))
        print(f"{name:18} {graph.m / graph.n:5.1f} edges a vertex  alone {alone:.3f} s  together {shared:.3f} s  "
              f"{alone / shared:.2f} times", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
