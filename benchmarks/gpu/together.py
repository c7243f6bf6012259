"""Compare runs by `Program.map`, which share passes on a GPU, with the same runs one after the other.

Usage: `python benchmarks/gpu/together.py [--graph rmat22] [--runs 64] [--turns 3] [--quick]`.

The edges stay on the device, and kernels are compiled before the first turn. Runs of both kinds alternate. The script
prints for each program the median seconds of the runs alone and together, their ratio, and what `Result.together`
says; it ends with an error if a result has other bits. Searches (`bfs`) do not share passes on a GPU: their two columns
should be equal.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

import vlang
from benchmarks.gpu import inputs
from vlang import Graph, Program, Result

ROUNDS = 20
"""The supersteps of a personalised PageRank."""


def _alone(program: Program, graph: Graph, series: dict[str, list[Any]], options: dict[str, Any]) -> list[Result]:
    return [program(graph, **dict(zip(series, row)), **options) for row in zip(*series.values())]


def _together(program: Program, graph: Graph, series: dict[str, list[Any]], options: dict[str, Any]) -> list[Result]:
    return list(program.map(graph, **series, **options))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="rmat22")
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--quick", action="store_true", help="small graphs")
    asked = parser.parse_args()
    graph = inputs.build(asked.graph, asked.quick).graph
    ids = graph.ids.values[np.flatnonzero(graph.row_lengths("out"))]
    chosen = np.random.default_rng(1).choice(ids, asked.runs, replace=False).tolist()
    for name, series, more in (("ppr", {"seeds": [[one] for one in chosen]}, {"max_rounds": ROUNDS}),
                               ("bfs", {"source": chosen}, {})):
        program, options = vlang.load(name), {"device": asked.device, **more}
        ways = _alone, _together
        first = [way(program, graph, series, options) for way in ways]  # compiles, and copies the edges
        for one, other in zip(*first):
            for field in one.fields:
                if one[field].tobytes() != other[field].tobytes():
                    raise SystemExit(f"{name}: `{field}` differs")
        taken: list[list[float]] = [[], []]
        said = first[1][-1].together
        for _ in range(asked.turns):
            for way, times in zip(ways, taken):
                begin = time.perf_counter()
                said = way(program, graph, series, options)[-1].together or said
                times.append(time.perf_counter() - begin)
        alone, shared = map(statistics.median, taken)
        print(f"{asked.graph} {name:4} {asked.runs} runs: alone {alone:.3f} s, together {shared:.3f} s, "
              f"{alone / shared:.2f} times; {said}", flush=True)


if __name__ == "__main__":
    main()
