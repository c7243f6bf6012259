"""CPU seconds of processes from start to end: warm commands, cold compilations."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cpu.child import ROOT
from benchmarks.cpu.measure import Figure, figure

__all__ = ["measure_start"]

LIMITS = {"import": 0.1, "warm": 0.8, "compile": 4.0}


def measure_start(quick: bool) -> Iterator[Figure]:
    """CPU time (user and system) is what a start costs, however busy the machine is."""
    many, few = (3, 1) if quick else (11, 3)
    with tempfile.TemporaryDirectory() as cache:
        warm = ["-m", "vlang", "run", "bfs", "karate", "source=1"]
        cpu_seconds(warm, cache)
        yield _limited("vlang run bfs karate, warm", "warm", [cpu_seconds(warm, cache) for _ in range(many)])
        imports = [cpu_seconds(["-c", "import vlang"], cache) for _ in range(many)]
        yield _limited("import vlang", "import", imports)
    for name in ("bfs", "pagerank"):
        kernels = [_cold(["-m", "benchmarks.cpu.child", "compile", name]) for _ in range(few)]
        yield _limited(f"compile {name}, empty cache", "compile", kernels)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("1 2\n2 3\n3 1\n")
        file.flush()
        commands = {
            "bfs karate": ["bfs", "karate", "source=1"],
            "pagerank karate": ["pagerank", "karate"],
            "pagerank FILE.txt": ["pagerank", file.name],
        }
        for name, command in commands.items():
            whole = [_cold(["-m", "vlang", "run", *command]) for _ in range(few)]
            yield figure(f"vlang run {name}, empty cache", "s CPU", "limit of a compile", LIMITS["compile"],
                         None, whole)  # fmt: skip


def _limited(name: str, limit: str, samples: list[float]) -> Figure:
    return figure(name, "s CPU", "limit", LIMITS[limit], 1.0, samples)


def _cold(arguments: list[str]) -> float:
    with tempfile.TemporaryDirectory() as cache:
        return cpu_seconds(arguments, cache)


def cpu_seconds(arguments: list[str], cache: str | Path) -> float:
    """User and system time of `python ARGUMENTS`, which must succeed."""
    environment = {**os.environ, "VLANG_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            raise SystemExit(f"python {' '.join(arguments)}: exit status {process.returncode}\n{said.read()}")
    return usage.ru_utime + usage.ru_stime
