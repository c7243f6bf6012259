"""Simple undirected neighbour lists and, for each edge, the number of common neighbours of its two ends.

The neighbours of the end with the higher degree are marked in a bitmap; then each neighbour of the other end is looked
up. Therefore the cost of an edge is proportional to the smaller of the two degrees, and the cost of all M edges is
O(M^1.5) (Chiba, Nishizeki: Arboricity and subgraph listing algorithms, SIAM Journal on Computing 14, 1985). Each edge
is processed once, by one thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.topology.adjacency import Adjacency, frozen
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.transform import dropped, listed_rows, row_cuts
from vlang.runtime.threads.workers import on_threads

__all__ = ["Neighbours", "common_neighbours", "ordinals", "simple_neighbours", "sums_between"]

_PIECES = 32  # tasks per thread; tasks with equally many edges differ in cost


@dataclass(frozen=True)
class Neighbours:
    """The distinct neighbours of each vertex in either direction, without self-loops.

    `offsets` is uint64[n + 1]; `targets` is uint32, increasing in each row. The arrays `offsets` and `targets` are
    read-only.
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
    """For every entry of `adjacency`, the number of common neighbours of its two ends, uint32[entries].

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
    """For each entry of an adjacency, the number of earlier entries of the same row with the same neighbour, uint32."""
    out = np.empty(len(adjacency), dtype=np.uint32)
    kernel = kernels("rows")["ordinals"]
    on_threads(threads, lambda part: kernel(adjacency.offsets, adjacency.targets, *part, out),
               row_cuts(adjacency.offsets, threads * 4))
    return out


def sums_between(
    near: Neighbours, adjacency: Adjacency, values: NDArray[Any] | None, threads: int
) -> NDArray[Any]:
    """A leading 0, then one sum per entry (a, b) of `near`: the sum of `values` over the entries (a, b) of an
    adjacency.

    The sums have the dtype of `values`. Sums of floats are rounded once. Sums of integers are exact, or infinite if the
    type cannot hold the sum.

    Args:
        near: the distinct neighbours.
        adjacency: the adjacency of one direction.
        values: one number per entry of the adjacency; None counts the entries (uint32).
        threads: how many threads to use.
    """
    if len(near.targets) >= 1 << 32:
        raise GraphError("a program that reads edge columns between two vertices runs on less than 2^32 pairs of "
                         "neighbours")
    index = np.empty(len(adjacency), dtype=np.uint32)
    order = np.arange(len(near.targets), dtype=np.uint32)
    kernel = kernels("common")["spread"]
    on_threads(threads, lambda part: kernel(near.offsets, near.targets, order, adjacency.offsets, adjacency.targets,
                                            *part, index), row_cuts(adjacency.offsets, threads * 4))
    kept = listed_rows(Rows(adjacency.offsets, adjacency.targets, {}), threads) != adjacency.targets
    if values is None:
        return np.concatenate([[0], np.bincount(index[kept], minlength=len(order))]).astype(np.uint32)
    return np.concatenate([np.zeros(1, values.dtype), _summed(values[kept], index[kept], len(order))])


def _summed(values: NDArray[Any], index: NDArray[np.uint32], n: int) -> NDArray[Any]:
    """For each index in 0..n-1, the sum of the values with this index, in the dtype of the values.

    Integers are added as halves of 32 bits. A float64 holds the sum of up to 2^21 halves exactly.
    """
    def added(terms: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(index, weights=terms.astype(np.float64), minlength=n), np.float64)

    dtype = values.dtype
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return added(values).astype(dtype)
    half = dtype.type(32) if dtype.itemsize == 8 else None
    upper = values >> half if half is not None else np.zeros_like(values)
    lower = (values & dtype.type(0xFFFFFFFF)) if half is not None else values
    low = added(lower).astype(np.int64)
    high = added(upper).astype(np.int64) + (low >> 32)
    limits = np.iinfo(dtype)
    most, least = limits.max >> 32, limits.min >> 32
    if half is None:
        total = np.clip(low, limits.min, limits.max).astype(dtype)
    else:
        rest = (low & 0xFFFFFFFF).astype(np.uint64)
        total = ((high.astype(np.uint64) << np.uint64(32)) | rest).view(dtype)
        total = np.where(high > most, dtype.type(limits.max), np.where(high < least, dtype.type(limits.min), total))
    if dtype.kind == "i":
        for infinite in (limits.min, limits.max):
            total[index[values == infinite]] = infinite
    return np.asarray(total)


def _of_edges(near: Neighbours, threads: int) -> NDArray[np.uint32]:
    """For every entry of `near`, the number of common neighbours of its two ends, uint32[entries]."""
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
