"""Page-locked host memory for the results of runs: copies to this memory run at the full rate of the link.

A pool keeps the memory of freed results for later results (`vlang.runtime.storage.memory`). Under a memory budget, or
if too much memory is page-locked already, results are in ordinary memory.

Locking 16 MB takes 5 ms. A caller usually keeps a result until the next result exists, so two blocks are used in turn.
When a run is the first one with results of some size, a thread locks memory for two such results while the run copies
the graph.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.gpu.device.at_once import QUEUEING
from vlang.runtime.storage.memory import Block, Memory
from vlang.runtime.storage.pagelock import process_locks

__all__ = ["expect_results", "result_array"]


class _LockedBlock(Block):
    """A block of memory, which is page-locked if the system allows page-locking."""

    __slots__ = ("_locks", "_process")

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self._process = os.getpid()
        locks = process_locks()
        with QUEUEING:
            self._locks = locks if locks.lock_results(self.address, size) else None

    def __del__(self) -> None:
        locks = getattr(self, "_locks", None)
        with suppress(Exception):  # the device may be lost, or the process may be exiting
            if locks is not None and self._process == os.getpid():
                with QUEUEING:
                    locks.unlock_results(self.address)


_pool = Memory(make=_LockedBlock)


def result_array(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an uninitialised array of `count` elements. Raises MemoryError."""
    return _pool.empty(count, dtype)


def expect_results(sizes: Sequence[int], select: Callable[[], None]) -> None:
    """Lock memory for the first results of some sizes, in another thread.

    Args:
        sizes: the size in bytes of each result of a run.
        select: makes the GPU of the run the current device of a thread.
    """
    new = {size: 2 * sizes.count(size) for size in sizes if _pool.expects(size)}
    if new:
        with suppress(RuntimeError):  # the system cannot start more threads
            Thread(target=_lock, args=(new, select), name="vlang-results", daemon=True).start()


def _lock(sizes: Mapping[int, int], select: Callable[[], None]) -> None:
    with suppress(Exception):  # the device may be lost; the results then lock their own memory
        select()
        for nbytes, blocks in sizes.items():
            _pool.make_idle(nbytes, blocks)
