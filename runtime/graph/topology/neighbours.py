"""Simple undirected neighbour lists, and the number of common neighbours of the two ends of each edge.

The neighbours of the end with the higher degree are marked in a bitmap; then each neighbour of the other end is looked
up. So the cost of an edge is the smaller of the two degrees, and the cost of all M edges is O(M^1.5) (Chiba, Nishizeki:
Arboricity and subgraph listing algorithms, SIAM Journal on Computing 14, 1985). Each edge is processed once, by one
thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.topology.adjacency import Adjacency, frozen
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.transform import dropped, row_cuts
from vlang.runtime.threads.workers import on_threads

__all__ = ["Neighbours", "common_neighbours", "ordinals", "simple_neighbours"]

_PIECES = 32  # tasks per thread; tasks with equally many edges differ in cost


@dataclass(frozen=True)
class Neighbours:
    """The distinct neighbours of each vertex in either direction, without self-loops.

    `offsets` is uint64[n + 1]; `targets` is uint32, increasing in each row. Both arrays are read-only.
    """

    offsets: NDArray[np.uint64]
    targets: NDArray[np.uint32]


def simple_neighbours(both: Adjacency, threads: int) -> Neighbours:
    """The distinct neighbours of each vertex, from an adjacency of kind "both"; computed once per graph."""

    def make() -> Neighbours:
        rows, loops, parallel = dropped(Rows(both.offsets, both.targets, {}), True, True, True, None, threads)
        if not loops and not parallel:
            return Neighbours(both.offsets, both.targets)
        return Neighbours(frozen(rows.offsets), frozen(rows.targets))

    made: Neighbours = both.derived("neighbours", make)
    return made


def common_neighbours(both: Adjacency, adjacency: Adjacency, threads: int) -> NDArray[np.uint32]:
    """The number of common neighbours of the two ends of every entry of `adjacency`, uint32[entries].

    `both` is the adjacency of kind "both" of the same graph.
    """
    near = simple_neighbours(both, threads)
    values = both.derived("common", lambda: _of_edges(near, threads))
    if adjacency.targets is near.targets:
        return np.asarray(values)
    out = np.empty(len(adjacency), dtype=np.uint32)
    kernel = kernels("common")["spread"]

    def work(part: tuple[int, int]) -> None:
        kernel(near.offsets, near.targets, values, adjacency.offsets, adjacency.targets, *part, out)

    on_threads(threads, work, row_cuts(adjacency.offsets, threads * 4))
    return out


def ordinals(adjacency: Adjacency, threads: int) -> NDArray[np.uint32]:
    """For each entry of an adjacency, the number of entries before it in its row with the same neighbour, uint32."""
    out = np.empty(len(adjacency), dtype=np.uint32)
    kernel = kernels("rows")["ordinals"]
    on_threads(threads, lambda part: kernel(adjacency.offsets, adjacency.targets, *part, out),
               row_cuts(adjacency.offsets, threads * 4))
    return out


def _of_edges(near: Neighbours, threads: int) -> NDArray[np.uint32]:
    """The number of common neighbours of the ends of every entry of `near`, uint32[entries]."""
    out = np.zeros(len(near.targets), dtype=np.uint32)
    kernel = kernels("common")["common_of_edges"]
    bitmaps: list[NDArray[np.uint32]] = []  # bitmaps that no task is using

    def work(part: tuple[int, int]) -> None:
        try:
            bits = bitmaps.pop()
        except IndexError:
            bits = np.zeros((len(near.offsets) - 1 + 31) // 32, dtype=np.uint32)
        kernel(near.offsets, near.targets, *part, bits, out)
        bitmaps.append(bits)

    on_threads(threads, work, row_cuts(near.offsets, threads * _PIECES))
    return out
