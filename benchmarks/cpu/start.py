"""Measure the CPU seconds of whole processes: of commands with a warm cache, and of first commands, which compile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cpu.child import ROOT
from benchmarks.cpu.measure import Figure, limited

__all__ = ["cpu_seconds", "measure_start"]

LIMITS = {"import": 0.1, "warm": 0.6, "first": 3.0, "warm, phases": 1.0, "first, phases": 6.0}
PHASES = "phases"
"""phases.vp: 14 lines with several phases: two loops inside another loop, blocks, a condition around a loop."""

RUNS = {"bfs": ["bfs", "karate", "source=1"], "sssp": ["sssp", "karate", "source=1"],
        "components": ["components", "karate"], "pagerank": ["pagerank", "karate"],
        PHASES: [str(Path(__file__).with_name("phases.vp")), "karate"]}  # fmt: skip


def measure_start(quick: bool) -> Iterator[Figure]:
    """Yield the CPU time (user and system) of commands. CPU time hardly depends on the load of the machine.

    A command is `warm` if everything is cached, and `empty` if nothing is cached. A `first` command compiles the
    kernels of its program, and the kernels of the engine that no earlier program needed.
    """
    many, few = (3, 1) if quick else (11, 3)
    imports = [cpu_seconds(["-c", "import vlang"], "") for _ in range(many)]
    yield _limited("import vlang", "import", imports)
    with tempfile.TemporaryDirectory() as cache:
        for name in ("bfs", PHASES):
            _run(RUNS[name], cache)
            samples = [_run(RUNS[name], cache) for _ in range(many)]
            yield _limited(f"vlang run {name}, warm", "warm, phases" if name == PHASES else "warm", samples)
    with tempfile.TemporaryDirectory() as cache:
        _run(["degree", "karate"], cache)
        for name in ("bfs",) if quick else RUNS:
            samples = [_run_with(cache, RUNS[name]) for _ in range(few)]
            yield _limited(f"vlang run {name}, first", "first, phases" if name == PHASES else "first", samples)
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file, tempfile.TemporaryDirectory() as nothing:
        file.write("1 2\n2 3\n3 1\n")
        file.flush()
        for name, command in {"bfs": RUNS["bfs"], "pagerank FILE.txt": ["pagerank", file.name]}.items():
            samples = [_run_with(nothing, command) for _ in range(few)]
            yield limited(f"vlang run {name}, empty", "s CPU", "limit of a first", LIMITS["first"], None, samples)


def _run(arguments: list[str], cache: str) -> float:
    return cpu_seconds(["-m", "vlang", "run", *arguments], cache)


def _run_with(cache: str, arguments: list[str]) -> float:
    """Run a command with a copy of a cache directory, and return its CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(cache, folder, dirs_exist_ok=True)
        os.chmod(folder, 0o700)
        return _run(arguments, folder)


def _limited(name: str, limit: str, samples: list[float]) -> Figure:
    return limited(name, "s CPU", "limit", LIMITS[limit], 1.0, samples)


def cpu_seconds(arguments: list[str], cache: str) -> float:
    """Return the user and system time of `python ARGUMENTS` in seconds. The command must succeed."""
    environment = {**os.environ, "VLANG_CACHE": cache, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # commands use cached byte code, as they do for users
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            raise SystemExit(f"python {' '.join(arguments)}: exit status {process.returncode}\n{said.read()}")
    return usage.ru_utime + usage.ru_stime
