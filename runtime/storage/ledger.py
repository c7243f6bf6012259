"""The ledger of host memory: what arrays take, and the limit that a user has set.

A budget is a promise about the anonymous and shared memory of a process: reading, building, converting and running stay
below the budget and 64 MB, which are left to the interpreter, LLVM and the stacks of threads. Under a budget every
large array is counted where NumPy allocates it (`vlang.runtime.storage.counted`). `memory` and `passing`, which
otherwise map memory of their own, then use NumPy's. What does not fit is refused before it is allocated. Without a
budget nothing is counted.

Arrays from before a budget that are still alive, such as the results of earlier runs, are the caller's own: they lie
beside the budget, and not in it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.runtime.storage.available import in_bytes
from vlang.runtime.storage.counted import LIMIT, PEAK, REFUSED, USED, WORDS, capsule_of, install, return_at_once

__all__ = ["Ledger", "budget", "ledger"]

_NO_LIMIT = 2**62


@dataclass
class Ledger:
    """Counts of this process. Threads may share it: each change is one atomic operation.

    Attributes:
        apart: bytes that are counted, and lie beside the budgets in force.
    """

    apart: int = 0

    _words: NDArray[np.int64] = field(default_factory=lambda: np.zeros(WORDS, np.int64))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _limits: list[int] = field(default_factory=list)
    _native: tuple[object, object] | None = None  # the capsule and its handler, which live as long as arrays do

    @property
    def limit(self) -> int | None:
        """The smallest budget in force, in bytes; None without one."""
        return min(self._limits, default=None)

    @property
    def used(self) -> int:
        """Bytes counted now."""
        return int(self._words[USED])

    @property
    def peak(self) -> int:
        """The most bytes counted since the last budget began."""
        return int(self._words[PEAK])

    @property
    def left(self) -> int | None:
        """Bytes that still fit; None without a budget."""
        return None if self.limit is None else max(0, self.limit + self.apart - self.used)

    def refusal(self) -> OutOfMemory:
        """The error for an allocation that was refused."""
        more, left = in_bytes(int(self._words[REFUSED])), in_bytes(self.left or 0)
        return OutOfMemory(
            f"out of memory: {more} more are needed, and {left} of the budget of {in_bytes(self.limit or 0)} are left: "
            "give more (`memory`), or convert the graph to a page file, which is streamed: vlang convert GRAPH OUT.vg")

    def _begin(self, limit: int, held: int) -> tuple[int, object]:
        """Put a budget into force; returns the bytes that it added to those counted, and what `install` gave."""
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

    Of several budgets at a time the smallest holds for all.

    limit: bytes; None for no budget. held: bytes of arrays from before that it includes. Raises OutOfMemory in place
    of the MemoryError of an allocation that does not fit.
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
