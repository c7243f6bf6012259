"""An adjacency in cache blocks, which full sweeps read instead of its rows.

A *block* is a run of at most 2^16 consecutive destination vertices. It is the CPU counterpart of a shard of Garaph
(USENIX ATC'17, section 3). Inside a block, rows are sorted by length, the longest first (jagged diagonals: Saad,
"Krylov subspace methods on supercomputers", SIAM J. Sci. Stat. Comput. 10, 1989; in windows: Kreutzer et al., "A
unified sparse matrix data format", SISC 36, 2014). Rows whose lengths differ by less than a factor of two are
interleaved: the first BLOCK_GROUP edges of each row, then the next BLOCK_GROUP of each longer row, and so on.

This layout is fast for three reasons. Consecutive additions belong to different rows, so none waits for the result of
another. The branches at the ends of loops of equal length are predictable. And since neighbours are sorted, all rows of
a group read from about the same part of the array of messages at the same time. Every row keeps the order of its edges,
so sums have the same bits. Long vertices (see pages.py) are not in the blocks.
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
    BLOCK_GROUP,
    BLOCK_HIGH,
    BLOCK_LONG,
    BLOCK_LONG_END,
    BLOCK_LOW,
    BLOCK_MADE,
    BLOCK_MOST,
    BLOCK_ORDER,
    BLOCK_PLACES,
    BLOCK_RUNS,
    BLOCK_SENDERS,
    BLOCK_WORDS,
    PAGE_COLUMNS,
    SEGMENT,
)
from vlang.runtime.threads.workers import on_threads

__all__ = ["Blocks", "blocks_bytes"]

_PIECES = 12  # blocks per thread, so that the work is divided evenly
_LEAST_EDGES = 1 << 14


def blocks_bytes(edges: int, n: int) -> int:
    """Bytes of memory for blocks without columns, including the temporary arrays while they are cut."""
    return 4 * edges + 16 * n


@dataclass(frozen=True)
class Block:
    """The rows low..high-1 of an adjacency.

    Attributes:
        low, high: the first row of the block, and the end.
        start, end: the range of its edges in the arrays of all blocks.
        runs: uint32[R, 3], for each run of rows: the first place, the number of places, and the edges per place.
        order: uint16[rows], the row, relative to `low`, at each place of the order by length.
        places: uint16[rows], the place of each row.
    """

    low: int
    high: int
    start: int
    end: int
    runs: NDArray[np.uint32]
    order: NDArray[np.uint16]
    places: NDArray[np.uint16]


@dataclass(frozen=True)
class Blocks:
    """The blocks of one adjacency.

    Attributes:
        blocks: the blocks in the order of their rows.
        senders: uint32[edges], the neighbours, block by block.
        tasks: int64[B, 3], one task per block.
        longs: int64[B + 1], the index of the first long vertex of each block in the table of long vertices.
        threads: how many threads lay out columns.
    """

    blocks: tuple[Block, ...]
    senders: NDArray[np.uint32]
    tasks: NDArray[np.int64]
    longs: NDArray[np.int64]
    threads: int

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the blocks take, without columns."""
        return self.senders.nbytes + sum(b.runs.nbytes + b.order.nbytes + b.places.nbytes for b in self.blocks)

    @staticmethod
    def cut(pages: Pages, threads: int) -> Blocks:
        """Lay out an adjacency in blocks, by several threads in parallel.

        The number of blocks depends on the number of threads, but the result of a sweep does not.
        """
        adjacency, n = pages.adjacency, pages.n
        edges = np.zeros(n + 1, dtype=np.int64)
        degrees = np.diff(adjacency.offsets.view(np.int64))
        np.cumsum(np.where(degrees > SEGMENT, 0, degrees), out=edges[1:])
        cuts = _cuts(edges, max(_LEAST_EDGES, int(edges[-1]) // (_PIECES * threads)))
        spans = [(low, high, int(edges[low]), int(edges[high])) for low, high in pairwise(cuts.tolist())]
        blocks = tuple(on_threads(threads, lambda span: _jag(adjacency, *span), spans))
        numbers = np.arange(len(spans), dtype=np.int64)
        tasks = np.ascontiguousarray(np.stack([numbers, numbers, numbers], axis=1))
        senders = _lay_out(adjacency, adjacency.targets, blocks, threads)
        return Blocks(blocks, senders, tasks, np.searchsorted(pages.longs[:, 0], cuts), threads)

    def column(self, adjacency: Adjacency, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The values of an edge column in the order of the blocks, shape [edges in blocks]; computed once."""
        values = adjacency.column(name, dtype)
        made: NDArray[Any] = adjacency.derived(
            ("blocks", name, dtype), lambda: _lay_out(adjacency, values, self.blocks, self.threads))
        return made

    def table(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
        """The table that kernels read, uint64[B, BLOCK_WORDS].

        columns: arrays from `column`. The table holds their addresses, so the caller must keep the arrays alive.
        """
        table = np.zeros((len(self.blocks), BLOCK_WORDS), dtype=np.uint64)
        for row, block in zip(table, self.blocks):
            for word, array in ((BLOCK_SENDERS, self.senders), *enumerate(columns, PAGE_COLUMNS)):
                row[word] = array.ctypes.data + block.start * array.itemsize
            for word, array in ((BLOCK_RUNS, block.runs), (BLOCK_ORDER, block.order), (BLOCK_PLACES, block.places)):
                row[word] = array.ctypes.data
            row[[BLOCK_MADE, BLOCK_LOW, BLOCK_HIGH]] = len(block.runs), block.low, block.high
        table[:, BLOCK_LONG], table[:, BLOCK_LONG_END] = self.longs[:-1], self.longs[1:]
        return table


def _cuts(edges: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The first row of each block, and the end. A block has at most BLOCK_MOST vertices and about `most` edges."""
    n = len(edges) - 1
    cuts = [0]
    while cuts[-1] < n:
        by_edges = int(np.searchsorted(edges, edges[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(n, cuts[-1] + BLOCK_MOST, max(by_edges, cuts[-1] + 1)))
    return np.array(cuts, dtype=np.int64)


def _jag(adjacency: Adjacency, low: int, high: int, start: int, end: int) -> Block:
    """Build the block of the rows low..high-1, whose edges are start..end-1 in the arrays of all blocks."""
    counts = np.empty(SEGMENT + 2, np.int64)
    # An upper bound of the number of runs: each group of rows with lengths within a factor of two has its own runs.
    runs = np.empty((2 * SEGMENT + 64 * BLOCK_GROUP, 3), np.uint32)
    order, places = np.empty(high - low, np.uint16), np.empty(high - low, np.uint16)
    made = kernels("blocks", "u32")["jag"](
        adjacency.offsets, low, high, SEGMENT, BLOCK_GROUP, counts, order, places, runs)
    return Block(low, high, start, end, runs[:made].copy(), order, places)


def _lay_out(adjacency: Adjacency, values: NDArray[Any], blocks: Sequence[Block], threads: int) -> NDArray[Any]:
    """Edge values in the order of the blocks."""
    size = values.dtype.itemsize
    out = np.empty(blocks[-1].end if blocks else 0, values.dtype)  # a single array, for huge pages
    source, sink = values.view(f"u{size}"), out.view(f"u{size}")
    function = kernels("blocks", f"u{8 * size}")["lay"]

    def work(one: Block) -> None:
        function(adjacency.offsets, source, one.low, one.order, one.runs, len(one.runs),
                 np.zeros(one.high - one.low, np.uint32), sink[one.start : one.end])

    on_threads(threads, work, blocks)
    return out
