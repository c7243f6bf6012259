"""Measure the time that a call and a command take in addition to the run.

Usage: `python benchmarks/cpu/single/calls.py [--against DIR] [--repeats 9] [--threads 2]`.

For calls, the script prints the median wall time of `program(graph, ...)`, and `Result.seconds`. The wall time may be
10 % and 0.3 ms longer. For commands, the script prints the processor time and the wall time of `vlang run bfs karate`,
and of the same command on an .npz file of 2^20 vertices and 33.6 M edges. The command on the .npz file is compared with
the time in which one thread reads every byte of the file once; the command may take 0.45 s longer. With `--against`,
the commands alternate with the commands of another checkout.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.cpu.measure import alternate
from vlang import Graph, Program, load

ROOT = Path(__file__).resolve().parents[3]
CALLS = {"bfs": "source", "components": "", "sssp": "source", "pagerank": ""}
FEW = 0.3  # milliseconds
LIMIT = 0.45  # seconds


def call_lines(scale: int, repeats: int, threads: int) -> list[str]:
    """Return a line for each program on kron:16 and on kron:`scale`."""
    lines = []
    for label in ("kron:16", f"kron:{scale}"):
        graph = Graph.read(label, directed=False, weights="1..255")
        hub = graph.label(int(np.argmax(graph.out_degree)))
        for name, parameter in CALLS.items():
            program, inside = load(name), list[float]()

            def once(program: Program = program, parameter: str = parameter, inside: list[float] = inside,
                     graph: Graph = graph, hub: object = hub) -> float:
                begin = time.perf_counter()
                result = program(graph, threads=threads, **({parameter: hub} if parameter else {}))
                took = 1e3 * (time.perf_counter() - begin)
                inside.append(1e3 * result.seconds)
                return took

            once()
            inside.clear()
            whole, run = alternate([once], repeats).median(0), median(inside)
            limit = 1.1 * run + FEW
            lines.append(f"{name:<12}{label:<10} {whole:9.3f} ms, of which the run {run:9.3f}; "
                         f"target {limit:.3f}: {'met' if whole <= limit else 'NO'}")
    return lines


def command(tree: Path, graph: str) -> tuple[float, float]:
    """Return the seconds of `vlang run bfs GRAPH`: processor time and wall time."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), os.environ.get("PYTHONPATH", "")])}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "vlang", "run", "bfs", graph, "source=1", "-q"], cwd=tree,
                               env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"the command failed in {tree}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin


def command_lines(scale: int, repeats: int, others: list[Path]) -> list[str]:
    """Return a line for each graph and checkout."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.npz"
        Graph.read(f"kron:{scale}", directed=False).save(file)
        begin = time.perf_counter()
        file.read_bytes()
        reading = time.perf_counter() - begin
        for graph in ("karate", str(file)):
            trees = [ROOT, *others]
            for tree in trees:
                command(tree, graph)
            taken: dict[Path, list[tuple[float, float]]] = {tree: [] for tree in trees}
            for number in range(repeats):
                for tree in trees[:: -1 if number % 2 else 1]:
                    taken[tree].append(command(tree, graph))
            for tree in trees:
                cpu, wall = (median(one[part] for one in taken[tree]) for part in (0, 1))
                limit = LIMIT + (reading if graph != "karate" else 0)
                name = "karate" if graph == "karate" else f"kron:{scale}.npz"
                lines.append(f"vlang run bfs {name:<14}{'this' if tree == ROOT else tree.name:<8} {cpu:.3f} s CPU, "
                             f"{wall:.3f} s; target {limit:.3f}: {'met' if wall <= limit else 'NO'}")
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--repeats", type=int, default=9, help="default: 9")
    parser.add_argument("--threads", type=int, default=2, help="of calls; default: 2")
    parser.add_argument("--quick", action="store_true", help="a small graph and one repeat, to test the script")
    options = parser.parse_args()
    scale, repeats = (10, 1) if options.quick else (20, options.repeats)
    for line in (*call_lines(scale, repeats, options.threads),
                 *command_lines(scale, repeats, [options.against] if options.against else [])):
        print(line, flush=True)


if __name__ == "__main__":
    main()
