"""Compare user-written programs on the CPU with C++ loops, which are built with -O3 -march=native -fopenmp.

Usage: `python benchmarks/cpu/own/run.py [--quick] [--only spread] [--graphs kron:20] [--rounds 9] [--threads 2]`.

vlang and the C++ loops run 20 rounds each on the same arrays, alternately in one process. Their results are compared
before the runs are timed. A figure is the time of a round: the time of the run, without reading arguments, divided by
20.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from benchmarks.cpu import report
from benchmarks.cpu.inputs import INPUTS, Input, build
from benchmarks.cpu.measure import Figure, alternate, paired
from benchmarks.cpu.own.programs import PROGRAMS
from benchmarks.cpu.references import References
from vlang import Program, Result, compile

ROUNDS = 20
GRAPHS = ("kron:20", "uniform:20", "road")
LIMIT = 1.0


class Sides:
    """A program and its C++ function on one graph.

    Args:
        name: the name of the function.
        given: the graph.
        references: the C++ functions.
        threads: the threads of both sides.
    """

    def __init__(self, name: str, given: Input, references: References, threads: int) -> None:
        self._program: Program = compile(PROGRAMS[name])
        self._name, self._given, self._references, self._threads = name, given, references, threads
        first = self._program(given.graph, rounds=0, threads=threads)
        self._start = np.ascontiguousarray(first["x"], dtype=np.float32)
        n = given.graph.n
        self._y = np.ascontiguousarray(first["y"], np.float32) if "y" in first.fields else np.zeros(n, np.float32)

    def ours(self) -> tuple[float, Result]:
        """Return the milliseconds of a round, and the result."""
        result = self._program(self._given.graph, rounds=ROUNDS, threads=self._threads)
        return 1e3 * result.seconds / ROUNDS, result

    def other(self) -> tuple[float, NDArray[Any]]:
        """Return the milliseconds of a round of the C++ function, and its values of `x`."""
        graph = self._given.graph
        into, out = graph.adjacency("in"), graph.adjacency("out")
        x, y, who, seconds = self._start.copy(), self._y.copy(), np.zeros(graph.n, np.uint32), np.zeros(1)
        self._references.call(
            "own", self._name, into.offsets, into.targets, into.column("weight", np.float32), out.offsets, out.targets,
            graph.n, ctypes.c_int(ROUNDS), x, y, who, ctypes.c_int(self._threads), seconds)
        return 1e3 * float(seconds[0]) / ROUNDS, x

    def figure(self, rounds: int) -> Figure:
        """Compare the results, and then measure both sides alternately."""
        found, want = self.ours()[1]["x"], self.other()[1]
        assert np.isfinite(want).all(), f"{self._name} on {self._given.name}: no finite values to compare"
        np.testing.assert_allclose(found, want, rtol=2e-3, err_msg=f"{self._name} on {self._given.name}")
        times = alternate([lambda: self.ours()[0], lambda: self.other()[0]], rounds)
        return paired(f"{self._name}, a round", "ms", "C++ loop", LIMIT, times, self._given.name)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help=f"which programs, by comma: {', '.join(PROGRAMS)}")
    parser.add_argument("--graphs", default="", help=f"which graphs, by comma: {', '.join(INPUTS)}")
    parser.add_argument("--rounds", type=int, default=9, help="default: 9")
    parser.add_argument("--threads", type=int, default=2, help="of both sides; default: 2")
    parser.add_argument("--quick", action="store_true", help="small graphs and one round, to test the script")
    options = parser.parse_args()
    names = list(filter(None, options.only.split(","))) or list(PROGRAMS)
    labels = list(filter(None, options.graphs.split(","))) or list(GRAPHS)
    for asked, known in ((names, list(PROGRAMS)), (labels, list(INPUTS))):
        if unknown := sorted(set(asked) - set(known)):
            parser.error(f"{', '.join(unknown)}: known are {', '.join(known)}")
    print(report.line(report.HEADER))
    with tempfile.TemporaryDirectory() as folder:
        references = References(Path(folder))
        for label in labels:
            given = build(label, options.quick, options.threads)
            if given is None:
                print(f"# {label}: not measured, it is missing")
                continue
            for name in names:
                figure = Sides(name, given, references, options.threads).figure(1 if options.quick else options.rounds)
                print(report.line(report.row(figure)), flush=True)


if __name__ == "__main__":
    main()
