"""Uploads of pageable memory through page-locked buffers; several threads fill each buffer.

The driver can also copy pageable memory, but with a single thread (8.4 GB/s measured, on a link of 55 GB/s). A copy of
pageable memory by the driver also blocks the caller until all earlier work of the stream has ended.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.gpu.device.at_once import QUEUEING
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.memory import empty
from vlang.runtime.storage.pagelock import address_of, process_locks
from vlang.runtime.threads.processors import available_threads

__all__ = ["LEAST", "Staging", "refuse_gaps", "staging_bytes"]

LEAST = 1 << 20  # bytes: for smaller arrays staging does not pay off
_SIZE = 8 << 20  # bytes per buffer
_PART, _SMALL = 64, 1 << 16  # under a budget, a buffer has at most 1 / _PART of the budget, and at least _SMALL bytes
_BUFFERS = 3
_THREADS = 8
_NO_TIMING = 2  # flag of an event


def staging_bytes(limit: int) -> int:
    """Return the total size in bytes of all buffers under a budget of `limit` bytes."""
    return _BUFFERS * _size(limit)


def _size(limit: int | None) -> int:
    return _SIZE if limit is None else min(_SIZE, max(_SMALL, limit // _PART))


class Staging:
    """Page-locked buffers, allocated at the first upload and freed by `close`. Raises CuPy's errors."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self._events: list[int] = []
        self._buffers: list[NDArray[np.uint8]] = []
        self._turn = 0
        self._pool: ThreadPoolExecutor | None = None

    def upload(self, pointer: int, array: NDArray[Any], stream: int) -> None:
        """Queue the copy of a contiguous array to a device address. The array has been read when the call returns."""
        if not self._buffers:
            self._make()
        source = array.reshape(-1).view(np.uint8)
        size = len(self._buffers[0])
        for start in range(0, len(source), size):
            piece = source[start : start + size]
            turn = self._turn
            self._turn = (turn + 1) % _BUFFERS
            self._runtime.eventSynchronize(self._events[turn])
            self._fill(self._buffers[turn], piece)
            self._runtime.memcpyAsync(pointer + start, address_of(self._buffers[turn]), len(piece), 1, stream)
            self._runtime.eventRecord(self._events[turn], stream)

    def close(self) -> None:
        """Free the buffers. All uploads must have ended."""
        if self._pool is not None:
            self._pool.shutdown()
        for event in self._events:
            self._runtime.eventDestroy(event)
        for buffer in self._buffers:
            with QUEUEING:
                process_locks().unregister(buffer)
        self._buffers, self._events, self._pool = [], [], None

    def _make(self) -> None:
        for _ in range(_BUFFERS):
            buffer: NDArray[np.uint8] = empty(_size(ledger.limit), np.uint8)  # counted in a budget
            with QUEUEING:
                process_locks().register(buffer)
            self._buffers.append(buffer)
            self._events.append(self._runtime.eventCreateWithFlags(_NO_TIMING))
        threads = min(_THREADS, available_threads())
        self._pool = ThreadPoolExecutor(threads, "vlang-upload") if threads > 1 else None

    def _fill(self, buffer: NDArray[np.uint8], piece: NDArray[np.uint8]) -> None:
        """Copy with several threads, each of which copies one part; NumPy releases the GIL during a copy."""
        parts = _THREADS if len(piece) >= LEAST else 1
        bounds = [len(piece) * k // parts for k in range(parts + 1)]

        def copy(k: int) -> None:
            buffer[bounds[k] : bounds[k + 1]] = piece[bounds[k] : bounds[k + 1]]

        if self._pool is not None and parts > 1:
            try:
                list(self._pool.map(copy, range(parts)))
                return
            except RuntimeError:  # the system cannot start more threads, so later uploads use none
                self._pool = None
        buffer[: len(piece)] = piece


def refuse_gaps(array: NDArray[Any]) -> None:
    """Raise TypeError if an array is not contiguous, because copies take one block of bytes."""
    if not array.flags.c_contiguous:
        raise TypeError("the array is not contiguous")
