"""Compare sweeps on a GPU with the product of a matrix and a vector by cuSPARSE.

Usage: `python benchmarks/gpu/product.py [--graphs rmat22,grid2000,...] [--quick]`.

For each graph the script measures three contestants, one after the other, in one process and on one device. The first
is the product of the matrix of weights (CSR, f32) and a vector by cuSPARSE, called through CuPy. The second is a vlang
program that only computes this product (`PRODUCT`). The third is a sweep of PageRank. The results of both products are
compared first. The script prints one line of milliseconds for each graph: cuSPARSE, the program, and their ratio;
PageRank and its bound; and the time of the gathers of all edges. The bound of PageRank is the product by cuSPARSE plus
two passes over the vertices. A pass over the vertices reads and writes 4 bytes per vertex at the measured rate of
copies.

Results are written to benchmarks/results (not with --quick).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.gpu import inputs, report
from benchmarks.gpu.limits import Limits, gather_seconds, measure_limits
from benchmarks.gpu.runs import program
from vlang import Graph, Program, compile

PRODUCT = """program product

edge weight: float

vertex x: float = 1

repeat 1000 times:
    gather all = sum(u.x * weight for u -> self)
    apply  x   = all * 0.00001 + iteration
"""
GRAPHS = ("rmat22", "rmat23", "urand22", "urand23", "grid2000")
FEW, MANY = 3, 23  # sweeps of two runs; the difference of their times gives the time of one sweep
REPEATS = 7
HEADER = ("graph", "cuSPARSE", "product", "ratio", "met", "pagerank", "bound", "ratio", "met", "gathers")
_WIDTHS = (10, 9, 9, 7, 5, 9, 9, 7, 5, 9)


@dataclass(frozen=True)
class Line:
    """The figures of one graph; times are milliseconds of a sweep, medians.

    Attributes:
        graph: the name of the graph.
        peer: the time of the product by cuSPARSE.
        product: the time of the vlang program that only computes the product.
        pagerank: the time of a sweep of PageRank.
        bound: the time of the product by cuSPARSE and of two passes over the vertices.
        gathers: the time of the gathers of all edges.
    """

    graph: str
    peer: float
    product: float
    pagerank: float
    bound: float
    gathers: float

    def cells(self) -> tuple[str, ...]:
        """Return the cells of the line."""
        return (self.graph, f"{self.peer:.3f}", f"{self.product:.3f}", f"{self.product / self.peer:.2f}",
                _met(self.product, self.peer), f"{self.pagerank:.3f}", f"{self.bound:.3f}",
                f"{self.pagerank / self.bound:.2f}", _met(self.pagerank, self.bound), f"{self.gathers:.3f}")


def _met(ours: float, most: float) -> str:
    return "yes" if ours <= most else "NO"


def sweep_ms(work: Program, graph: Graph, arguments: dict[str, Any]) -> Callable[[], float]:
    """Return a function that measures the milliseconds of one sweep."""
    def measured() -> float:
        few, many = (work(graph, device="gpu", max_rounds=rounds, **arguments) for rounds in (FEW, MANY))
        return (many.seconds - few.seconds) * 1e3 / (many.rounds - few.rounds)

    measured()  # compiles, and copies the graph to the device
    return measured


def peer_ms(graph: Graph, check: Any) -> Callable[[], float]:
    """Return a function that measures the milliseconds of one product by cuSPARSE.

    Args:
        graph: the graph whose in-edges are the entries of the matrix, with the values of the column `weight`.
        check: f32[n], the result of one sweep of `PRODUCT`.
    """
    import cupy
    from cupyx import cusparse
    from cupyx.scipy.sparse import csr_matrix

    side = graph.adjacency("in")
    offsets = side.offsets.astype(np.int32)
    parts = (side.column("weight", np.float32), side.targets.view(np.int32), offsets)
    matrix = csr_matrix(tuple(map(cupy.asarray, parts)), shape=(graph.n, graph.n))
    matrix.has_canonical_format = True  # parallel edges stay apart, as the product does not mind them
    x, y = cupy.ones(graph.n, cupy.float32), cupy.empty(graph.n, cupy.float32)
    cusparse.spmv(matrix, x, y)
    found = cupy.asnumpy(y).astype(np.float64) * 0.00001 + 1
    worst = float(np.max(np.abs(found - check) / found))
    assert worst < 1e-5, f"the products differ by {worst:.1e}"
    x[:] = cupy.random.random(graph.n, dtype=cupy.float32)  # zeros and ones may be faster

    def measured() -> float:
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(MANY):
            cusparse.spmv(matrix, x, y)
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) / MANY

    return measured


def line(name: str, limits: Limits, quick: bool) -> Line:
    """Measure one graph."""
    import cupy

    graph = inputs.build(name, quick).graph
    product = compile(PRODUCT)
    check = product(graph, device="gpu", max_rounds=1)["x"]
    sides = (peer_ms(graph, check), sweep_ms(product, graph, {}), sweep_ms(program("pagerank"), graph, {"tol": 0.0}))
    samples: list[list[float]] = [[], [], []]
    for turn in range(REPEATS):
        for at in (0, 1, 2) if turn % 2 == 0 else (2, 1, 0):
            samples[at].append(sides[at]())
    peer, ours, rank = map(median, samples)
    passes = 2 * 8 * graph.n / limits.copy * 1e3
    gathers = gather_seconds(graph.adjacency("in").targets, graph.n) * 1e3
    graph.release()
    cupy.get_default_memory_pool().free_all_blocks()
    return Line(name, peer, ours, rank, peer + passes, gathers)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default=",".join(GRAPHS), help="graphs, by comma")
    parser.add_argument("--quick", action="store_true", help="tiny graphs, nothing is written")
    options = parser.parse_args()
    before, limits = report.conditions("gpu"), measure_limits()
    print(f"# {before['gpu']}; {limits}")
    print(report.table_line(HEADER, _WIDTHS))
    lines = []
    for name in options.graphs.split(","):
        lines.append(line(name, limits, options.quick))
        print(report.table_line(lines[-1].cells(), _WIDTHS), flush=True)
    if not options.quick:
        print(f"# written to {os.path.relpath(report.save(before, 'gpu-product', {'limits': vars(limits)}, lines))}")


if __name__ == "__main__":
    main()
