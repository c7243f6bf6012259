"""Compare `auto` on the CPU with each execution way that can be forced.

Usage: `python benchmarks/cpu/choices.py [--quick] [--only bfs,kcore] [--graphs kron:13] [--rounds 9] [--threads 2]`.

A cell is a program on a graph. The ratio of a cell is the time of `auto` divided by the time of the fastest way, `auto`
included. All ways of a cell run alternately in one process. Their results are compared before the runs are timed. The
script prints a line per cell, the share of cells with a ratio of at most 1.1, and the largest ratio. For a cell with a
ratio above 1.1, the script also prints the supersteps of `auto` and of the fastest way by mode.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.cpu.inputs import folder
from benchmarks.cpu.measure import alternate
from vlang import Graph, Program, Result, compile, load
from vlang.errors import VlangError

CLOSE, WORST = 1.1, 1.3
"""The ratio that 95 % of the cells should meet, and the ratio that no cell should exceed."""

PLAIN = """program plain(damping = 0.85, tol = 1e-6)
vertex rank: float = 1 / N
repeat at most 100 times until max(abs(change(v.rank)) for v in vertices) < tol / N:
    gather inflow = sum(u.rank / u.outdegree for u -> self)
    apply  rank   = (1 - damping) / N + damping * inflow
"""

WAYS: Mapping[str, dict[str, Any]] = {
    "auto": {}, "pull": {"mode": "pull"}, "notify-pull": {"mode": "notify-pull"}, "push": {"mode": "push"},
    "rows": {"mode": "pull", "blocking": "never"},
}
"""The research options of each way. A program that refuses a way is measured without it."""

PROGRAMS = ("bfs", "sssp", "components", "pagerank", "plain", "pagerank_delta", "kcore", "kcore_peel", "coloring",
            "mis")  # fmt: skip
GRAPHS = ("kron:13", "kron:15", "kron:16", "uniform:13", "uniform:15", "uniform:16", "grid:200x200", "grid:500x500",
          "USA-road-d.NY", "soc-Slashdot0902")  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """A program on a graph.

    Attributes:
        program, graph: the names of the program and of the graph.
        times: the median milliseconds of each way.
        modes: the number of supersteps by mode, for each way.
    """

    program: str
    graph: str
    times: Mapping[str, float]
    modes: Mapping[str, Counter[str]]

    @property
    def best(self) -> str:
        """The name of the fastest way."""
        return min(self.times, key=lambda way: self.times[way])

    @property
    def ratio(self) -> float:
        """The time of `auto` divided by the time of the fastest way."""
        return self.times["auto"] / self.times[self.best]

    def lines(self) -> list[str]:
        """Return the line of the table. If the ratio is above CLOSE, the supersteps follow in further lines."""
        shown = "  ".join(f"{way} {ms:.4g}" for way, ms in self.times.items())
        lines = [f"{self.program:<16}{self.graph:<18}{self.ratio:6.2f}  {shown}"]
        for way in dict.fromkeys(("auto", self.best)) if self.ratio > CLOSE else ():
            lines.append(f"    {way}: " + ", ".join(f"{count} {mode}" for mode, count in self.modes[way].items()))
        return lines


def read(name: str) -> Graph | None:
    """Return an undirected graph without self-loops and parallel edges, since peeling needs such a graph. Return None
    if the file of the graph is missing.
    """
    path = next(iter((folder() / name).glob(f"{name}.*.gz")), None)
    if path is None and ":" not in name:
        return None
    own = path is not None and path.suffixes[-2] == ".gr"
    return Graph.read(name if path is None else path, directed=False, self_loops="drop", parallel="drop",
                      weights=None if own else "1..255")


def measured(name: str, program: Program, graph: Graph, label: str, rounds: int, threads: int) -> Cell:
    """Run all ways of a cell alternately. Raises AssertionError if their results differ.

    Args:
        name: the name of the program.
        program: the program.
        graph: the graph.
        label: the name of the graph.
        rounds: the number of rounds.
        threads: the threads of each run.
    """
    hub = {"source": graph.label(int(np.argmax(graph.out_degree)))} if name in ("bfs", "sssp") else {}

    def run(way: str) -> Result:
        return program(graph, **hub, threads=threads, research=WAYS[way])

    found: dict[str, Result] = {}
    for way in WAYS:
        try:
            found[way] = run(way)
        except VlangError:
            if way == "auto":
                raise
    within = 0.05 if name == "pagerank_delta" else 0.0
    for way, result in found.items():
        for field in result.fields:
            assert np.allclose(result[field], found["auto"][field], rtol=within, equal_nan=True), (name, way, field)
    modes = {way: Counter(row.mode for row in result.history) for way, result in found.items()}
    ways = [way for way in found if way == "auto" or modes[way] != modes["auto"] or way == "rows"]

    def timed(way: str) -> Callable[[], float]:
        def once() -> float:
            begin = time.perf_counter()
            run(way)
            return 1e3 * (time.perf_counter() - begin)

        return once

    times = alternate([timed(way) for way in ways], rounds)
    return Cell(name, label, {way: times.median(number) for number, way in enumerate(ways)}, modes)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"which programs, by comma: {', '.join(PROGRAMS)}")
    parser.add_argument("--graphs", default="", help=f"which graphs, by comma: {', '.join(GRAPHS)}, or any generator")
    parser.add_argument("--rounds", type=int, default=9, help="default: 9")
    parser.add_argument("--threads", type=int, default=2, help="default: 2")
    parser.add_argument("--quick", action="store_true", help="one small graph and one round, to test the script")
    options = parser.parse_args()
    names = list(filter(None, options.only.split(","))) or list(PROGRAMS)
    if unknown := sorted(set(names) - set(PROGRAMS)):
        parser.error(f"{', '.join(unknown)}: known are {', '.join(PROGRAMS)}")
    labels = list(filter(None, options.graphs.split(","))) or (["kron:8"] if options.quick else list(GRAPHS))
    cells: list[Cell] = []
    for label in labels:
        graph = read(label)
        if graph is None:
            print(f"# {label}: not measured, it is missing")
            continue
        for name in names:
            program = compile(PLAIN) if name == "plain" else load(name)
            cells.append(measured(name, program, graph, label, 1 if options.quick else options.rounds, options.threads))
            print("\n".join(cells[-1].lines()), flush=True)
    close, worst = sum(cell.ratio <= CLOSE for cell in cells), max((cell.ratio for cell in cells), default=1.0)
    print(f"{close} of {len(cells)} cells within {CLOSE} of the fastest way (target: 95 %); the worst is {worst:.2f} "
          f"(target: {WORST})")


if __name__ == "__main__":
    main()
