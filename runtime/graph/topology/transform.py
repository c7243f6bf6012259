"""Transformations of adjacency lists: merge, drop edges, expand to rows, renumber; also degrees and weights by rule."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.columns import Column, integer_dtype
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.topology.build import EdgeScan, Rows, build_rows, take
from vlang.runtime.threads.workers import cut, on_threads

__all__ = [
    "WeightRule", "count_loops", "degrees", "dropped", "excess", "listed_rows", "merged", "merged_values",
    "renumbered_rows", "row_cuts", "sort_key", "tallied",
]

CHUNK = 1 << 16

Array = NDArray[Any]


@dataclass(frozen=True)
class WeightRule:
    """Integer weights low + (31 u + 17 v) mod (high - low + 1), with u and v the dense numbers of the ends of an edge.

    In a directed graph u is the tail and v the head; in an undirected graph u is the smaller and v the larger number,
    so that both directions have the same weight.
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise GraphError(f"weights {self.low}..{self.high}: the first must not be larger than the second")
        if self.low < -(2**63) or self.high >= 2**63 or self.high - self.low >= 2**63 - 1:
            raise GraphError(f"weights {self.low}..{self.high} do not fit 64 bits")

    @property
    def column(self) -> Column:
        """The dtype and the bounds of the weights. The bounds need not occur as weights."""
        return Column(integer_dtype(self.low, self.high), self.low, self.high)

    def of_ends(self, src: Array, dst: Array, directed: bool) -> Array:
        """The weights of edges in the narrowest dtype, shape [E].

        `src` and `dst` are the tails and the heads, uint32[E].
        """
        one, other = (src, dst) if directed else (np.minimum(src, dst), np.maximum(src, dst))
        weights = 31 * one.astype(np.int64) + 17 * other.astype(np.int64)
        return (self.low + weights % (self.high - self.low + 1)).astype(self.column.dtype)

    def values(self, rows: Rows, kind: str, directed: bool, threads: int) -> Array:
        """The weights of all entries of adjacency lists, in the order of the entries and in the narrowest dtype, shape
        [entries].

        Args:
            rows: the adjacency lists.
            kind: "in" or "out".
            directed: whether the graph is directed.
            threads: how many threads to use.
        """
        out = np.empty(len(rows.targets), dtype=self.column.dtype)
        order = 2 if not directed else 0 if kind == "out" else 1
        span = self.high - self.low + 1

        def work(part: tuple[int, int]) -> None:
            buffer = np.empty(CHUNK, dtype=np.int64)
            for first in range(part[0], part[1], CHUNK):
                last = min(first + CHUNK, part[1])
                row = int(np.searchsorted(rows.offsets, np.uint64(first), side="right")) - 1
                kernels("rule")["rule"](rows.offsets, rows.targets, first, last, row, order, self.low, span, buffer)
                out[first:last] = buffer[: last - first]

        on_threads(threads, work, cut(len(out), threads))
        return out


def count_loops(rows: NDArray[np.uint32], others: NDArray[np.uint32], threads: int) -> int:
    """The number of edges e with rows[e] == others[e]."""
    kernel = kernels("rows")["loops"]
    return sum(on_threads(threads, lambda part: kernel(rows, others, *part), cut(len(rows), threads)))


