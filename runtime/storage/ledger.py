"""The ledger of host memory: a count of the bytes of all large arrays, and the limit that the user has set.

A budget limits the anonymous and shared memory of a process. Reading, building, converting and running together take
less than the budget plus 64 MB. The 64 MB are reserved for the interpreter, LLVM and the stacks of threads.
Under a budget every large array is counted where NumPy allocates it (`vlang.runtime.storage.counted`). Without a budget
the modules `memory` and `passing` map memory themselves; under a budget they use NumPy's allocator. An allocation that
does not fit is refused. Without a budget nothing is counted.

Arrays that were allocated before the budget began, such as the results of earlier runs, belong to the caller and
do not count towards the budget.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.runtime.storage.available import in_bytes, memory_option
from vlang.runtime.storage.counted import LIMIT, PEAK, REFUSED, USED, WORDS, capsule_of, install, return_at_once

__all__ = ["Ledger", "budget", "ledger"]

_NO_LIMIT = 2**62


@dataclass
class Ledger:
    """The counters of this process. Threads may share the ledger: each change of a counter is an atomic operation.

    Attributes:
        apart: bytes in `used` that do not count towards the budgets in force, because they were allocated before these
            budgets began.
    """

    apart: int = 0

    _words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(WORDS, np.int64))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _limits: list[int] = field(default_factory=list)
    _native: tuple[object, object] | None = None  # the capsule and its handler, kept alive for the arrays that use them

    @property
    def limit(self) -> int | None:
        """The smallest budget in force, in bytes; None without a budget."""
        return min(self._limits, default=None)

    @property
    def used(self) -> int:
        """The number of bytes that are counted at present."""
        return int(self._words[USED])

    @property
    def peak(self) -> int:
        """The most bytes counted since the last budget began."""
        return int(self._words[PEAK])

    @property
    def left(self) -> int | None:
        """Bytes that may still be allocated; None without a budget."""
        return None if self.limit is None else max(0, self.limit + self.apart - self.used)

    @property
    def wanted(self) -> int:
        """The number of bytes that would be in use if the last refused allocation had succeeded."""
        return self.used - self.apart + int(self._words[REFUSED])

    def refusal(self) -> OutOfMemory:
        """The error for the last allocation that was refused."""
        more, left = in_bytes(int(self._words[REFUSED])), in_bytes(self.left or 0)
        return OutOfMemory(
            f"out of memory: {more} more are needed, and {left} of the budget of {in_bytes(self.limit or 0)} are left: "
            f"give {memory_option(self.wanted)} or more, or convert the graph to a page file, if it is none yet, since "
            "page files are streamed: vlang convert GRAPH OUT.vg")

    def given_back(self, nbytes: int) -> None:
        """Record that the caller has freed memory that counts towards the budgets in force, but was allocated before
        the budget began (`held` in `budget`).
        """
        with self._lock:
            if self._limits:
                self.apart += nbytes
                self._words[LIMIT] = min(self._limits) + self.apart

    def _begin(self, limit: int, held: int) -> tuple[int, object]:
        """Put a budget into force; returns the bytes that it added to `used`, and the return value of `install`."""
        return_at_once()
        with self._lock:
            if self._native is None:
                self._native = capsule_of(self._words)
            if not self._limits:
                self._words[PEAK] = self._words[USED]
                self.apart = max(0, self.used - held)
            more = max(0, held - (self.used - self.apart))
            self._limits.append(limit)
            self._words[LIMIT] = min(self._limits) + self.apart
            self._words[USED] += more
        return more, install(self._native[0])

    def _end(self, limit: int, more: int, before: object) -> None:
        install(before)
        with self._lock:
            self._words[USED] -= more
            self._limits.remove(limit)
            if not self._limits:
                self.apart = 0
            self._words[LIMIT] = min(self._limits, default=_NO_LIMIT - self.apart) + self.apart


ledger = Ledger()
"""The ledger of this process."""


@contextmanager
def budget(limit: int | None, held: int = 0) -> Iterator[Ledger]:
    """A context in which arrays of this thread, and of the tasks that it starts, count towards a budget.

    If several budgets are in force at a time, the smallest applies to all.

    Args:
        limit: the budget in bytes; None for no budget.
        held: bytes of arrays that exist already and count towards this budget.

    Raises OutOfMemory instead of the MemoryError of an allocation that does not fit.
    """
    if limit is None:
        yield ledger
        return
    more, before = ledger._begin(limit, held)
    try:
        yield ledger
    except OutOfMemory:
        raise
    except MemoryError as error:
        raise ledger.refusal() from error
    finally:
        ledger._end(limit, more, before)
