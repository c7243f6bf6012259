"""Define for each kind of workload the call of vlang, the C++ reference, and the comparison of the two results."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cpu.inputs import Input
from benchmarks.cpu.references import References
from benchmarks.cpu.works import Work
from vlang import Graph, Program, Result, load
from vlang.runtime.graph.topology.build import Rows

__all__ = ["Contest", "Timed", "contest", "sweep_ms"]

Array = NDArray[Any]
Timed = tuple[float, Any]

SWEEPS = 20
EARLY = 3  # supersteps that the median leaves out, because the first ones do extra work
DELTAS = tuple(4.0**k for k in range(7, -1, -1))
WORSE = 2.0  # times the best time so far: a delta this slow ends the search, as smaller ones only add rounds


@dataclass(frozen=True)
class Contest:
    """The two programs that are compared on a workload.

    Attributes:
        against: the name of the other side.
        ours: ours(threads) gives milliseconds and the result.
        other: other() gives milliseconds and the result.
        same: raises AssertionError if the results differ.
    """

    against: str
    ours: Callable[[int], Timed]
    other: Callable[[], Timed]
    same: Callable[[Any, Any], None]


def contest(work: Work, given: Input, references: References, threads: int) -> Contest:
    """Prepare both sides of a workload on a graph. The preparation is not part of the measured time.

    Args:
        work: the workload.
        given: the graph.
        references: the C++ functions.
        threads: how many threads to use.
    """
    return _KINDS[work.kind](work, given, references, threads)


def sweep_ms(given: Input, references: References, threads: int, sweeps: int = 3) -> float:
    """Return the median milliseconds of one sweep of the C++ PageRank, which is the unit of the table.

    Args:
        given: the graph.
        references: the C++ functions.
        threads: how many threads to use.
        sweeps: how many to time.
    """
    return _cpp_ranks(given, references, threads, sweeps)[0]


@cache
def program(name: str) -> Program:
    """Return a program of the standard library."""
    return load(name)


def _call(name: str, graph: Graph, threads: int, **arguments: Any) -> tuple[float, Result]:
    """Return the milliseconds of the whole call, from reading arguments to the result."""
    begin = time.perf_counter()
    result = program(name)(graph, threads=threads, **arguments)
    return 1e3 * (time.perf_counter() - begin), result


def _exactly(ours: Array, other: Array) -> None:
    wrong = int((np.asarray(ours) != np.asarray(other)).sum())
    assert not wrong, f"{wrong} of {np.size(other)} values differ"


def _nearly(ours: Array, other: Array) -> None:
    np.testing.assert_allclose(ours, other, rtol=1e-3, atol=1e-3 * float(np.max(other)) / len(other))


def _pagerank(work: Work, given: Input, references: References, threads: int) -> Contest:
    """Compare the median time of a superstep with the median time of a C++ sweep. The first supersteps are left out."""

    def ours(threads: int) -> Timed:
        _, result = _call("pagerank", given.graph, threads, tol=0.0, max_rounds=SWEEPS)
        later = result.history[EARLY:] or result.history  # the ranks of a tiny graph converge sooner
        return 1e3 * median(row.seconds for row in later), result.rank

    return Contest("C++ loop", ours, lambda: _cpp_ranks(given, references, threads, SWEEPS), _nearly)


def _cpp_ranks(given: Input, references: References, threads: int, sweeps: int) -> Timed:
    n, into = given.graph.n, given.graph.adjacency("in")
    rank, share, seconds = np.full(n, 1 / n, np.float32), np.empty(n, np.float32), np.empty(sweeps)
    references.call(
        "pagerank", "pagerank_sweeps", into.offsets, into.targets, given.graph.out_degree, n, 0.85,
        ctypes.c_int(sweeps), rank, share, ctypes.c_int(threads), seconds,
    )  # fmt: skip
    return 1e3 * float(np.median(seconds[EARLY:] if sweeps > EARLY else seconds[1:])), rank


def _bfs(work: Work, given: Input, references: References, threads: int) -> Contest:
    """Compare with the faster of two C++ searches: one uses a queue only, the other is direction-optimising."""
    n, out, into = given.graph.n, given.graph.adjacency("out"), given.graph.adjacency("in")

    def run(function: str, *more: Array) -> Timed:
        depth = np.empty(n, np.int32)
        begin = time.perf_counter()
        references.call("bfs", function, out.offsets, out.targets, *more, n, ctypes.c_uint32(given.source), depth,
                        ctypes.c_int(threads))  # fmt: skip
        return 1e3 * (time.perf_counter() - begin), depth

    ways = {"C++ queue": lambda: run("bfs_queue"),
            "C++ both ways": lambda: run("bfs_both_ways", into.offsets, into.targets)}  # fmt: skip
    against = min(ways, key=lambda way: median(ways[way]()[0] for _ in range(3)))
    source = given.graph.label(given.source)

    def ours(threads: int) -> Timed:
        took, result = _call("bfs", given.graph, threads, source=source)
        return took, result.depth

    return Contest(against, ours, ways[against], _exactly)


def _sssp(work: Work, given: Input, references: References, threads: int) -> Contest:
    """Compare with delta-stepping in C++, run with the fastest delta."""
    n, out = given.graph.n, given.graph.adjacency("out")
    edges = np.empty(len(out), np.dtype([("to", np.uint32), ("weight", np.float32)]))
    edges["to"], edges["weight"] = out.targets, out.column("weight", np.float32)

    def other(delta: float) -> Timed:
        dist = np.empty(n, np.float32)
        begin = time.perf_counter()
        references.call("sssp", "sssp_delta", out.offsets, edges, n, ctypes.c_uint32(given.source), delta, dist,
                        ctypes.c_int(threads))  # fmt: skip
        return 1e3 * (time.perf_counter() - begin), dist

    best = _best_delta(lambda delta: min(other(delta)[0] for _ in range(2)))
    source = given.graph.label(given.source)

    def ours(threads: int) -> Timed:
        took, result = _call("sssp", given.graph, threads, source=source)
        return took, result.dist

    return Contest(f"C++ delta {best:g}", ours, lambda: other(best), _exactly)


def _best_delta(milliseconds: Callable[[float], float]) -> float:
    found: dict[float, float] = {}
    for delta in DELTAS:
        found[delta] = milliseconds(delta)
        if found[delta] > WORSE * min(found.values()):
            break
    return min(found, key=lambda delta: found[delta])


def _components(work: Work, given: Input, references: References, threads: int) -> Contest:
    n, both = given.graph.n, given.graph.adjacency("both")

    def other() -> Timed:
        label, seconds = np.empty(n, np.uint32), np.empty(1)
        references.call("components", "components", both.offsets, both.targets, n, label, ctypes.c_int(threads),
                        seconds)  # fmt: skip
        return 1e3 * float(seconds[0]), given.graph.ids.values[label]

    def ours(threads: int) -> Timed:
        took, result = _call("components", given.graph, threads)
        return took, result.label

    return Contest("C++ Afforest", ours, other, _exactly)


def _betweenness(work: Work, given: Input, references: References, threads: int) -> Contest:
    n, out = given.graph.n, given.graph.adjacency("out")
    most = np.argsort(-given.graph.out_degree.astype(np.int64), kind="stable")
    sources = np.ascontiguousarray(most[: work.sources], dtype=np.uint32)

    def other() -> Timed:
        score, seconds = np.empty(n, np.float32), np.empty(1)
        references.call("betweenness", "betweenness", out.offsets, out.targets, n, sources, len(sources), score,
                        ctypes.c_int(threads), seconds)  # fmt: skip
        return 1e3 * float(seconds[0]), score

    def ours(threads: int) -> Timed:
        took, result = _call("betweenness", given.graph, threads, sources=given.graph.ids.values[sources])
        return took, result.score

    return Contest("C++ Brandes", ours, other, _nearly)


def _triangles(work: Work, given: Input, references: References, threads: int) -> Contest:
    """Compare triangle counts. Each run has a new graph object, since a graph caches its numbers of common neighbours.
    """
    simple = given.graph.thinned("drop", "drop")
    lists = simple.adjacency("in")

    def other() -> Timed:
        seconds = np.empty(2)
        found = references.call("triangles", "triangles", lists.offsets, lists.targets, simple.n,
                                ctypes.c_int(threads), seconds)  # fmt: skip
        return 1e3 * float(seconds.sum()), found

    def ours(threads: int) -> Timed:
        fresh = Graph.from_rows("in", Rows(lists.offsets, lists.targets, {}), simple.ids, directed=False,
                                threads=threads)  # fmt: skip
        took, result = _call("triangles", fresh, threads)
        return took, result["total"]

    return Contest("C++ merge", ours, other, _exactly)


_KINDS: dict[str, Callable[[Work, Input, References, int], Contest]] = {
    "pagerank": _pagerank, "bfs": _bfs, "sssp": _sssp, "components": _components, "betweenness": _betweenness,
    "triangles": _triangles,
}  # fmt: skip
