"""An adjacency in cache blocks, which full sweeps read instead of its rows.

A *block* is a run of consecutive destination vertices, at most 2^16: a shard of Garaph (USENIX ATC'17, section 3), on
the CPU. Inside a block, rows are sorted by length, the longest first (jagged diagonals: Saad, "Krylov subspace methods
on supercomputers", SIAM J. Sci. Stat. Comput. 10, 1989; in windows: Kreutzer et al., "A unified sparse matrix data
format", SISC 36, 2014). Rows whose lengths differ by less than a factor of two are interleaved: the first BLOCK_GROUP
edges of each row, then the next BLOCK_GROUP of each longer row, and so on.

Why this is fast: consecutive sums belong to different rows and do not wait for each other. Loops of equal length have
predictable ends. As neighbours are in order, all rows have advanced about equally far through the messages, so that
reads stay close together. Every row keeps the order of its edges, so sums have the same bits. Long vertices (see pages)
are not in the blocks.
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

_PIECES = 12  # blocks for each thread, so that the work is divided evenly
_LEAST_EDGES = 1 << 14


def blocks_bytes(edges: int, n: int) -> int:
    """The memory that blocks take, in bytes, with what cutting them takes meanwhile; without columns."""
    return 4 * edges + 16 * n


@dataclass(frozen=True)
class Block:
    """The rows low..high-1 of an adjacency.

    Attributes:
        low, high: first row and end.
        start, end: the range of their edges among the edges of all blocks.
        runs: uint32[R, 3], first place, number of places, edges of each place.
        order: uint16[rows], the row at each place.
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
        blocks: in the order of their rows.
        senders: uint32[edges], block by block.
        tasks: int64[B, 3].
        longs: int64[B + 1], where the long vertices of each block begin in the table of long vertices.
        threads: how many threads lay out columns.
    """

    blocks: tuple[Block, ...]
    senders: NDArray[np.uint32]
    tasks: NDArray[np.int64]
    longs: NDArray[np.int64]
    threads: int

    @property
    def nbytes(self) -> int:
        """The memory of the blocks in bytes, without columns."""
        return self.senders.nbytes + sum(b.runs.nbytes + b.order.nbytes + b.places.nbytes for b in self.blocks)

    @staticmethod
    def cut(pages: Pages, threads: int) -> Blocks:
        """Lay out an adjacency in blocks, on several threads.

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

        columns: see `column`; the table has their addresses, so the caller keeps them alive.
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
    """The first row of each block, and the end: at most BLOCK_MOST vertices and about `most` edges a block."""
    n = len(edges) - 1
    cuts = [0]
    while cuts[-1] < n:
        by_edges = int(np.searchsorted(edges, edges[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(n, cuts[-1] + BLOCK_MOST, max(by_edges, cuts[-1] + 1)))
    return np.array(cuts, dtype=np.int64)


def _jag(adjacency: Adjacency, low: int, high: int, start: int, end: int) -> Block:
    """The block of the rows low..high-1."""
    counts = np.empty(SEGMENT + 2, np.int64)
    # An upper bound: each group of rows whose lengths differ by less than a factor of two has runs of its own.
    runs = np.empty((2 * SEGMENT + 64 * BLOCK_GROUP, 3), np.uint32)
    order, places = np.empty(high - low, np.uint16), np.empty(high - low, np.uint16)
    made = kernels("blocks", "u32")["jag"](
        adjacency.offsets, low, high, SEGMENT, BLOCK_GROUP, counts, order, places, runs)
    return Block(low, high, start, end, runs[:made].copy(), order, places)


def _lay_out(adjacency: Adjacency, values: NDArray[Any], blocks: Sequence[Block], threads: int) -> NDArray[Any]:
    """Edge values in the order of the blocks."""
    size = values.dtype.itemsize
    out = np.empty(blocks[-1].end if blocks else 0, values.dtype)  # one array, so that it lies in large pages
    source, sink = values.view(f"u{size}"), out.view(f"u{size}")
    function = kernels("blocks", f"u{8 * size}")["lay"]

    def work(one: Block) -> None:
        function(adjacency.offsets, source, one.low, one.order, one.runs, len(one.runs),
                 np.zeros(one.high - one.low, np.uint32), sink[one.start : one.end])

    on_threads(threads, work, blocks)
    return out
