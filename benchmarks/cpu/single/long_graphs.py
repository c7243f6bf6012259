"""Measure loops of many thin supersteps: `scc` compared with SciPy, and betweenness on a road network compared with
C++.

Usage: `python benchmarks/cpu/single/long_graphs.py [--threads 2] [--rounds 7]`.

SciPy numbers components by one depth-first search, on one thread. The C++ is `loops/betweenness.cpp`. All contestants
run in turn in one process, and their results are compared first. A ratio below 1 means that vlang is faster.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.cpu.contests import contest
from benchmarks.cpu.inputs import build
from benchmarks.cpu.measure import alternate
from benchmarks.cpu.references import References
from benchmarks.cpu.works import Work
from vlang import Graph, load

ROAD = "USA-road-d.NY"


def graphs(side: int) -> dict[str, Graph]:
    """Return graphs with components of different kinds: a grid, a grid whose edges have random directions, and random
    edges.
    """
    rng = np.random.default_rng(1)
    places = np.arange(side * side).reshape(side, side)
    near = np.concatenate([places[:, :-1].ravel(), places[:-1].ravel()])
    far = np.concatenate([places[:, 1:].ravel(), places[1:].ravel()])
    forward = rng.random(len(near)) < 0.5
    return {
        f"grid:{side}x{side}": Graph.read(f"grid:{side}x{side}"),
        f"random directions, {side} x {side}":
            Graph.from_edges(np.where(forward, near, far), np.where(forward, far, near)),
        "as many random edges as vertices": Graph.from_edges(*rng.integers(0, side * side, (2, side * side))),
    }  # fmt: skip


def clocked(call: Callable[[], Any]) -> Callable[[], float]:
    """Return a function that calls `run` and returns the milliseconds of the call."""
    def once() -> float:
        begin = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - begin)

    return once


def scc_line(name: str, graph: Graph, rounds: int, threads: int) -> str:
    """Return the line of one graph. Raises AssertionError if the components differ."""
    lists, program = graph.adjacency("out"), load("scc")
    matrix = scipy.sparse.csr_matrix(
        (np.ones(len(lists.targets), np.int8), lists.targets.astype(np.int32), lists.offsets.astype(np.int64)),
        shape=(graph.n, graph.n))

    def other() -> Any:
        return connected_components(matrix, directed=True, connection="strong")[1]

    result, numbers = program(graph, threads=threads), other()
    pairs = len(np.unique(np.stack([np.asarray(result.scc), numbers]), axis=1).T)
    assert pairs == len(np.unique(numbers)) == len(np.unique(result.scc)), name
    times = alternate([clocked(lambda: program(graph, threads=threads)), clocked(other)], rounds)
    return (f"scc          {name:<36}{times.median(0):9.2f} ms, SciPy {times.median(1):9.2f}, "
            f"ratio {times.ratio(0, 1):.2f}, {result.rounds} supersteps")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--rounds", type=int, default=7, help="default: 7")
    parser.add_argument("--quick", action="store_true", help="tiny graphs and one round, to test the script")
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    for name, graph in graphs(20 if options.quick else 300).items():
        print(scc_line(name, graph, rounds, options.threads), flush=True)
    road = build("road" if options.quick else ROAD, options.quick, options.threads)
    if road is None:
        print(f"# {ROAD}: not measured, it is missing")
        return
    with tempfile.TemporaryDirectory() as built:
        sides = contest(Work("betweenness", road.name), road, References(Path(built)), options.threads)
        sides.same(sides.ours(options.threads)[1], sides.other()[1])
        times = alternate([lambda: sides.ours(options.threads)[0], lambda: sides.other()[0]], rounds)
        print(f"betweenness  {road.name:<36}{times.median(0):9.2f} ms, {sides.against} {times.median(1):9.2f}, "
              f"ratio {times.ratio(0, 1):.2f}")


if __name__ == "__main__":
    main()
