"""CPU seconds of processes from start to end: warm commands, cold compilations."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cpu.child import ROOT
from benchmarks.cpu.measure import Figure, limited

__all__ = ["cpu_seconds", "measure_start"]

LIMITS = {"import": 0.1, "warm": 0.6, "compile": 3.0, "warm, phases": 1.0, "compile, phases": 6.0}
PHASES = "scc"
"""A program of 14 lines and several phases: two loops inside one, blocks, a condition around a loop."""


def measure_start(quick: bool) -> Iterator[Figure]:
    """CPU time (user and system) is what a start costs, however busy the machine is."""
    many, few = (3, 1) if quick else (11, 3)
    with tempfile.TemporaryDirectory() as cache:
        warm = {"bfs": ["run", "bfs", "karate", "source=1"], PHASES: ["run", PHASES, "karate"]}
        for name, limit in (("bfs", "warm"), (PHASES, "warm, phases")):
            command = ["-m", "vlang", *warm[name]]
            cpu_seconds(command, cache)
            yield _limited(f"vlang run {name} karate, warm", limit, [cpu_seconds(command, cache) for _ in range(many)])
        imports = [cpu_seconds(["-c", "import vlang"], cache) for _ in range(many)]
        yield _limited("import vlang", "import", imports)
    for name in ("bfs",) if quick else ("bfs", "sssp", "components", "pagerank", PHASES):
        kernels = [_cold(["-m", "benchmarks.cpu.child", "compile", name]) for _ in range(few)]
        yield _limited(f"compile {name}, cold", "compile, phases" if name == PHASES else "compile", kernels)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("1 2\n2 3\n3 1\n")
        file.flush()
        commands = {"bfs karate": ["bfs", "karate", "source=1"], "pagerank FILE.txt": ["pagerank", file.name]}
        for name, command in commands.items():
            whole = [_cold(["-m", "vlang", "run", *command]) for _ in range(few)]
            yield limited(f"vlang run {name}, cold", "s CPU", "limit of a compile", LIMITS["compile"], None, whole)


def _limited(name: str, limit: str, samples: list[float]) -> Figure:
    return limited(name, "s CPU", "limit", LIMITS[limit], 1.0, samples)


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
