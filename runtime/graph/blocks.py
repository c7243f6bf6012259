"""An adjacency in cache blocks: what a full sweep over a large graph reads instead of the rows.

A *block* is a run of consecutive destination vertices whose accumulators stay in cache: the shard of Garaph (USENIX
ATC'17, section 3), on the CPU. Its edges stand in the order of their senders, each sender once, followed by its
destinations in the block as 15-bit numbers; a bit marks where the next sender begins. So a sweep reads two bytes an
edge, walks through the messages in order, and jumps only inside the block: partition-centric processing (Lakhotia,
Kannan, Prasanna, USENIX ATC'18, section 4), without its second copy of the messages. Long vertices (see pages) are not
in the blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.adjacency import Adjacency
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.pages import Pages
from vlang.runtime.graph.workers import on_threads
from vlang.runtime.kernelset import (
    BLOCK_ENTRIES,
    BLOCK_HIGH,
    BLOCK_LONG,
    BLOCK_LONG_END,
    BLOCK_LOW,
    BLOCK_PLACES,
    BLOCK_SENDERS,
    BLOCK_WORDS,
    PLACE_BITS,
    SEGMENT,
)

__all__ = ["Blocks"]

_PIECES = 64  # blocks at least, where there are edges enough, so that threads share them evenly
_SMALL_PIECES = 256  # where senders are hardly shared: the accumulators of a block then stay in the L1 cache
_SHARED = 0.6  # distinct senders for each edge of a block, below which larger blocks save more reading than that
_PROBED = 2  # blocks that are looked at to find out
_LEAST_EDGES = 1 << 14


@dataclass(frozen=True)
class Blocks:
    """The blocks of one adjacency.

    table: uint64[B, BLOCK_WORDS], what kernels read. tasks: int64[B, 3]. arrays: the places and senders behind it.
    """

    table: NDArray[np.uint64]
    tasks: NDArray[np.int64]
    arrays: tuple[tuple[NDArray[np.uint16], NDArray[np.uint32]], ...]

    @property
    def nbytes(self) -> int:
        """The memory that the blocks take."""
        return sum(places.nbytes + senders.nbytes for places, senders in self.arrays)

    @staticmethod
    def cut(pages: Pages, threads: int) -> Blocks:
        """Sort an adjacency into blocks, on several threads; the result does not depend on how many."""
        adjacency, n = pages.adjacency, pages.n
        offsets = adjacency.offsets.view(np.int64)
        edges = np.zeros(n + 1, dtype=np.int64)
        degrees = np.diff(offsets)
        np.cumsum(np.where(degrees > SEGMENT, 0, degrees), out=edges[1:])
        cuts = _cuts(edges, max(_LEAST_EDGES, int(edges[-1]) // _pieces(adjacency.targets, n)))
        sizes = np.diff(edges[cuts])
        room = _Room(adjacency, int(sizes.max(initial=0)), n)
        spans = list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), sizes.tolist()))
        shares = [spans[i::threads] for i in range(threads)]
        done = on_threads(threads, room.sort, shares)
        arrays = tuple(done[i % threads][i // threads] for i in range(len(spans)))
        table = np.zeros((len(spans), BLOCK_WORDS), dtype=np.uint64)
        table[:, BLOCK_PLACES] = [places.ctypes.data for places, _ in arrays]
        table[:, BLOCK_SENDERS] = [senders.ctypes.data for _, senders in arrays]
        table[:, BLOCK_ENTRIES] = sizes
        table[:, BLOCK_LOW], table[:, BLOCK_HIGH] = cuts[:-1], cuts[1:]
        between = np.searchsorted(pages.longs[:, 0], cuts)
        table[:, BLOCK_LONG], table[:, BLOCK_LONG_END] = between[:-1], between[1:]
        numbers = np.arange(len(spans), dtype=np.int64)
        return Blocks(table, np.ascontiguousarray(np.stack([numbers, numbers, numbers], axis=1)), arrays)


def _pieces(targets: NDArray[np.uint32], n: int) -> int:
    """Into how many blocks to cut, by how many edges of a block share their sender."""
    size = len(targets) // _PIECES
    if size < _LEAST_EDGES:
        return _PIECES
    step = len(targets) // _PROBED
    probes = [targets[begin : begin + size] for begin in range(step // 2, len(targets) - size, step)]
    senders = sum(np.count_nonzero(np.bincount(probe, minlength=n)) for probe in probes)
    return _SMALL_PIECES if senders > _SHARED * size * len(probes) else _PIECES


def _cuts(edges: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Where blocks begin, and the end: at most 2**PLACE_BITS vertices, and about `most` edges, each."""
    n = len(edges) - 1
    cuts = [0]
    while cuts[-1] < n:
        by_edges = int(np.searchsorted(edges, edges[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(n, cuts[-1] + (1 << PLACE_BITS), max(by_edges, cuts[-1] + 1)))
    return np.array(cuts, dtype=np.int64)


@dataclass(frozen=True)
class _Room:
    """Sorts blocks of at most `largest` edges."""

    adjacency: Adjacency
    largest: int
    n: int

    def sort(self, spans: list[tuple[int, int, int]]) -> list[tuple[NDArray[np.uint16], NDArray[np.uint32]]]:
        """The places and senders of each span (first vertex, end, edges)."""
        keys, others = np.empty(self.largest, np.uint64), np.empty(self.largest, np.uint64)
        senders = np.empty(self.largest, np.uint32)
        counts = np.empty(3 << 11, np.int64)  # neighbours have up to 32 bits, three digits of the sort
        function: Any = kernels("blocks")["sort_block"]
        result = []
        for low, high, size in spans:
            out = np.empty(size, np.uint16)
            found = function(self.adjacency.offsets, self.adjacency.targets, low, high, SEGMENT,
                             max(1, (self.n - 1).bit_length()), keys, others, counts, senders, out)
            result.append((out, senders[:found].copy()))
        return result
