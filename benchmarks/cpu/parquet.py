"""Measure reading a graph from Parquet; compare with reading the file by pyarrow, and with reading the same graph from
text.

Usage: `python benchmarks/cpu/parquet.py [MILLIONS_OF_EDGES] [TURNS]`.

The edges are uniform, with an int32 weight, in row groups of 2^20 rows. Each turn measures all readers; medians are
printed. Reading text scans the lines first. `build` is the time after the scan, in which vertices are numbered and
adjacency lists are built.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from vlang.runtime.graph.graph import Graph


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main(millions: float, turns: int) -> None:
    """Print the medians."""
    rng = np.random.default_rng(1)
    count = int(millions * 1e6)
    n = count // 16
    columns: dict[str, Any] = {"source": rng.integers(0, n, count), "target": rng.integers(0, n, count),
               "weight": rng.integers(1, 100, count, dtype=np.int32)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        pyarrow.parquet.write_table(pyarrow.table(columns), path, row_group_size=1 << 20)
        ways: dict[str, Callable[[], object]] = {
            "pyarrow read": lambda: pyarrow.parquet.read_table(path),
            "build": lambda: Graph.from_edges(columns["source"], columns["target"],
                                              weight=columns["weight"]).adjacency("in", ["weight"]),
            "parquet to graph": lambda: Graph.read(path).adjacency("in", ["weight"]),
        }  # fmt: skip
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(turns + 1):
            for name, way in ways.items():
                seconds = _seconds(way)
                if turn:
                    taken[name].append(seconds)
    found = {name: statistics.median(each) for name, each in taken.items()}
    for name, seconds in found.items():
        print(f"{name:18} {seconds:.3f} s")
    limit = found["pyarrow read"] + 1.3 * found["build"]
    print(f"{'ratio':18} {found['parquet to graph'] / limit:.2f} of read + 1.3 x build ({limit:.3f} s)")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 16, int(sys.argv[2]) if len(sys.argv) > 2 else 5)
