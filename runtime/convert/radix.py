"""Sorts the edges of both directions by distributing them to buckets of rows: a radix sort of edges on disk.

First the edges are written to buckets by source. The entries of a bucket fit in memory, where they are sorted by source
and then written to buckets by target. So the neighbours of each row of in-edges already increase in the order of these
entries, and sorting a bucket by row is enough. The finished in-edges are written to buckets by source again, in which
the neighbours increase as well. No two entries are compared, and the list of edges is read once. Each thread processes
a range of consecutive buckets, and the entries that the first thread writes come first.

Entries are kept in blocks. Blocks that have been read are used again. The list of edges is divided into blocks while it
is read, because memory that is touched for the first time costs the most. Columns of up to 8 bytes an edge move with
the entries (`radix_values.py`). All steps keep the order of entries with the same row and neighbour, so parallel edges
and their columns stay in the order of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.convert.blocks import Chains, Int64s, Read, Scattered
from vlang.runtime.convert.edges import Edges
from vlang.runtime.convert.radix_values import Values
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.paged.page_writer import PageWriter
from vlang.runtime.storage.disk_arrays import DiskArrays
from vlang.runtime.storage.memory import empty
from vlang.runtime.threads.workers import on_threads

__all__ = ["RadixSort", "Rows"]

_MIRROR, _NO_LOOPS, _VALUED = 1, 2, 4  # the same as in kernels/radix.py
_FINE = 1 << 15  # the same as in kernels/radix.py
_MOST_ENTRIES = 1 << 18  # entries of a bucket
_MOST_BUCKETS = 1 << 10
_LEAST_BLOCK, _MOST_BLOCK = 1 << 7, 1 << 15  # entries of a block
_CHUNK = 1 << 16  # edges that a thread reads at a time
_SPARE = 8  # blocks
_PARTIAL = 5  # blocks of each bucket and thread; see `_Blocks`

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Rows:
    """The rows of a direction, divided into buckets.

    Attributes:
        degrees: uint32[n], the length of each row.
        bounds: int64[B + 1], the first row of each bucket, and the end.
        starts: int64[B + 1], the number of entries before each bucket, and of all entries.
        buckets: uint16[G], see kernels/radix.py.
        grain: see kernels/radix.py.
    """

    degrees: NDArray[np.uint32]
    bounds: Int64s
    starts: Int64s
    buckets: NDArray[np.uint16]
    grain: int

    @staticmethod
    def cut(degrees: NDArray[np.uint32]) -> Rows:
        """Divide the rows into buckets of at most _MOST_ENTRIES entries, and as many rows. A bucket is larger if a
        group of rows has more entries, or if there would be too many buckets.
        """
        n = len(degrees)
        grain = max(0, (max(n, 1) - 1).bit_length() - 16)
        firsts = _first_rows(n, grain)
        ends = np.cumsum(np.add.reduceat(degrees, firsts, dtype=np.int64)) if n else np.zeros(0, np.int64)
        total = int(ends[-1]) if n else 0
        entries, rows = (max(_MOST_ENTRIES, -(-count // _MOST_BUCKETS)) for count in (total, n))
        after = np.append(firsts[1:], n)  # the end of each group
        group, groups = 0, [0]
        while group < len(firsts):
            before, first = int(ends[group - 1]) if group else 0, int(firsts[group])
            fit = min(np.searchsorted(ends, before + entries, side="right"),
                      np.searchsorted(after, first + rows, side="right"))  # fmt: skip
            group = max(group + 1, int(fit))
            groups.append(group)
        at = np.array(groups)
        buckets = np.repeat(np.arange(len(at) - 1), np.diff(at)).astype(np.uint16)
        bounds, starts = np.append(firsts, n)[at], np.append(0, ends)[at]
        return Rows(degrees, bounds.astype(np.int64), starts.astype(np.int64), buckets, grain)

    @property
    def count(self) -> int:
        """The number of buckets."""
        return len(self.bounds) - 1

    @property
    def largest(self) -> tuple[int, int]:
        """The most entries of a bucket, and the most rows of a bucket."""
        return int(np.diff(self.starts).max(initial=0)), int(np.diff(self.bounds).max(initial=0))

    def parts(self, threads: int) -> list[range]:
        """Divide the buckets into a range for each thread, with about equally many entries."""
        wanted = [int(self.starts[-1]) * i // threads for i in range(threads + 1)]
        cuts = np.searchsorted(self.starts, wanted)
        cuts[0], cuts[-1] = 0, self.count
        return [range(low, high) for low, high in zip(cuts[:-1].tolist(), cuts[1:].tolist())]


def _first_rows(n: int, grain: int) -> Int64s:
    """The first row of each group: groups of one row, and then groups of 2^grain rows (see kernels/radix.py)."""
    rows = np.arange(_FINE, 2 * _FINE + 2)
    coarse = rows[rows - (rows >> grain) > _FINE]
    if not grain or n <= coarse[0]:
        return np.arange(n, dtype=np.int64)
    last = _FINE + ((n - 1) >> grain)
    return np.concatenate([np.arange(coarse[0]), (np.arange(coarse[0], last + 1) - _FINE) << grain]).astype(np.int64)


@dataclass(frozen=True)
class _Blocks:
    """How many blocks there are.

    A thread has at most E / size + 2 blocks of a bucket with E entries, because the first and the last block need not
    be full. So after a round at least 3 blocks of each bucket and thread are free, and each thread gets an equal share.
    The next round begins with 1 of the 3. A thread frees the blocks of a bucket before it writes the entries, and has
    then used at most 1 further block of each bucket more than it has freed. So 1 of the 3 stays free, and a kernel
    never runs out of blocks (`Scattered.require`).

    Attributes:
        size: entries of a block.
        fresh: the number of blocks of the pool.
        all: an upper bound of the number of blocks, with the blocks in the list of edges.
    """

    size: int
    fresh: int
    all: int

    @staticmethod
    def of(edges: Edges, rows: dict[str, Rows], threads: int) -> _Blocks:
        """The blocks that suffice in every round."""
        total = len(edges.src) * (1 + edges.mirror)
        buckets = max(one.count for one in rows.values())
        size = 1 << min(max(total // (64 * threads * buckets), _LEAST_BLOCK), _MOST_BLOCK).bit_length() - 1
        spare = threads * (_PARTIAL * buckets + _CHUNK * (1 + edges.mirror) // size + _SPARE)
        most = -(-total // size) + spare
        fresh = most - len(edges.src) // size if _reusable(edges) else most
        return _Blocks(size, fresh, fresh + len(edges.src) // size + 2)


def _reusable(edges: Edges) -> bool:
    """Whether both arrays of edges, which are temporary, can be divided into blocks."""
    return not np.may_share_memory(edges.src, edges.dst) and all(
        ends.flags.c_contiguous for ends in (edges.src, edges.dst))


class RadixSort:
    """Sorts the entries of one graph and writes them to pages."""

    def __init__(self, edges: Edges, rows: dict[str, Rows], room: DiskArrays, threads: int) -> None:
        """Allocate the pool of blocks on disk.

        Args:
            edges: the edges; `Values.fit` must hold for their columns.
            rows: the rows of the directions that are stored, "in" and perhaps "out".
            room: allocates arrays on disk.
            threads: how many threads to use.
        """
        self._edges, self._rows, self._threads = edges, rows, threads
        self._by_source, self._by_target = rows.get("out", rows["in"]), rows["in"]
        self._blocks = _Blocks.of(edges, rows, threads)
        self._size = self._blocks.size
        self._pool = room.empty(self._blocks.fresh * self._size, np.uint64)
        self._values = None
        self._valued = _VALUED * bool(edges.columns)
        self._code = kernels("radix", f"u{8 * max(1, Values.width(edges.columns))}")
        if edges.columns:
            lists = (edges.src, edges.dst) if _reusable(edges) else ()
            self._values = Values(edges.columns, self._pool, lists, self._size, self._blocks.all, room)

    @staticmethod
    def need(edges: Edges, rows: dict[str, Rows], page: int, threads: int) -> int:
        """Bytes of memory, without the degrees and ranks of vertices.

        Args:
            edges, rows, threads: as for `RadixSort`.
            page: bytes of a page.
        """
        entries, most_rows = (max(one.largest[i] for one in rows.values()) for i in range(2))
        blocks = _Blocks.of(edges, rows, threads).all
        tables = sum(2 * len(one.buckets) + 64 * one.count for one in rows.values())
        width = Values.width(edges.columns)
        each = (4 + 2 * width) * entries + 4 * most_rows + 24 * blocks + (10 + 4 * width) * _CHUNK
        each += 8 * max(one.count for one in rows.values()) * (width > 0)
        return threads * each + 96 * blocks + tables + PageWriter.buffers(threads) * page

    def write(self, writer: PageWriter, ranks: NDArray[np.uint32] | None, progress: Progress) -> None:
        """Write the pages of all directions.

        Args:
            writer: receives the pages.
            ranks: uint32[n], the new number of each vertex; None if the numbers stay.
            progress: called with the finished fraction, 0 to 1.
        """
        chains = self._scattered(ranks)
        del ranks
        progress(0.2)
        chains = self._round(chains, self._by_source, self._by_target, None, lambda part: progress(0.2 + 0.2 * part))
        out = self._rows.get("out")
        writer.begin("in", self._by_target.degrees, self._threads)
        done = 0.4, (0.35 if out else 0.6)
        chains = self._round(chains, self._by_target, out, writer, lambda part: progress(done[0] + done[1] * part))
        writer.end()
        if out is not None:
            writer.begin("out", out.degrees, self._threads)
            self._round(chains, out, None, writer, lambda part: progress(0.75 + 0.25 * part))
            writer.end()

    def _scattered(self, ranks: NDArray[np.uint32] | None) -> Chains:
        """Write the edges to buckets by source."""
        edges, rows = self._edges, self._by_source
        flags = _MIRROR * edges.mirror | _NO_LOOPS * (not edges.loops) | self._valued
        count, size, reusable = len(edges.src), self._size, _reusable(edges)
        parts = [(count * i // self._threads, count * (i + 1) // self._threads) for i in range(self._threads)]
        free = np.array_split(np.arange(self._blocks.fresh) * size, self._threads)
        outputs = [self._output(rows.count, some) for some in free]
        code, values = self._code["scatter_edges"], self._values

        def scatter(thread: int) -> None:
            first, end = parts[thread]
            output = outputs[thread]
            sources, targets = np.empty((2, _CHUNK), np.uint32)
            read = [Read(ends, first, self._pool, size) for ends in (edges.src, edges.dst)] if reusable else []
            for low in range(first, end, _CHUNK):
                high = min(low + _CHUNK, end)
                sources[: high - low], targets[: high - low] = edges.src[low:high], edges.dst[low:high]
                given = None if values is None else values.pack(low, high)  # before the ends are overwritten
                for one in read:
                    output.release(one.until(high))
                if ranks is not None:  # in loops of their own, which halves the time
                    for ends in (sources, targets):
                        kernels("partition")["renumber"](ends, 0, high - low, ranks, ends)
                output.require((high - low) * (1 + edges.mirror))
                code(sources, targets, given, high - low, flags, rows.buckets, rows.grain, size - 1,
                     *output.arrays, self._pool, *self._beside(output))  # fmt: skip

        on_threads(self._threads, scatter, range(self._threads))
        return Chains(outputs, rows.count, size)

    def _output(self, buckets: int, free: Int64s) -> Scattered:
        output = Scattered(buckets, self._blocks.all, free, self._size)
        if self._values is not None:
            output.shifts = self._values.shifts(output.cursors)
        return output

    def _beside(self, output: Scattered) -> tuple[NDArray[Any] | None, ...]:
        """The arguments `spans`, `shifts` and `values` of kernels that write entries."""
        return (None,) * 3 if self._values is None else (self._values.spans, output.shifts, self._values.pool)

    def _round(self, chains: Chains, rows: Rows, others: Rows | None, writer: PageWriter | None, progress: Progress
               ) -> Chains:  # fmt: skip
        """Sort each bucket by row, write its rows to pages, and write the reverse of its edges to buckets.

        Args:
            chains: the blocks of the buckets.
            rows: the rows of the buckets.
            others: the buckets to which entries are written; None if this is the last round.
            writer: receives the rows; None if they are not written.
            progress: called with the finished fraction, 0 to 1.
        """
        free = np.array_split(chains.free, self._threads)
        outputs = [self._output(others.count if others else 0, some) for some in free]
        parts = rows.parts(self._threads)
        on_threads(self._threads, partial(self._serve, chains, rows, others, writer, outputs, parts, progress),
                   range(self._threads))  # fmt: skip
        return Chains(outputs, others.count if others else 0, self._size)

    def _serve(
        self, chains: Chains, rows: Rows, others: Rows | None, writer: PageWriter | None,
        outputs: Sequence[Scattered], parts: Sequence[range], progress: Progress, thread: int,
    ) -> None:  # fmt: skip
        """Process the buckets of one thread; arguments as for `_round`."""
        code, output, part, values = self._code, outputs[thread], parts[thread], self._values
        entries, most_rows = rows.largest
        words = None if values is None else empty(entries, values.pool.dtype)
        pool, spans = (None, None) if values is None else (values.pool, values.spans)
        targets, ends = empty(entries, np.uint32), empty(most_rows, np.uint32)
        for bucket in part:
            low, high = rows.bounds[bucket : bucket + 2].tolist()
            begin, end = rows.starts[bucket : bucket + 2].tolist()
            blocks, lengths = chains.of(bucket)
            code["sort_bucket"](self._pool, pool, spans, self._valued, blocks, lengths, len(blocks), rows.degrees, low,
                                high, ends, targets, words)  # fmt: skip
            output.release(blocks - blocks % self._size)
            if others is not None:
                output.require(end - begin)
                code["scatter_rows"](targets, words, self._valued, ends, low, high, others.buckets, others.grain,
                                     self._size - 1, *output.arrays, self._pool, *self._beside(output))  # fmt: skip
            if writer is not None:
                columns = () if values is None or words is None else values.unpack(words[: end - begin])
                writer.put(begin, targets[: end - begin], columns)
            if thread == 0:
                progress((bucket + 1 - part.start) / len(part))
