"""An adjacency in 2-D cache blocks, which full sweeps read instead of its rows.

A *strip* is a run of at most 2^16 consecutive destinations, and a *block* has its edges from one range of 2^16 senders.
One worker processes a strip, block by block: the accumulators of the strip and the messages of the block stay in level
2 of the cache, and the numbers of rows and senders inside a block have 16 bits. This is the CPU counterpart of a shard
of Garaph (USENIX ATC'17, section 3), cut by senders too (Zhang, Kiriansky, Mendis, Amarasinghe, Zaharia: Making caches
work for graph analytics, IEEE Big Data 2017).

In a block, rows with the same number of edges are together, in a *batch*. So the branch at the end of a row is
predictable, and loops over few edges have a fixed length. A row with more than BLOCK_SINGLE edges in a block has its
own batch. Neighbours are sorted, so a row has consecutive edges in each block, and the ranges of senders increase. So a
row takes its edges in their order, and sums have the same bits. Long vertices (see pages.py) are not in the blocks.

A *pair* is a row and a block in which it has edges. Each pair costs one read and one write of an accumulator, so blocks
pay if there are few pairs per edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.plan.plan import (
    BLOCK_BATCHES,
    BLOCK_HIGH,
    BLOCK_LONG,
    BLOCK_LONG_END,
    BLOCK_LOW,
    BLOCK_MADE,
    BLOCK_MOST,
    BLOCK_ROWS,
    BLOCK_SENDERS,
    BLOCK_SINGLE,
    BLOCK_WORDS,
    PAGE_COLUMNS,
    SEGMENT,
)
from vlang.runtime.threads.workers import on_threads

__all__ = ["Blocks", "Cuts", "blocks_bytes"]

_STRIPS = 16  # about how many strips a graph has at least, so that the work is divided evenly
_PER_THREAD = 4  # strips per thread
_LEAST_COST = 1 << 14  # edges and rows of a strip

Int64s = NDArray[np.int64]


def blocks_bytes(edges: int, n: int) -> int:
    """Bytes of memory for blocks without columns, including the temporary arrays while they are laid out.

    At most: 2 bytes for each edge, 2 for each pair, and the batches.
    """
    return 4 * edges + 16 * n


@dataclass(frozen=True)
class Cuts:
    """The strips of an adjacency and their pairs, which are counted before blocks are laid out.

    Attributes:
        adjacency: the edges.
        rows: int64[S + 1], the first row of each strip, and the end.
        edges: int64[S + 1], the number of edges in earlier strips, without those of long vertices.
        longs: int64[S + 1], the index of the first long vertex of each strip in the table of long vertices.
        counts: int64[S, ranges of senders, BLOCK_SINGLE + 2], the pairs of each class (see the kernel `pairs`).
        threads: how many threads lay out blocks and columns.
    """

    adjacency: Adjacency
    rows: Int64s
    edges: Int64s
    longs: Int64s
    counts: tuple[Int64s, ...]
    threads: int

    @property
    def pairs(self) -> Int64s:
        """The number of pairs in each strip."""
        return np.array([int(counts[:, :-1].sum()) for counts in self.counts], np.int64)

    @staticmethod
    def of(pages: Pages, threads: int) -> Cuts:
        """Cut an adjacency into strips, and count their pairs, by several threads in parallel.

        The number of strips depends on the number of threads, but the result of a sweep does not.
        """
        adjacency, n = pages.adjacency, pages.n
        before = np.zeros(n + 1, dtype=np.int64)
        degrees = np.diff(adjacency.offsets.view(np.int64))
        np.cumsum(np.where(degrees > SEGMENT, 0, degrees), out=before[1:])
        costs = before + np.arange(n + 1)
        rows = _cuts(costs, max(_LEAST_COST, int(costs[-1]) // max(_STRIPS, _PER_THREAD * threads)))
        parts = -(-n // BLOCK_MOST)

        def count(strip: tuple[int, int]) -> Int64s:
            counts = np.zeros((parts, BLOCK_SINGLE + 2), np.int64)
            kernels("blocks", "u32")["pairs"](adjacency.offsets, adjacency.targets, *strip, SEGMENT, counts)
            return counts

        counts = on_threads(threads, count, list(pairwise(rows.tolist())))
        return Cuts(adjacency, rows, before[rows], np.searchsorted(pages.longs[:, 0], rows), tuple(counts), threads)


@dataclass(frozen=True)
class Blocks:
    """The blocks of one adjacency.

    Attributes:
        cuts: the strips.
        rows: uint16[pairs], the rows of all batches, strip by strip, relative to the first row of the strip.
        senders: uint16[edges], the neighbours, strip by strip, relative to the first sender of the block.
        batches: for each strip, uint32[B, 3]: the range of senders, the number of rows, and the edges of each row.
        tasks: int64[S, 3], one task per strip.
    """

    cuts: Cuts
    rows: NDArray[np.uint16]
    senders: NDArray[np.uint16]
    batches: tuple[NDArray[np.uint32], ...]
    tasks: Int64s

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the blocks take, without columns."""
        return self.senders.nbytes + self.rows.nbytes + sum(batches.nbytes for batches in self.batches)

    @staticmethod
    def lay_out(cuts: Cuts) -> Blocks:
        """Lay out blocks, by several threads in parallel."""
        adjacency, strips = cuts.adjacency, np.arange(len(cuts.counts), dtype=np.int64)
        firsts = np.concatenate([[0], np.cumsum(cuts.pairs)])
        rows = np.empty(int(firsts[-1]), np.uint16)  # single arrays, for huge pages
        senders = np.empty(int(cuts.edges[-1]), np.uint16)
        functions = kernels("blocks", "u32")

        def lay(strip: int) -> NDArray[np.uint32]:
            counts = cuts.counts[strip]
            made = int(np.count_nonzero(counts[:, :BLOCK_SINGLE]) + counts[:, BLOCK_SINGLE].sum())
            batches = np.empty((made, 3), np.uint32)
            functions["batches"](counts, len(counts), batches)
            functions["place"](
                adjacency.offsets, adjacency.targets, cuts.rows[strip], cuts.rows[strip + 1], SEGMENT,
                *_begins(batches, len(counts)), batches, rows[firsts[strip] : firsts[strip + 1]],
                senders[cuts.edges[strip] : cuts.edges[strip + 1]])
            return batches

        batches = on_threads(cuts.threads, lay, strips.tolist())
        tasks = np.ascontiguousarray(np.stack([strips, strips, strips], axis=1))
        return Blocks(cuts, rows, senders, tuple(batches), tasks)

    def column(self, adjacency: Adjacency, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The values of an edge column in the order of the blocks, shape [edges in blocks]; computed once."""
        values = adjacency.column(name, dtype)
        made: NDArray[Any] = adjacency.derived(("blocks", name, dtype), lambda: self.laid_out(values))
        return made

    def laid_out(self, values: NDArray[Any]) -> NDArray[Any]:
        """Edge values in the order of the blocks. values: one for each edge of the adjacency."""
        cuts, size = self.cuts, values.dtype.itemsize
        out = np.empty(int(cuts.edges[-1]), values.dtype)
        source, sink = values.view(f"u{size}"), out.view(f"u{size}")
        function = kernels("blocks", f"u{8 * size}")["lay"]

        def lay(strip: int) -> None:
            _, edges, _ = _begins(self.batches[strip], len(cuts.counts[strip]))
            function(cuts.adjacency.offsets, cuts.adjacency.targets, source, cuts.rows[strip], cuts.rows[strip + 1],
                     SEGMENT, edges, sink[cuts.edges[strip] : cuts.edges[strip + 1]])

        on_threads(cuts.threads, lay, range(len(self.batches)))
        return out

    def table(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
        """The table that kernels read, uint64[S, BLOCK_WORDS].

        columns: arrays from `column`. The table holds their addresses, so the caller must keep the arrays alive.
        """
        cuts, table = self.cuts, np.zeros((len(self.batches), BLOCK_WORDS), dtype=np.uint64)
        firsts = np.concatenate([[0], np.cumsum(cuts.pairs)])[:-1]
        table[:, BLOCK_ROWS] = self.rows.ctypes.data + firsts * self.rows.itemsize
        for word, array in ((BLOCK_SENDERS, self.senders), *enumerate(columns, PAGE_COLUMNS)):
            table[:, word] = array.ctypes.data + cuts.edges[:-1] * array.itemsize
        table[:, BLOCK_BATCHES] = [batches.ctypes.data for batches in self.batches]
        table[:, BLOCK_MADE] = [len(batches) for batches in self.batches]
        table[:, BLOCK_LOW], table[:, BLOCK_HIGH] = cuts.rows[:-1], cuts.rows[1:]
        table[:, BLOCK_LONG], table[:, BLOCK_LONG_END] = cuts.longs[:-1], cuts.longs[1:]
        return table


def _cuts(costs: Int64s, most: int) -> Int64s:
    """The first row of each strip, and the end. A strip has at most BLOCK_MOST rows, and costs about `most`."""
    n = len(costs) - 1
    cuts = [0]
    while cuts[-1] < n:
        by_cost = int(np.searchsorted(costs, costs[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(n, cuts[-1] + BLOCK_MOST, max(by_cost, cuts[-1] + 1)))
    return np.array(cuts, dtype=np.int64)


def _begins(batches: NDArray[np.uint32], parts: int) -> tuple[Int64s, Int64s, Int64s]:
    """Where the places, the edges and the single batches of each of `parts` ranges of senders begin in a strip."""
    places, edges, singles = (np.zeros(size, np.int64) for size in (parts * (BLOCK_SINGLE + 1),) * 2 + (parts,))
    kernels("blocks", "u32")["begins"](batches, len(batches), places, edges, singles)
    return places, edges, singles
