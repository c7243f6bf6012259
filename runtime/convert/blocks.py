"""The blocks in which a radix sort keeps entries (see kernels/radix.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vlang.errors import InternalError

__all__ = ["Chains", "Int64s", "Read", "Scattered"]

_LINE = 8  # entries of a cache line

Int64s = NDArray[np.int64]


class Scattered:
    """The blocks to which one thread writes entries.

    Attributes:
        free, log, counts, cursors: int64, the arrays of kernels/radix.py.
        shifts: int64, the same, for entries with values.
    """

    def __init__(self, buckets: int, most: int, free: Int64s, size: int) -> None:
        """Begin with one block for each bucket.

        Args:
            buckets: the number of buckets.
            most: the number of all blocks.
            free: the free blocks, at least one for each bucket.
            size: entries of a block.

        All buckets fill at about the same rate. If their blocks began at the same place of a memory page, the cache
        lines that are written would be in a few sets of the cache. So each bucket begins at another line of its block.
        """
        self._size = size
        self.free, self.log = np.empty(most, np.int64), np.empty((most, 2), np.int64)
        self.counts = np.array([0, buckets])
        self.cursors = free[:buckets] + (_LINE * np.arange(buckets) + 1) % size
        self.log[:buckets, 0], self.log[:buckets, 1] = np.arange(buckets), self.cursors
        self.shifts = np.empty(0, np.int64)
        self.release(free[buckets:])

    @property
    def arrays(self) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        """The arguments `cursors`, `free`, `log` and `counts` of kernels."""
        return self.cursors, self.free, self.log, self.counts

    def release(self, blocks: Int64s) -> None:
        """Add free blocks."""
        count = int(self.counts[0])
        self.free[count : count + len(blocks)] = blocks
        self.counts[0] += len(blocks)

    def require(self, entries: int) -> None:
        """Raise InternalError if blocks may be missing to write this number of entries; kernels do not test it."""
        if self.counts[0] < entries // self._size + len(self.cursors):
            raise InternalError(f"{self.counts[0]} free blocks do not suffice for {entries} entries of a conversion")


class Chains:
    """The blocks of each bucket, in order, and the blocks that are free."""

    def __init__(self, outputs: Sequence[Scattered], buckets: int, size: int) -> None:
        logs = [output.log[: output.counts[1]] for output in outputs]
        log = np.concatenate(logs)
        order = np.argsort(log[:, 0], kind="stable")  # and so, in a bucket, by output and by use
        lengths = size - log[:, 1] % size
        begin = 0
        for output, used in zip(outputs, logs):
            last = np.empty(buckets, np.int64)
            last[used[:, 0]] = np.arange(begin, begin + len(used))  # the last assignment to an element wins
            lengths[last] = output.cursors - log[last, 1]
            begin += len(used)
        self.blocks, self.lengths = log[order, 1], lengths[order]
        self.begins = np.searchsorted(log[order, 0], np.arange(buckets + 1))
        self.free = np.concatenate([output.free[: output.counts[0]] for output in outputs])

    def of(self, bucket: int) -> tuple[Int64s, Int64s]:
        """The blocks of a bucket, and the number of entries of each block."""
        here = slice(*self.begins[bucket : bucket + 2].tolist())
        return self.blocks[here], self.lengths[here]


class Read:
    """The part of an array that one thread has read, as blocks that are free."""

    def __init__(self, array: NDArray[np.uint32], first: int, pool: NDArray[np.uint64], size: int) -> None:
        """Begin at element `first`. Blocks have `size` entries, and are relative to `pool`."""
        self._bytes = array.ctypes.data - pool.ctypes.data
        self._size = size
        self._next = -(-(self._bytes + 4 * first) // (8 * size)) * size

    def until(self, end: int) -> Int64s:
        """The further blocks before element `end`."""
        stop = (self._bytes + 4 * end) // (8 * self._size) * self._size
        blocks = np.arange(self._next, stop, self._size)
        self._next = max(self._next, stop)
        return blocks