def degrees(offsets: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """The lengths of rows, uint32[n]. Raises GraphError for a row of 2^32 entries or more."""
    lengths = np.diff(offsets)
    if len(lengths) and lengths.max() > np.uint64(2**32 - 1):
        raise GraphError(f"a vertex has {lengths.max()} edges; degrees go up to {2**32 - 1}")
    return lengths.astype(np.uint32)


def tallied(targets: NDArray[np.uint32], n: int, threads: int) -> NDArray[np.uint32]:
    """The number of entries with each of n vertices as target, uint32[n]. There must be fewer than 2^32 targets."""
    parts = cut(len(targets), threads)
    counts = np.zeros((max(1, len(parts)), n), dtype=np.uint32)
    kernel = kernels("rows")["tally"]
    on_threads(threads, lambda i: kernel(targets, *parts[i], counts[i]), range(len(parts)))
    total: NDArray[np.uint32] = counts[0] if len(counts) == 1 else counts.sum(axis=0, dtype=np.uint32)
    return total


def listed_rows(rows: Rows, threads: int) -> NDArray[np.uint32]:
    """The row of every entry, uint32[entries]."""
    out = np.empty(len(rows.targets), dtype=np.uint32)
    kernel = kernels("rows")["expand"]
    on_threads(threads, lambda part: kernel(rows.offsets, *part, out), row_cuts(rows.offsets, threads))
    return out


def renumbered_rows(rows: Rows, numbers: NDArray[np.uint32], threads: int) -> Rows:
    """Renumber the vertices: vertex v becomes vertex numbers[v]. Parallel edges keep their order.

    Args:
        rows: the adjacency lists, with their columns.
        numbers: uint32[n], a permutation.
        threads: how many threads to use.
    """
    scan = EdgeScan(numbers[listed_rows(rows, threads)], numbers[rows.targets], mirror=False)
    return build_rows(scan, len(numbers), rows.columns, threads)


def merged(incoming: Rows, outgoing: Rows, threads: int) -> Rows:
    """Merge in-edges and out-edges, without columns, into one row per vertex, sorted by neighbour, with in-edges first.
    """
    offsets = incoming.offsets + outgoing.offsets
    targets = merged_values(incoming, outgoing, incoming.targets, outgoing.targets, threads)
    return Rows(offsets, targets, {})


def merged_values(incoming: Rows, outgoing: Rows, first: Array, second: Array, threads: int) -> Array:
    """Merge the values of in-edges and out-edges into the order of `merged`.

    Args:
        incoming, outgoing: the adjacency lists.
        first, second: values of the in-edges and of the out-edges, with the same dtype.
        threads: how many threads to use.
    """
    bits = 8 * first.dtype.itemsize
    out = np.empty(len(first) + len(second), dtype=first.dtype)
    a, b, c = (values.view(f"u{bits // 8}") for values in (first, second, out))
    kernel = kernels("merge")[f"merge{bits}"]

    def work(part: tuple[int, int]) -> None:
        kernel(incoming.offsets, incoming.targets, outgoing.offsets, outgoing.targets, *part, a, b, c)

    on_threads(threads, work, row_cuts(incoming.offsets + outgoing.offsets, threads * 4))
    return out


def excess(
    offsets: NDArray[np.uint64], targets: NDArray[np.uint32], directed: bool, threads: int
) -> tuple[int, int]:
    """The numbers of self-loops and of parallel edges; an undirected edge is counted once.

    An edge is parallel if it repeats an earlier edge; a self-loop that does so is counted in both numbers.

    Args:
        offsets: uint64[n + 1], the first entry of each row, and the end.
        targets: uint32[entries], the neighbours.
        directed: whether the graph is directed, so that each edge has a single entry.
        threads: how many threads to use.
    """
    parts = row_cuts(offsets, threads * 4)
    found = np.zeros((max(1, len(parts)), 2), dtype=np.int64)
    count = kernels("rows")["count_excess"]

    def counted(i: int) -> None:
        count(offsets, targets, *parts[i], directed, found[i])

    on_threads(threads, counted, range(len(parts)))
    loops, parallel = found.sum(axis=0).tolist()
    return loops, parallel


def dropped(
    rows: Rows, loops: bool, parallel: bool, directed: bool, by: str | None, threads: int
) -> tuple[Rows, int, int]:
    """Drop self-loops, parallel edges or both.

    Args:
        rows: the adjacency lists.
        loops: whether to drop self-loops.
        parallel: whether to keep only one edge of a set of parallel edges.
        directed: whether the graph is directed; each dropped undirected edge is counted once.
        by: the column that decides which parallel edge stays: the first edge with the smallest value stays.
            If `by` is None, the first parallel edge stays.
        threads: how many threads to use.

    Returns:
        The remaining rows, the number of dropped self-loops, and the number of dropped parallel edges.
    """
    offsets = np.zeros_like(rows.offsets)
    parts = row_cuts(rows.offsets, threads * 4)
    gone = np.zeros((max(1, len(parts)), 2), dtype=np.int64)
    count = kernels("drop")["count_kept"]

    def counted(i: int) -> None:
        count(rows.offsets, rows.targets, *parts[i], loops, parallel, directed, offsets[1:], gone[i])

    on_threads(threads, counted, range(len(parts)))
    np.cumsum(offsets, out=offsets)
    picks = np.empty(int(offsets[-1]), dtype=np.int64)
    name, values = sort_key(None if by is None else rows.columns[by])
    pick = kernels("drop")[name]

    def picked(part: tuple[int, int]) -> None:
        pick(rows.offsets, rows.targets, *part, loops, parallel, offsets, picks, *values)

    on_threads(threads, picked, parts)
    kept = Rows(offsets, _taken(rows.targets, picks, threads), {})
    for column, values_ in rows.columns.items():
        kept.columns[column] = _taken(values_, picks, threads)
    lost = gone.sum(axis=0)
    return kept, int(lost[0]), int(lost[1])


def sort_key(values: Array | None) -> tuple[str, tuple[Array, ...]]:
    """The name of the kernel that compares values of this dtype, and the values converted for that kernel."""
    if values is None:
        return "pick_first", ()
    if values.dtype.kind == "f":
        return "pick_float", (values.astype(np.float64, copy=False),)
    if values.dtype == np.uint64:
        return "pick_int", ((values ^ np.uint64(1 << 63)).view(np.int64),)
    return "pick_int", (values.astype(np.int64, copy=False),)


def _taken(values: Array, picks: Array, threads: int) -> Array:
    out = np.empty(len(picks), dtype=values.dtype)
    take(values, picks, out, threads)
    return out


def row_cuts(offsets: NDArray[np.uint64], parts: int) -> list[tuple[int, int]]:
    """Divide the rows into consecutive ranges (first, end) with about equally many entries."""
    n = len(offsets) - 1
    ends = [last for _, last in cut(int(offsets[-1]), parts)][:-1]
    edges = [0, *(int(i) for i in np.searchsorted(offsets, np.array(ends, dtype=np.uint64))), n]
    return [(a, b) for a, b in pairwise(edges) if a < b]
