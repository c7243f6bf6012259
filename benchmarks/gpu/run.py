"""Measure vlang on the GPU.

Usage: `python benchmarks/gpu/run.py [--only pagerank,bfs,...] [--graphs rmat22,...] [--quick]`.

Builds the graphs on this machine, measures the limits of the device, and runs each workload: once to compare the result
with NumPy and SciPy, then five times for the median. Prints one line for each workload, with
- the milliseconds of the run, with the data on the device and kernels compiled,
- the target, and a more ambitious target,
- the time of the best peer on an H200, and the time that the measured limits allow,
- the numbers of supersteps and of traversed edges,
- the milliseconds of the supersteps alone, without initializers and contracts, and of the whole call,
- the microseconds of a superstep.

Results are written to benchmarks/results (not with --quick).

The limit of a sweep is the time to gather a value for each edge. The limit of a traversal is the time of the gathers of
all traversed edges plus one grid barrier for each superstep. The limit of a streamed workload is the time to transfer
the bytes that are not resident.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.gpu import inputs, report
from benchmarks.gpu.limits import Limits, gather_seconds, measure_limits
from benchmarks.gpu.report import Row
from benchmarks.gpu.runs import Timing, bytes_of_edges, measure, prepared
from benchmarks.gpu.works import WORKS, Work, chosen


class Session:
    """The options of the command line, the measured limits, and the time that is left for measurements."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.quick: bool = options.quick
        self.check: bool = not options.unchecked
        self.gpu: bool = options.device != "cpu"
        self.traces: bool = options.traces
        self.arguments: dict[str, Any] = {"device": options.device} if self.gpu else {}
        self.arguments |= dict(option(text) for text in options.option)
        self.deadline = time.monotonic() + options.seconds
        self.limits: Limits | None = measure_limits() if self.gpu else None

    def rows(self, works: list[Work]) -> Iterator[Row]:
        """Yield the rows of all workloads, graph by graph."""
        for name, group in groupby(works, key=lambda work: work.graph):
            if time.monotonic() > self.deadline:
                yield from (Row(work.name, name, problem="no time left") for work in group)
                continue
            given = inputs.build(name, self.quick)
            gather = gather_seconds(given.graph.adjacency("in").targets, given.graph.n) if self.gpu else 0.0
            print(f"# {given.graph!r}: built in {given.seconds:.1f} s; gathers of all edges {gather * 1e3:.3f} ms")
            for work in group:
                yield self.row(work, given, gather)

    def row(self, work: Work, given: inputs.Input, gather: float) -> Row:
        """Measure one workload. If the run fails, its line reports the error."""
        try:
            timing = measure(work, prepared(work, given, self.arguments), check=self.check)
        except Exception as error:  # a failing work must not stop the others
            if self.traces:
                traceback.print_exc()
            return Row(work.name, work.graph, problem=f"{type(error).__name__}: {error}"[:200])
        limit = self.limit(work, given, timing, gather)
        share = work.streamed and work.kind in ("pagerank", "components")  # targets are shares of the link
        must, aim = (limit / work.must, limit / work.aim) if share and limit else (work.must, work.aim)
        row = Row(work.name, work.graph, timing.ms, must, aim, work.peer, limit, timing.rounds, timing.edges,
                  timing.steps, timing.call, timing.samples)  # fmt: skip
        return replace(row, must=None, aim=None, peer=None) if self.quick else row

    def limit(self, work: Work, given: inputs.Input, timing: Timing, gather: float) -> float | None:
        """Return the shortest time of a workload, in milliseconds, that the measured limits of the device allow.

        Args:
            work: the workload.
            given: the graph.
            timing: the measured times of the workload.
            gather: seconds of the gathers of all edges.
        """
        if self.limits is None:
            return None
        if work.budget:
            return None
        if work.streamed:
            passes = timing.edges / given.graph.m if work.kind == "pagerank" else 1.0
            return 1e3 * passes * (1 - work.resident) * bytes_of_edges(work, given) / self.limits.best_link
        gathers = gather * timing.edges / len(given.graph.adjacency("in"))
        return 1e3 * (gathers + (0 if work.kind == "pagerank" else timing.rounds * self.limits.barrier))


def option(text: str) -> tuple[str, Any]:
    """Parse `name=value` of a run option; numbers become int or float."""
    name, _, value = text.partition("=")
    return name, int(value) if value.lstrip("-").isdigit() else {"true": True, "false": False}.get(value, value)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names, graphs = sorted({work.name for work in WORKS}), list(inputs.INPUTS)
    parser.add_argument("--only", default="", help=f"works, by comma: {', '.join(names)}")
    parser.add_argument("--graphs", default="", help=f"graphs, by comma: {', '.join(graphs)}")
    parser.add_argument("--quick", action="store_true", help="tiny graphs, no targets, nothing is written")
    parser.add_argument("--device", default="gpu", help="gpu, gpu:K, or cpu to try this script without one")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="a run option for every work, such as kernel=stream")  # fmt: skip
    parser.add_argument("--unchecked", action="store_true", help="do not check results")
    parser.add_argument("--seconds", type=float, default=540, help="start no graph after so many seconds")
    parser.add_argument("--traces", action="store_true", help="show where an error came from")
    options = parser.parse_args()
    only, on = (list(filter(None, text.split(","))) for text in (options.only, options.graphs))
    for asked, known in ((only, names), (on, graphs)):
        if unknown := sorted(set(asked) - set(known)):
            parser.error(f"{', '.join(unknown)}: known are {', '.join(known)}")
    works = [work for work in chosen(only, on) if options.device != "cpu" or not work.streamed]
    if not works:
        there = sorted({f"{work.name} on {work.graph}" for work in WORKS if not on or work.graph in on})
        parser.error(f"no work has these names and graphs on this device; there are {', '.join(there)}")
    before = report.conditions(options.device)
    session = Session(options)
    print(f"# {before.get('gpu', before['processor'])}; {session.limits or 'no limits measured'}")
    print(report.table_line(report.HEADER))
    rows = []
    for row in session.rows(works):
        print(row, flush=True)
        rows.append(row)
    if not options.quick and session.gpu:
        limits = None if session.limits is None else vars(session.limits)
        path = report.save(before, "gpu", {"limits": limits, "options": vars(options)}, rows)
        print(f"# written to {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
