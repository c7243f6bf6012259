"""Page-locked host memory for the results of runs: copies to this memory run at the full rate of the link.

A pool keeps the memory of freed results for later results (`vlang.runtime.storage.memory`). Under a memory budget, or
if too much memory is page-locked already, results are in ordinary memory.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.storage.memory import Block, Memory
from vlang.runtime.storage.pagelock import process_locks

__all__ = ["result_array"]


class _LockedBlock(Block):
    """A block of memory, which is page-locked if the system allows page-locking."""

    __slots__ = ("_locks", "_process")

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._process = os.getpid()
        locks = process_locks()
        self._locks = locks if locks.lock_results(self.address, size) else None

    def __del__(self) -> None:
        locks = getattr(self, "_locks", None)
        with suppress(Exception):  # the device may be lost, or the process may be exiting
            if locks is not None and self._process == os.getpid():
                locks.unlock_results(self.address)


_pool = Memory(make=_LockedBlock)


def result_array(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An uninitialised array of `count` elements. Raises MemoryError."""
    return _pool.empty(count, dtype)
