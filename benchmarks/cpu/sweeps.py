"""PageRank sweeps against the C++ loop, in one process and on the same arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.cpu.loop import Loop
from benchmarks.cpu.measure import Figure, alternate, paired
from vlang import Graph, Result, load

__all__ = ["measure_sweeps"]

TARGET = 0.83  # 1.2 times as fast
SWEEPS = 20
EARLY = 3  # supersteps left out of the median: the first ones set things up


@dataclass(frozen=True)
class _Run:
    """Milliseconds of a later sweep, and of the whole run divided by its sweeps."""

    later: float
    whole: float


class _Contest:
    """Both on one graph."""

    def __init__(self, library: Path, spec: str, threads: int) -> None:
        self._program = load("pagerank")
        self._graph = Graph.read(spec, threads=threads)
        self._loop = Loop(library, self._graph, threads)
        self._threads = threads

    def warm_up(self) -> None:
        """Run both, and check that they compute the same ranks: else the comparison means nothing."""
        result = self._run()
        self._loop.sweep(SWEEPS)
        np.testing.assert_allclose(result.rank, self._loop.rank, rtol=1e-2, err_msg="the ranks differ")

    def ours(self) -> _Run:
        """A run of vlang."""
        result = self._run()
        later = median(row.seconds for row in result.history[EARLY:])
        return _Run(1e3 * later, 1e3 * result.seconds / result.rounds)

    def other(self) -> _Run:
        """A run of the C++ loop."""
        seconds = self._loop.sweep(SWEEPS)
        return _Run(1e3 * float(np.median(seconds[EARLY:])), 1e3 * float(seconds.mean()))

    def _run(self) -> Result:
        return self._program(self._graph, tol=0.0, max_rounds=SWEEPS, threads=self._threads)


def measure_sweeps(folder: Path, quick: bool, threads: int) -> Iterator[Figure]:
    """Two figures for each graph: a later sweep, and a whole run divided by its sweeps.

    A sweep of ours is a superstep as `history` has it. The whole run adds what binds the program to the graph and the
    test of `until` after each superstep; the C++ loop has neither.
    """
    library = Loop.build(folder)
    for spec in ("kron:16", "uniform:16") if quick else ("kron:20", "uniform:20"):
        yield from _figures(spec, _Contest(library, spec, threads), 3 if quick else 9)


def _figures(spec: str, contest: _Contest, rounds: int) -> Iterator[Figure]:
    contest.warm_up()
    later = alternate(lambda: contest.ours().later, lambda: contest.other().later, rounds)
    yield paired(f"PageRank sweep, {spec}", "ms", "C++ loop", TARGET, later)
    whole = alternate(lambda: contest.ours().whole, lambda: contest.other().whole, rounds)
    yield paired(f"PageRank run / sweeps, {spec}", "ms", "C++ loop", None, whole)
