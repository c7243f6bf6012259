"""Compare grouped gathers, and programs that use grouped gathers, with a sum, a loop or another library on the CPU.

Usage: `python benchmarks/cpu/communities/run.py [--quick] [--only grouped] [--rounds 5] [--threads 2]`.

networkit, igraph and scipy are measured where they are installed. All sides get the same simple graph with weights, in
their own form, and run alternately in one process. Their results are compared before the runs are timed. A measured
time is the time of the whole call.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.cpu import report
from benchmarks.cpu.communities.works import WORKS, Timed
from benchmarks.cpu.conditions import package_version
from benchmarks.cpu.inputs import Input, build
from benchmarks.cpu.measure import alternate, paired
from vlang import Graph


def simple(given: Input) -> Graph:
    """Return the graph of an input without self-loops and parallel edges. Among parallel edges, the edge with the least
    weight is kept.
    """
    edges, n = given.graph.edges(), given.graph.n
    low, high = np.minimum(edges.src, edges.dst), np.maximum(edges.src, edges.dst)
    weight = np.asarray(edges.columns["weight"], np.float32)
    order = np.lexsort([weight, high, low])
    low, high, weight = low[order], high[order], weight[order]
    kept = (low != high) & np.r_[True, (low[1:] != low[:-1]) | (high[1:] != high[:-1])]
    return Graph.from_edges(low[kept], high[kept], vertices=n, directed=False, weight=weight[kept])


def milliseconds(side: Callable[[], Timed]) -> Callable[[], float]:
    """Return a function that runs one side of a contest and returns only the milliseconds."""
    return lambda: side()[0]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"which works, by comma: {', '.join(WORKS)}")
    parser.add_argument("--graph", default="kron:18", help="default: kron:18")
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--threads", type=int, default=2, help="of vlang and networkit; default: 2")
    parser.add_argument("--quick", action="store_true", help="a small graph and one round, to test the script")
    options = parser.parse_args()
    names = list(filter(None, options.only.split(","))) or list(WORKS)
    if unknown := sorted(set(names) - set(WORKS)):
        parser.error(f"{', '.join(unknown)}: known are {', '.join(WORKS)}")
    given = build(options.graph, options.quick, options.threads)
    assert given is not None, f"{options.graph} is missing"
    graph = simple(given)
    print(f"# {options.graph}, simple: {graph.n:,} vertices, {len(graph.edges().src):,} edges")
    print(report.line(report.HEADER))
    for name in names:
        for contest in WORKS[name](graph, options.threads):
            if contest.peer and package_version(contest.peer) == "none":
                print(f"# {contest.name}: {contest.peer} is not installed")
                continue
            other = contest.other(import_module(contest.peer) if contest.peer else None)
            note = contest.same(contest.ours()[1], other()[1])
            times = alternate([milliseconds(contest.ours), milliseconds(other)], 1 if options.quick else options.rounds)
            figure = replace(paired(contest.name, "ms", contest.against, contest.target, times), graph=options.graph)
            print(report.line(report.row(figure)), f" # {note}" if note else "", flush=True)


if __name__ == "__main__":
    main()
