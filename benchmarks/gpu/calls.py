"""Measure the time that a Python call takes on a GPU in addition to its supersteps, for the first, second and later
calls.

Usage: `python benchmarks/gpu/calls.py [--graphs rmat22] [--only bfs,sssp,...] [--quick]`.

Every call has another source or damping factor, so that no cached answer can be used. The script prints one line of
milliseconds for each program: the first call, the second call, and the median of later calls. For later calls, the
script also prints the median time of the supersteps and of the rest of the run (`outside`: initialisers, contracts,
launches around the supersteps). The last column is the time of a later call minus twice the time of its supersteps; the
target is at most 1 ms. The last line is the time to open a page of a streamed topology, in microseconds; the target is
at most 20. The pages have 256 KiB, and no page stays on the device. The time to open a page is the time of a second
PageRank call minus the time of its run, divided by the number of pages.

Results are written to benchmarks/results (not with --quick).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.gpu import inputs, report
from benchmarks.gpu.inputs import Input
from benchmarks.gpu.runs import prepared, program, steps_ms
from benchmarks.gpu.works import Work

PROGRAMS = ("bfs", "sssp", "pagerank", "components")
CALLS = 12
PAGE = 256 << 10
MOST = 1.0  # milliseconds beyond twice the supersteps
HEADER = ("program", "graph", "first", "second", "later", "supersteps", "outside", "beyond", "met")
_WIDTHS = (11, 9, 9, 9, 9, 11, 9, 9, 5)


@dataclass(frozen=True)
class Line:
    """The figures of one program on one graph, in milliseconds (see the head of the script)."""

    program: str
    graph: str
    first: float
    second: float
    later: float
    supersteps: float
    outside: float

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the line."""
        beyond = self.later - 2 * self.supersteps
        figures = (self.first, self.second, self.later, self.supersteps, self.outside, beyond)
        return (self.program, self.graph, *(f"{ms:.3g}" for ms in figures), "yes" if beyond <= MOST else "NO")


def line(name: str, given: Input) -> Line:
    """Measure the calls of one program. The first call has a graph that is not on the device."""
    sources = np.argsort(-given.graph.out_degree.astype(np.int64), kind="stable")[:CALLS]
    work = program(name)
    calls, steps, outside = [], [], []
    given.graph.release()
    for turn in range(CALLS):
        arguments: dict[str, Any] = {"damping": 0.85 + turn / 1000, "tol": 1e-6} if name == "pagerank" else \
            {"source": int(sources[turn])} if name in ("bfs", "sssp") else {}
        begin = time.perf_counter()
        result = work(given.graph, device="gpu", **arguments)
        calls.append((time.perf_counter() - begin) * 1e3)
        steps.append(steps_ms(result))
        outside.append(result.seconds * 1e3 - steps[-1])
    return Line(name, given.name, calls[0], calls[1], median(calls[2:]), median(steps[2:]), median(outside[2:]))


def opening_us(given: Input) -> tuple[int, float]:
    """Return the number of pages, and the microseconds that a second call takes to open one page."""
    call = prepared(Work("pagerank", given.name, 1, 1, resident=0.0), given, {"device": "gpu", "page_size": PAGE})
    call(max_rounds=3)
    result, seconds = call.timed(max_rounds=3)
    pages = -(-4 * len(given.graph.adjacency("in")) // PAGE)
    return pages, (seconds - result.seconds) * 1e6 / pages


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default="rmat22", help="graphs, by comma")
    parser.add_argument("--only", default=",".join(PROGRAMS), help="programs, by comma")
    parser.add_argument("--quick", action="store_true", help="tiny graphs, nothing is written")
    options = parser.parse_args()
    before = report.conditions("gpu")
    print(f"# {before['gpu']}")
    print(report.table_line(HEADER, _WIDTHS))
    lines = []
    for name in options.graphs.split(","):
        given = inputs.build(name, options.quick)
        for one in options.only.split(","):
            lines.append(line(one, given))
            print(report.table_line(lines[-1].cells(), _WIDTHS), flush=True)
        pages, us = opening_us(given)
        print(f"# {given.name}, streamed: {pages:,} pages, {us:.1f} us to open one (at most 20)", flush=True)
    if not options.quick:
        print(f"# written to {os.path.relpath(report.save(before, 'gpu-calls', {}, lines))}")


if __name__ == "__main__":
    main()
