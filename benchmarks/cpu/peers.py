"""Measure other graph systems on the same graphs, if they are installed. Each workload uses the fastest documented call
of a system.

The conversion of the graph is reported, but not part of the measured time. Results are compared with the results of
vlang.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar

from numpy.typing import NDArray

from benchmarks.cpu.conditions import package_version
from benchmarks.cpu.contests import Contest
from benchmarks.cpu.inputs import Input
from benchmarks.cpu.measure import alternate
from benchmarks.cpu.works import Work

__all__ = ["PACKAGES", "WIDTHS", "Calls", "PeerFigure", "measure_peers"]

Array = NDArray[Any]
Calls = Mapping[str, tuple[str, Callable[[], Any], Callable[[Any, Any], None]]]
"""By kind of work: the name of a call, the call, and a comparison of its values with ours.

The call of pagerank also returns the number of sweeps. The comparison raises AssertionError on a difference.
"""

PACKAGES = ("networkit", "igraph", "python-graphblas", "scipy")
WIDTHS = (17, 12, 17, 10, 10, 7, 28, 11, 5)


@dataclass(frozen=True)
class PeerFigure:
    """A measured call of a peer.

    Attributes:
        peer, work, graph: names.
        ours, other: milliseconds of a run; for pagerank, milliseconds of a sweep.
        ratio: ours / other.
        call: the name of the call.
        converted: seconds to convert the graph.
        agrees: whether the results are the same.
    """

    HEADER: ClassVar[tuple[str, ...]] = (
        "peer", "work", "graph", "ours", "peer's", "ratio", "what is called", "to convert", "same"
    )  # fmt: skip

    peer: str
    work: str
    graph: str
    ours: float
    other: float
    ratio: float
    call: str
    converted: float
    agrees: bool

    def cells(self) -> list[str]:
        """Return the cells of the row in the table."""
        return [self.peer, self.work, self.graph, f"{self.ours:.3g} ms", f"{self.other:.3g} ms", f"{self.ratio:.2f}",
                self.call, f"{self.converted:.2f} s", "yes" if self.agrees else "NO"]  # fmt: skip


def measure_peers(contests: Mapping[Work, Contest], given: Input, threads: int, rounds: int) -> Iterator[PeerFigure]:
    """Measure every installed peer on every workload for which the peer has a call.

    Args:
        contests: both sides of each workload.
        given: the graph.
        threads: how many threads to use.
        rounds: how often each side runs.
    """
    modules = {"networkit": "networkit", "igraph": "igraph", "python-graphblas": "graphblas", "scipy": "scipy"}
    for package in PACKAGES:
        if package_version(package) == "none":
            print(f"#   {package}: not installed")
            continue
        begin = time.perf_counter()
        calls: Calls = import_module(f"benchmarks.cpu.systems.{modules[package]}").calls(given, threads)
        converted = time.perf_counter() - begin
        for work, sides in contests.items():
            if work.kind in calls and work.sources == 1:
                yield _figure(f"{package} {package_version(package)}", work, sides, calls, threads, rounds, converted)


def _figure(
    peer: str, work: Work, sides: Contest, calls: Calls, threads: int, rounds: int, converted: float
) -> PeerFigure:
    name, call, same = calls[work.kind]

    def timed() -> float:
        begin = time.perf_counter()
        found = call()
        took = 1e3 * (time.perf_counter() - begin)
        return took / found[1] if work.kind == "pagerank" else took

    found = call()
    try:
        same(sides.ours(threads)[1], found[0] if work.kind == "pagerank" else found)
        agrees = True
    except AssertionError as error:
        print(f"#   {peer}, {work.name} on {work.graph}: {error}")
        agrees = False
    turns = alternate([lambda: sides.ours(threads)[0], timed], rounds)
    return PeerFigure(peer, work.name, work.graph, turns.median(0), turns.median(1), turns.ratio(0, 1), name, converted,
                      agrees)  # fmt: skip
