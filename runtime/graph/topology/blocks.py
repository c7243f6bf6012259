"""An adjacency in 2-D cache blocks, which full sweeps read instead of its rows.

A *strip* is a run of at most 2^16 consecutive destinations, and a *block* has the edges of a strip from one range of
2^14 to 2^16 senders. One worker processes a strip, block by block. The accumulators of the strip stay in the level-2
cache, and the messages of the block stay in the caches of both levels. The numbers of rows and senders inside a block
have 16 bits. A strip is the CPU counterpart of a shard of Garaph (USENIX ATC'17, section 3). Strips are also cut by
senders (Zhang, Kiriansky, Mendis, Amarasinghe, Zaharia: Making caches work for graph analytics, IEEE Big Data 2017).

In a block, rows with the same number of edges are together, in a *batch*. Therefore the branch at the end of a row is
predictable, and loops over few edges have a fixed length. A row with more than BLOCK_SINGLE edges in a block has its
own batch. Neighbours are sorted, so a row has consecutive edges in each block, and the ranges of senders increase.
Therefore the edges of a row are processed in the same order as without blocks, and sums have the same bits. Long
vertices (see pages.py) are not in the blocks.

A *pair* is a row and a block in which the row has edges. Each pair costs one read and one write of an accumulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
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

__all__ = ["Blocks", "blocks_bytes"]

_STRIPS = 16  # approximate minimum number of strips, so that the work is divided evenly
_PER_THREAD = 4  # minimum number of strips per thread
_LEAST_COST = 1 << 14  # minimum number of edges plus rows of a strip
_SHIFTS = (14, 15)  # bits of a range of senders, if its blocks have enough edges
_LEAST_EDGES = 1 << 12  # minimum mean number of edges of such a block, because each block costs a few batches

Int64s = NDArray[np.int64]


def blocks_bytes(edges: int, n: int) -> int:
    """Bytes of memory for blocks without columns, including the temporary arrays while they are laid out.

    The result is an upper bound. The bound includes 2 bytes for each edge, 2 bytes for each pair, and the batches.
    """
    return 4 * edges + 16 * n


@dataclass(frozen=True)
class Strip:
    """The rows low..high-1 of an adjacency.

    Attributes:
        low, high: the first row of the strip, and the end.
        start, end: the range of the strip's edges in the arrays of all strips.
        batches: uint32[B, 3]: for each batch the first sender of its range, the number of rows, and the edges of each
            row.
        rows: uint16[pairs], the rows of all batches, relative to `low`.
    """

    low: int
    high: int
    start: int
    end: int
    batches: NDArray[np.uint32]
    rows: NDArray[np.uint16]


@dataclass(frozen=True)
class Blocks:
    """The blocks of one adjacency.

    Attributes:
        strips: the strips in the order of their rows.
        senders: uint16[edges], the neighbours, batch by batch, relative to the first sender of the block.
        tasks: int64[S, 3], one task per strip.
        longs: int64[S + 1], the index of the first long vertex of each strip in the table of long vertices.
        shift: a range has 2^shift senders.
        threads: how many threads lay out columns.
    """

    strips: tuple[Strip, ...]
    senders: NDArray[np.uint16]
    tasks: Int64s
    longs: Int64s
    shift: int
    threads: int

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the blocks take, without columns."""
        return self.senders.nbytes + sum(one.batches.nbytes + one.rows.nbytes for one in self.strips)

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return sum(len(one.rows) for one in self.strips)

    @staticmethod
    def cut(pages: Pages, threads: int, vertices: tuple[int, int] | None = None) -> Blocks:
        """Lay out an adjacency in blocks, by several threads in parallel.

        The number of strips depends on the number of threads, but the result of a sweep does not.

        Args:
            pages: the pages of the adjacency.
            threads: how many threads lay out blocks.
            vertices: the first row to lay out, and the end of the rows; None for all rows.
        """
        adjacency, n = pages.adjacency, pages.n
        edges = np.zeros(n + 1, dtype=np.int64)  # in place, as `blocks_bytes` counts two arrays of this size
        offsets, within = adjacency.offsets.view(np.int64), edges[1:]
        np.subtract(offsets[1:], offsets[:-1], out=within)
        within[within > SEGMENT] = 0
        np.cumsum(within, out=within)
        low, high = vertices or (0, n)
        costs = np.arange(high - low + 1)
        costs += edges[low : high + 1]
        cuts = low + _cuts(costs, max(_LEAST_COST, int(costs[-1]) // max(_STRIPS, _PER_THREAD * threads)))
        del costs
        spans = [(low, high, int(edges[low]), int(edges[high])) for low, high in pairwise(cuts.tolist())]
        senders = np.empty(int(edges[-1]), np.uint16)  # a single array, for huge pages
        shift = _shift(n, int(edges[high] - edges[low]), len(spans))
        strips = tuple(on_threads(threads, lambda span: _strip(adjacency, senders, shift, *span), spans))
        numbers = np.arange(len(spans), dtype=np.int64)
        tasks = np.ascontiguousarray(np.stack([numbers, numbers, numbers], axis=1))
        return Blocks(strips, senders, tasks, np.searchsorted(pages.longs[:, 0], cuts), shift, threads)

    def column(self, adjacency: Adjacency, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The values of an edge column in the order of the blocks, shape [edges in blocks]; computed once."""
        values = adjacency.column(name, dtype)
        made: NDArray[Any] = adjacency.derived(("blocks", name, dtype), lambda: self.laid_out(adjacency, values))
        return made

    def laid_out(self, adjacency: Adjacency, values: NDArray[Any]) -> NDArray[Any]:
        """Edge values in the order of the blocks. `values` has a value for each edge of the adjacency."""
        size = values.dtype.itemsize
        out = np.empty(len(self.senders), values.dtype)
        source, sink = values.view(f"u{size}"), out.view(f"u{size}")
        function = kernels("blocks", f"u{8 * size}")["lay"]

        def lay(strip: Strip) -> None:
            _, edges, _ = _begins(strip.batches, adjacency, self.shift)
            function(adjacency.offsets, adjacency.targets, source, strip.low, strip.high, SEGMENT, self.shift, edges,
                     sink[strip.start : strip.end])

        on_threads(self.threads, lay, self.strips)
        return out

    def table(self, columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
        """The table that kernels read, uint64[S, BLOCK_WORDS].

        `columns` are arrays that `column` returned. The table has the addresses of the arrays in `columns`, so the
        caller must keep them alive.
        """
        table = np.zeros((len(self.strips), BLOCK_WORDS), dtype=np.uint64)
        for row, strip in zip(table, self.strips):
            for word, array in ((BLOCK_SENDERS, self.senders), *enumerate(columns, PAGE_COLUMNS)):
                row[word] = array.ctypes.data + strip.start * array.itemsize
            row[[BLOCK_ROWS, BLOCK_BATCHES]] = strip.rows.ctypes.data, strip.batches.ctypes.data
            row[[BLOCK_MADE, BLOCK_LOW, BLOCK_HIGH]] = len(strip.batches), strip.low, strip.high
        table[:, BLOCK_LONG], table[:, BLOCK_LONG_END] = self.longs[:-1], self.longs[1:]
        return table


def _cuts(costs: Int64s, most: int) -> Int64s:
    """The first row of each strip, followed by the number of rows.

    A strip has at most BLOCK_MOST rows, and costs about `most`.
    """
    n = len(costs) - 1
    cuts = [0]
    while cuts[-1] < n:
        by_cost = int(np.searchsorted(costs, costs[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(n, cuts[-1] + BLOCK_MOST, max(by_cost, cuts[-1] + 1)))
    return np.array(cuts, dtype=np.int64)


def _shift(n: int, edges: int, strips: int) -> int:
    """Choose log2 of the number of senders in a range. Small ranges keep messages in cache, but blocks of a sparse
    graph need large ranges to have enough edges.
    """
    return next((bits for bits in _SHIFTS if edges >= strips * -(-n >> bits) * _LEAST_EDGES), 16)


def _strip(
    adjacency: Adjacency, senders: NDArray[np.uint16], shift: int, low: int, high: int, start: int, end: int
) -> Strip:
    """Lay out the strip of the rows low..high-1, whose edges are start..end-1 in the array of all senders."""
    functions, ranges = kernels("blocks", "u32"), _ranges(adjacency, shift)
    counts = np.zeros((ranges, BLOCK_SINGLE + 2), np.int64)
    functions["pairs"](adjacency.offsets, adjacency.targets, low, high, SEGMENT, shift, counts)
    made = int(np.count_nonzero(counts[:, :BLOCK_SINGLE]) + counts[:, BLOCK_SINGLE].sum())
    batches, rows = np.empty((made, 3), np.uint32), np.empty(int(counts[:, :-1].sum()), np.uint16)
    functions["batches"](counts, ranges, shift, batches)
    functions["place"](adjacency.offsets, adjacency.targets, low, high, SEGMENT, shift,
                       *_begins(batches, adjacency, shift), batches, rows, senders[start:end])
    return Strip(low, high, start, end, batches, rows)


def _ranges(adjacency: Adjacency, shift: int) -> int:
    """The number of ranges of 2^shift senders."""
    return -(-(len(adjacency.offsets) - 1) >> shift)


def _begins(batches: NDArray[np.uint32], adjacency: Adjacency, shift: int) -> tuple[Int64s, Int64s, Int64s]:
    """The first place and edge of each class in each range of senders, and the first batch that has a single row.
    """
    ranges = _ranges(adjacency, shift)
    places, edges = (np.zeros(ranges * (BLOCK_SINGLE + 1), np.int64) for _ in range(2))
    singles = np.zeros(ranges, np.int64)
    kernels("blocks", "u32")["begins"](batches, len(batches), shift, places, edges, singles)
    return places, edges, singles
