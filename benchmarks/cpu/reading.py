"""Text to in-adjacency, against numpy.loadtxt and scipy's conversion from coordinates to compressed rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cpu.measure import Figure, alternate, paired
from benchmarks.cpu.text import Text
from vlang import Graph

__all__ = ["measure_reading"]

TARGET = 0.5  # twice as fast


def measure_reading(text: Text, quick: bool, threads: int) -> Iterator[Figure]:
    """The figure for a file; both have it in the page cache, and both find the same number of edges."""
    convert, against = _other()

    def ours() -> float:
        begin = time.perf_counter()
        adjacency = Graph.read(text.path, threads=threads).adjacency("in")
        seconds = time.perf_counter() - begin
        assert len(adjacency) == text.lines
        return seconds

    def other() -> float:
        begin = time.perf_counter()
        convert(np.loadtxt(text.path, dtype=np.int64))
        return time.perf_counter() - begin

    ours()
    yield paired(f"text of {text.lines / 1e6:.1f} M edges to in-adjacency", "s", against, TARGET,
                 alternate(ours, other, 3 if quick else 5))  # fmt: skip


def _other() -> tuple[Callable[[NDArray[Any]], object], str]:
    """What follows loadtxt, and what to call it. Without scipy nothing does: a lead for the other side."""
    try:
        from scipy.sparse import coo_matrix
    except ImportError:
        return (lambda pairs: pairs), "numpy.loadtxt alone (no scipy)"

    def convert(pairs: NDArray[Any]) -> object:
        return coo_matrix((np.ones(len(pairs), dtype=np.int8), (pairs[:, 1], pairs[:, 0]))).tocsr()

    return convert, "loadtxt + scipy"
