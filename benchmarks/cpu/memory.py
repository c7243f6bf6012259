"""Measure the peak memory of reading and running, and compare it with the size of the arrays that are needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.cpu.child import ROOT
from benchmarks.cpu.measure import Figure
from benchmarks.cpu.text import Text
from benchmarks.cpu.works import Work

__all__ = ["measure_memory", "with_memory"]

RUN, WHOLE = 1.3, 2.0
MIB = 1 << 20


def measure_memory(text: Text, threads: int) -> Iterator[Figure]:
    """Yield two figures for each program on the file, and one figure for reading the file."""
    jobs: dict[str, dict[str, Any]] = {"pagerank": {}, "bfs": {"source": text.hub}}
    for program, arguments in jobs.items():
        peaks = _watched("file", program=program, path=str(text.path), arguments=arguments, threads=threads)
        size = peaks["adjacencies"] + peaks["fields"]
        yield _figure(f"peak of {program}, graph in memory", peaks["run"], size, RUN)
        yield _figure(f"peak of reading text and {program}", peaks["whole"], size, WHOLE)
        if program == "bfs":
            yield _figure("peak of reading text", peaks["read"], size, None)


def with_memory(figure: Figure, work: Work, quick: bool, threads: int) -> Figure:
    """Return the figure with its peak memory added. A separate process that only runs this workload measures the peak
    memory.

    Args:
        figure: the figure of the workload.
        work: the workload.
        quick: whether the graph is small.
        threads: how many threads to use.
    """
    found = _watched("work", kind=work.kind, graph=work.graph, quick=quick, sources=work.sources, threads=threads)
    return replace(figure, peak=found["peak"] / MIB, arrays=found["arrays"] / MIB)


def _watched(what: str, **job: Any) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cpu.child", what, json.dumps(job)], cwd=ROOT, check=True,
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    found: dict[str, int] = json.loads(done.stdout)
    return found


def _figure(name: str, peak: int, size: int, target: float | None) -> Figure:
    ours, other = peak / MIB, size / MIB
    return Figure(name, "MiB", ours, other, "2 adjacencies + fields", ours / other, target, samples=[(ours, other)])
