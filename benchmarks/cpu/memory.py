"""Peak memory of reading and running, against the arrays that must be there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.cpu.child import ROOT
from benchmarks.cpu.measure import Figure
from benchmarks.cpu.text import Text

__all__ = ["measure_memory"]

RUN, WHOLE = 1.3, 2.0
MIB = 1 << 20


def measure_memory(text: Text, threads: int) -> Iterator[Figure]:
    """Two figures for each program on the file, read as directed, so that the adjacencies are two; one for reading."""
    jobs: dict[str, dict[str, Any]] = {"pagerank": {}, "bfs": {"source": text.hub}}
    for program, arguments in jobs.items():
        job = {"program": program, "path": str(text.path), "directed": True, "arguments": arguments, "threads": threads}
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.cpu.child", "watch", json.dumps(job)], cwd=ROOT, check=True,
            stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        peaks: dict[str, int] = json.loads(done.stdout)
        size = peaks["adjacencies"] + peaks["fields"]
        yield _figure(f"peak of {program}, graph in memory", peaks["run"], size, RUN)
        yield _figure(f"peak of reading text and {program}", peaks["whole"], size, WHOLE)
        if program == "bfs":
            yield _figure("peak of reading text", peaks["read"], size, None)


def _figure(name: str, peak: int, size: int, target: float | None) -> Figure:
    ours, other = peak / MIB, size / MIB
    return Figure(name, "MiB", ours, other, "2 adjacencies + fields", ours / other, target, [(ours, other)])
