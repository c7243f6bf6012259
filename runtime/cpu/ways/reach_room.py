"""The scratch memory of a loop with a uniform frontier (`reach`). The graph keeps it for the next run.

On a graph of some thousand edges, allocating these arrays and storing their addresses takes longer than the supersteps.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.layouts.reach_words import (
    REACH_AHEAD,
    REACH_CONTROL,
    REACH_COUNTED,
    REACH_COUNTS,
    REACH_CREW,
    REACH_FINDERS,
    REACH_LEFT,
    REACH_LONG,
    REACH_LONGS,
    REACH_MARKS,
    REACH_PULL,
    REACH_QUEUES,
    REACH_RECORDS,
    REACH_ROOM,
    REACH_ROWS,
    REACH_VERTICES,
    REACH_WORDS,
)
from vlang.runtime.plan.plan import PAGE_OFFSETS, PAGE_TARGETS
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.memory import empty, zeros

__all__ = ["ROWS", "ReachRoom"]

ROWS = 4096
"""The maximum number of supersteps in a call. A run can be interrupted only between calls."""

_MOST_KEPT = 8 << 20  # bytes; on graphs that need more, allocation takes a small part of a run
_MOST_IDLE = 2  # for calls from several threads


class ReachRoom:
    """The arrays that the kernels of one loop share, and the table with their addresses.

    Args:
        n: the number of vertices.
        out: the lists along which the frontier pushes.
        threads: the number of threads of the run.
        narrow: the number of vertices and edges of a frontier below which queues are used.

    Attributes:
        bits: three bitmaps, uint64[n / 64]: the frontier, the next frontier, and the vertices not reached.
        table: uint64[REACH_WORDS].
        words: the words of `table`, which are stored one by one in a third of the time.
        counts, records, control, tasks, longs: see vlang.runtime.plan.layouts.reach_words.
    """

    def __init__(self, n: int, out: Adjacency, threads: int, narrow: int) -> None:
        words, crew = -(-n // 64), min(threads, REACH_CREW)
        self.bits = [empty(words, np.uint64) for _ in range(3)]
        self.longs = np.empty(2 * len(out) // REACH_LONG + 1, np.uint64)
        self.control = np.zeros(REACH_CONTROL, np.int64)
        self.counts, self.tasks = np.zeros(REACH_COUNTED, np.int64), np.zeros(2, np.int64)
        self.records = np.empty((ROWS, 2), np.int64)
        self.table = np.zeros(REACH_WORDS, np.uint64)
        self.words = self.table.data
        self._others: dict[int, NDArray[np.generic]] = {
            REACH_MARKS: zeros(threads * words, np.uint64),
            REACH_QUEUES: empty(2 * crew * narrow, np.uint32),
            REACH_ROWS: empty(2 * crew * 2 * (narrow + REACH_AHEAD), np.uint64),
            REACH_FINDERS: empty(n + 64 * (crew + 1) if crew > 1 else 0, np.uint8)}
        arrays = {REACH_LEFT: self.bits[2], REACH_LONGS: self.longs, REACH_COUNTS: self.counts,
                  REACH_RECORDS: self.records, **self._others}
        for word, array in arrays.items():
            self.words[word] = address_of(array)
        self.words[REACH_VERTICES], self.words[REACH_ROOM] = n, narrow
        self._kept = sum(array.nbytes for array in arrays.values()) <= _MOST_KEPT
        self._key = _key(threads, narrow)

    @property
    def marks(self) -> NDArray[np.uint64]:
        """The bitmaps of the workers, one after the other, all zero between two supersteps."""
        return self._others[REACH_MARKS].view(np.uint64)

    @staticmethod
    def taken(n: int, out: Adjacency, into: Adjacency, threads: int, narrow: int) -> ReachRoom:
        """Memory that an earlier run on this graph has left, or new memory.

        Args:
            n: the number of vertices.
            out: the lists along which the frontier pushes.
            into: the lists along which vertices gather.
            threads: the number of threads of the run.
            narrow: the number of vertices and edges of a frontier below which queues are used.

        Raises MemoryError.
        """
        idle: deque[ReachRoom] = out.derived(_key(threads, narrow), lambda: deque(maxlen=_MOST_IDLE))
        try:
            room = idle.pop()
        except IndexError:
            room = ReachRoom(n, out, threads, narrow)
        room.counts.fill(0)
        words = room.words
        words[PAGE_OFFSETS], words[PAGE_TARGETS] = out.addresses
        words[REACH_PULL + PAGE_OFFSETS], words[REACH_PULL + PAGE_TARGETS] = into.addresses
        return room

    def give_back(self, out: Adjacency) -> None:
        """Keep the memory for the next run, unless the memory is large or counts towards a budget.

        The loop has ended between two supersteps, where all bitmaps of the workers are zero (REACH_MARKS).
        """
        if self._kept and ledger.limit is None:
            out.derived(self._key, lambda: deque(maxlen=_MOST_IDLE)).append(self)


def _key(threads: int, narrow: int) -> tuple[str, int, int]:
    return "reach room", threads, narrow
