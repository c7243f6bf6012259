"""Gathers the rows of active vertices on the CPU into page-locked buffers. Each buffer is copied to the device as a
whole.

A batch is one filled buffer, which is copied as a whole into a slot of the topology. Like a page, a batch has a page
row and the arrays over edges. In addition, a batch has the position of each entry's edges. Several threads fill a
buffer while earlier buffers are being copied (Subway; HyTGraph's engine of compaction, ICDE 2023, section VI-C).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.gpu.device.device import Device, Event
from vlang.runtime.gpu.kernels.sparse_layout import CHUNK
from vlang.runtime.gpu.topology.footprint import Stored
from vlang.runtime.gpu.topology.transfers import Packing
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.plan.plan import ROW_BEGIN, ROW_COLUMNS, ROW_END, ROW_TARGETS, ROW_WORDS
from vlang.runtime.storage.memory import page_aligned
from vlang.runtime.threads.processors import available_threads

__all__ = ["Batch", "Packer"]

Uint64s = NDArray[np.uint64]

_BUFFERS = 3
_MOST = 16 << 20  # bytes of a buffer
_GROUP = 1024  # entries whose edges are counted together
_ALIGNED = 256  # bytes
_HEAD = 8 * ROW_WORDS


@dataclass(frozen=True)
class Batch:
    """A filled buffer.

    Attributes:
        begin, end: the range of the batch's entries in the slice of all packed entries, begin to end - 1.
        memory: the bytes to copy, uint8.
        places: the offset in `memory` of the positions of the entries' edges, u32.
        turn: the number of the buffer.
    """

    begin: int
    end: int
    memory: NDArray[np.uint8]
    places: int
    turn: int


class Packer:
    """Gathers rows of an adjacency in host memory for one `Use`.

    Args:
        device: the device that the rows are copied to.
        offsets: the offsets of the adjacency, uint64[n + 1].
        arrays: the arrays over edges that the `Use` lists: the neighbours, then the columns in the order of a row.
        slot_bytes: the size of a slot.

    Attributes:
        packing: the measured speed at which rows are gathered.

    Raises:
        MemoryError: there is no host memory for the buffers.
    """

    def __init__(self, device: Device, offsets: Uint64s, arrays: Sequence[Stored], slot_bytes: int) -> None:
        threads = available_threads()
        self._device, self._offsets, self._arrays, self._threads = device, offsets, arrays, threads
        self._each = sum(array.itemsize for array in arrays)
        self._size = min(slot_bytes, _MOST)
        self._fixed = _HEAD + _ALIGNED * (len(arrays) + 1)
        self._group = min(_GROUP, (self._size - self._fixed) // (4 + CHUNK * self._each))
        self._buffers = [page_aligned(self._size) for _ in range(_BUFFERS)]
        for buffer in self._buffers:
            device.register(buffer)
        self._copied: list[Event | None] = [None] * _BUFFERS
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="vlang-gather")
        self.packing = Packing.by(threads)

    @staticmethod
    def fits(arrays: Sequence[Stored], slot_bytes: int) -> bool:
        """Return whether a slot can hold at least one entry with the maximum number of edges."""
        each = sum(array.itemsize for array in arrays)
        return slot_bytes >= _HEAD + _ALIGNED * (len(arrays) + 1) + 4 + CHUNK * each

    def batches(self, entries: Uint64s) -> Iterator[Batch]:
        """Gather the rows of `entries`, and yield filled buffers; overwrites `entries`.

        The caller must call `copied` for a batch before it requests the next batch.
        """
        begin = time.perf_counter()
        sums = self._spans(entries)
        spent = time.perf_counter() - begin
        total = int(sums.sum())
        turn = first = 0
        while first < len(sums):
            last = self._end(sums, first, len(entries))
            before = self._copied[turn]
            if before is not None:
                self._device.reach(before)
            begin = time.perf_counter()
            batch = self._fill(entries, sums, first, last, turn)
            spent += time.perf_counter() - begin
            yield batch
            first, turn = last, (turn + 1) % _BUFFERS
        self.packing.learn(len(entries), total * self._each, spent)

    def copied(self, batch: Batch, event: Event) -> None:
        """Record an event after the copy of a batch."""
        self._copied[batch.turn] = event

    def aim(self, batch: Batch, slot: int) -> None:
        """Write the array addresses into the page row of a batch that will be copied to the device address `slot`."""
        row = batch.memory[:_HEAD].view(np.uint64)
        edges = int(row[ROW_END])
        at = batch.places + _aligned(4 * (batch.end - batch.begin))
        for number, array in enumerate(self._arrays):
            row[ROW_TARGETS if number == 0 else ROW_COLUMNS + number - 1] = slot + at
            at += _aligned(array.itemsize * edges)

    def close(self) -> None:
        """End the threads, and unlock the buffers after the queued copies."""
        self._pool.shutdown()
        for buffer in self._buffers:
            self._device.unregister(buffer)
        self._buffers.clear()

    # ---------------------------------------------------------------------------------------------------- batches
    def _spans(self, entries: Uint64s) -> NDArray[np.int64]:
        """Replace each entry by the range of its edges. Return the number of edges in each group of entries."""
        group, count = self._group, len(entries)
        sums = np.zeros(-(-count // group), np.int64)
        work = kernels("pack")["spans"]
        self._over(len(sums), lambda low, high: work(
            entries, low * group, min(count, high * group), self._offsets, group, sums))
        return sums

    def _end(self, sums: NDArray[np.int64], first: int, count: int) -> int:
        """Return the end of the groups from `first` on that together fit into one buffer; the result has at least one
        group.
        """
        ends = np.cumsum(sums[first:]) * self._each
        entries = np.minimum(count, self._group * np.arange(first + 1, len(sums) + 1)) - self._group * first
        return first + max(1, int(np.searchsorted(ends + 4 * entries, self._size - self._fixed, side="right")))

    def _fill(self, spans: Uint64s, sums: NDArray[np.int64], first: int, last: int, turn: int) -> Batch:
        """Gather the rows of the groups `first` to `last - 1` into buffer `turn`."""
        group, buffer = self._group, self._buffers[turn]
        begin, end = first * group, min(len(spans), last * group)
        before = np.cumsum(sums[first:last]) - sums[first:last]
        edges = int(sums[first:last].sum())
        row = buffer[:_HEAD].view(np.uint64)
        row[:] = 0
        row[ROW_BEGIN], row[ROW_END] = 0, edges
        at = _aligned(_HEAD)
        places = buffer[at : at + 4 * (end - begin)].view(np.uint32)
        places_at, at = at, at + _aligned(4 * (end - begin))
        targets = []
        for array in self._arrays:
            targets.append(buffer[at : at + array.itemsize * edges])
            at += _aligned(array.itemsize * edges)

        def gather(low: int, high: int) -> None:
            """Gather the rows of the groups `low` to `high - 1` of this batch."""
            lowest, highest, start = begin + low * group, min(end, begin + high * group), int(before[low])
            kernels("pack")["starts"](spans, lowest, highest, start, places[low * group :])
            for array, out in zip(self._arrays, targets):
                assert array.source is not None
                kind = f"u{array.itemsize}"
                kernels("pack")[f"pack{8 * array.itemsize}"](spans, lowest, highest, start,
                                                             array.source.view(kind), out.view(kind))

        self._over(last - first, gather)
        return Batch(begin, end, buffer[:at], places_at, turn)

    def _over(self, count: int, work: object) -> None:
        """Call work(low, high) for parts of range(count), on all threads."""
        assert callable(work)
        parts = max(1, min(count, 4 * self._threads))
        cuts = [count * part // parts for part in range(parts + 1)]
        if parts == 1:
            work(0, count)
            return
        for done in [self._pool.submit(work, low, high) for low, high in itertools.pairwise(cuts)]:
            done.result()


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
