"""Measure reading text into in-edges and out-edges; compare with numpy.loadtxt and SciPy's conversions to CSR and CSC.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cpu.measure import Figure, alternate, paired
from benchmarks.cpu.text import Text
from vlang import Graph

__all__ = ["measure_reading"]

TARGET = 0.2


def measure_reading(text: Text, rounds: int, threads: int) -> Iterator[Figure]:
    """Yield the figure of a file that both sides read from the page cache of the system.

    vlang and the other reader must find the same number of vertices.
    """
    convert, against = _other()
    ours_of, other_of = _ours(text, threads), _theirs(text, convert)
    filled, theirs = ours_of()[1], other_of()[1]
    assert theirs in (filled, []), f"vertices with in- and out-edges: {filled}, and {theirs} by {against}"
    of_one = _ours(text, 1)
    found = alternate([lambda: ours_of()[0], lambda: other_of()[0], lambda: of_one()[0]], rounds)
    both = paired(f"text, {text.lines / 1e6:.1f} M edges, to both", "s", against, TARGET, found)
    yield replace(both, gain=found.ratio(2, 0) if threads > 1 else None)


def _ours(text: Text, threads: int) -> Callable[[], tuple[float, list[int]]]:
    def run() -> tuple[float, list[int]]:
        begin = time.perf_counter()
        graph = Graph.read(text.path, threads=threads)
        lists = [graph.adjacency(kind) for kind in ("in", "out")]
        seconds = time.perf_counter() - begin
        assert all(len(found) == text.lines for found in lists)
        return seconds, [_filled(found.offsets) for found in lists]

    return run


def _theirs(text: Text, convert: Callable[[Any], list[Any]]) -> Callable[[], tuple[float, list[int]]]:
    def run() -> tuple[float, list[int]]:
        begin = time.perf_counter()
        lists = convert(np.loadtxt(text.path, dtype=np.int64))
        return time.perf_counter() - begin, [_filled(found.indptr) for found in lists]

    return run


def _filled(offsets: NDArray[Any]) -> int:
    """Return the number of non-empty lists.

    No other count is the same on both sides, since SciPy sums parallel edges and has rows of unused ids.
    """
    return int(np.count_nonzero(offsets[1:] != offsets[:-1]))


def _other() -> tuple[Callable[[NDArray[Any]], list[Any]], str]:
    """Return the function that converts the array of loadtxt, and its name. Without SciPy the function converts
    nothing, which favours numpy.loadtxt.
    """
    try:
        from scipy.sparse import coo_matrix
    except ImportError:
        return (lambda pairs: []), "loadtxt alone"

    def convert(pairs: NDArray[Any]) -> list[Any]:
        rows = coo_matrix((np.ones(len(pairs), dtype=np.int32), (pairs[:, 1], pairs[:, 0]))).tocsr()
        return [rows, rows.tocsc()]

    return convert, "loadtxt + scipy"
