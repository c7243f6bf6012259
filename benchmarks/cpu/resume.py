"""Measure programs that resume after edges were added or removed (rule I); compare with complete runs on the new graph.

Usage: `python benchmarks/cpu/resume.py [--graph kron:18] [--share 0.001] [--rounds 5]`.

Both sides are warm: programs are compiled, and the adjacency lists of the old graph are built. The time to resume
includes merging the edges into these lists. Building the graph from all its edges is a separate row.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vlang import Graph, Result, load


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--graph", default="kron:18")
    parser.add_argument("--share", type=float, default=0.001, help="of the edges that are added or removed")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    whole = Graph.read(options.graph, weights="1..255", self_loops="drop", parallel="drop").edges()  # for `kcore`
    count = max(1, int(options.share * len(whole.src)))
    order = np.random.default_rng(1).permutation(len(whole.src))
    kept, rest = np.sort(order[count:]), order[:count]
    weight = whole.columns["weight"]
    old = Graph.from_edges(whole.src[kept], whole.dst[kept], n=len(whole.ids), directed=whole.directed,
                           weight=weight[kept])
    added = {"src": whole.src[rest], "dst": whole.dst[rest], "weight": weight[rest]}
    removed = np.stack([whole.src[kept[:count]], whole.dst[kept[:count]]], axis=1)
    hub = int(np.argmax(old.out_degree))
    print(f"{old}; {count:,} edges added or removed")
    merged, anew = _timed([lambda: old.changed(added), lambda: _anew(whole, weight)], options.rounds)
    print(f"{'the graph':<16}{_times(merged, anew)}")
    works: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "bfs": ({"source": hub}, {"added": added}), "sssp": ({"source": hub}, {"added": added}),
        "components": ({}, {"added": added}), "kcore": ({}, {"removed": removed}),
        "pagerank_delta": ({"tol": 1e-3}, {"added": added}),
    }  # fmt: skip
    for name, (params, change) in works.items():
        _work(name, old, params, change, options.rounds)


def _work(name: str, old: Graph, params: dict[str, Any], change: dict[str, Any], rounds: int) -> None:
    program = load(name)
    before = program(old, **params)
    warm = program.resume(before, **change)
    assert warm.graph is not None
    graph, cold = warm.graph, program(warm.graph, **params)
    for field in cold.fields:
        within = cold[field].dtype.kind == "f" and name == "pagerank_delta"
        assert np.allclose(warm[field], cold[field], rtol=0.05) if within else np.array_equal(warm[field], cold[field])
    times = _timed([lambda: program.resume(before, **change), lambda: program(graph, **params)], rounds)
    print(f"{name:<16}{_times(*times)}   supersteps alone {_ms(warm)} and {_ms(cold)}   "
          f"{warm.rounds} and {cold.rounds} of them, {warm.edges:,} and {cold.edges:,} edges")


def _anew(whole: Any, weight: Any) -> Graph:
    graph = Graph.from_edges(whole.src, whole.dst, n=len(whole.ids), directed=whole.directed, weight=weight)
    graph.adjacency("in")
    return graph


def _timed(sides: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Run both sides alternately, and return the median seconds of each side."""
    samples: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, found in zip(sides, samples):
            begin = time.perf_counter()
            side()
            found.append(time.perf_counter() - begin)
    return [median(found) for found in samples]


def _times(ours: float, anew: float) -> str:
    return f"{1e3 * ours:8.1f} ms, anew {1e3 * anew:8.1f} ms"


def _ms(result: Result) -> str:
    return f"{1e3 * result.seconds:.1f} ms"


if __name__ == "__main__":
    main()
