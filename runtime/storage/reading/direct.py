"""Reads of whole pages that bypass the page cache of the system (O_DIRECT), if the file system supports it."""

from __future__ import annotations

import errno
import math
import os
import time
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DiskError
from vlang.runtime.storage.memory import PAGE, page_aligned
from vlang.runtime.threads.workers import on_threads

__all__ = ["DirectFiles"]

_SEQUENTIAL, _RANDOM = 1024, 256  # blocks that are read to measure the latency of a disk
_DEPTH = 8  # random reads in flight at a time
_LARGE = 4 << 20  # bytes of a read to measure the rate of a disk, as of a page
_SMALL = 1 << 20  # bytes of a read that are too few to measure the rate, if memory for larger reads is there
_MEASURED = 16  # reads of each file to measure the rate
_TOGETHER = 2  # reads in flight at a time while the rate is measured, as in a ring
_DIRECT = getattr(os, "O_DIRECT", 0)


class DirectFiles:
    """Files that several threads read at arbitrary offsets; they are closed when the object is freed.

    Without O_DIRECT the system would copy every page once more, and its page cache would take memory outside of the
    budget of a run.

    Attributes:
        note: one sentence that says why reads go through the page cache; "" if all reads are direct.

    Raises DiskError if a file cannot be opened.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.note = ""
        self._paths = list(paths)
        self._rate: float | None = None
        self._files: list[int] = []
        self._buffered: set[int] = set()  # descriptors of the files that are read through the page cache
        self._closed = weakref.finalize(self, _close, self._files)
        for number, path in enumerate(self._paths):
            try:
                self._files.append(self._open(number, path))
            except OSError as error:
                raise DiskError(f"{path}: cannot be read: {error.strerror or error}") from None

    def read(self, number: int, offset: int, buffer: NDArray[np.uint8]) -> None:
        """Fill a buffer from a file.

        Args:
            number: the index of the file in `paths`.
            offset: the first byte, a multiple of 4096.
            buffer: uint8; its address and its length are multiples of 4096.

        Raises DiskError if the file cannot be read, or ends before the buffer is full.
        """
        have = 0
        while have < len(buffer):
            file = self._files[number]
            try:
                got = os.preadv(file, [buffer[have:].data], offset + have)
            except OSError as error:
                if error.errno != errno.EINVAL or file in self._buffered:
                    raise DiskError(f"{self._paths[number]}: cannot be read: {error.strerror or error}") from None
                if file == self._files[number]:  # otherwise another thread has replaced it already
                    self._replace(number)
                continue
            if not got:
                raise DiskError(f"{self._paths[number]}: cut off: it ends at byte {os.fstat(file).st_size:,}, and a "
                                f"page goes on to byte {offset + len(buffer):,}; convert the graph again")
            have += got

    @cached_property
    def random_cost(self) -> float:
        """The time of a random read of 4096 bytes divided by the time of a sequential read; the maximum over the files.
        The first access measures this ratio with reads of the files, which takes some milliseconds. Raises DiskError.
        """
        return max(self._ratio(number) for number in range(len(self._paths)))

    def rate(self, most: int) -> float:
        """The throughput of large sequential reads of all files together, in bytes per second.

        The result is inf if the files are too small to measure. The first call measures the throughput, which takes
        some milliseconds and at most `most` bytes of memory. Raises DiskError.
        """
        if self._rate is None:
            room = most // (_TOGETHER + 1) // PAGE * PAGE
            counts = [os.fstat(file).st_size // PAGE for file in self._files[: len(self._paths)]]
            size = min(_LARGE, room, max(counts) // _MEASURED * PAGE)
            self._rate = math.inf if size < max(PAGE, min(_SMALL, room)) else self._measured(counts, size)
        return self._rate

    def _measured(self, counts: Sequence[int], size: int) -> float:
        """Measure the throughput for `rate` with reads of `size` bytes. `counts` has the whole pages of each file.

        The first reads are not counted, because they include the start of the threads and the first use of the buffers.
        """
        places: list[tuple[int, int]] = []
        for block in range(_MEASURED):  # round-robin over the files, around the middle of each
            places += [(number, (count * PAGE // size - _MEASURED) // 2 * size + block * size)
                       for number, count in enumerate(counts) if count * PAGE >= _MEASURED * size]
        room = page_aligned(_TOGETHER * size)
        free = SimpleQueue[NDArray[np.uint8]]()
        for k in range(_TOGETHER):
            free.put(room[k * size : (k + 1) * size])
        ends: list[float] = []

        def read(place: tuple[int, int]) -> None:
            buffer = free.get()
            self.read(*place, buffer)
            ends.append(time.perf_counter())
            free.put(buffer)

        on_threads(_TOGETHER, read, places)
        ends.sort()
        return (len(ends) - _TOGETHER) * size / (ends[-1] - ends[_TOGETHER - 1])

    def _ratio(self, number: int) -> float:
        blocks = os.fstat(self._files[number]).st_size // PAGE
        run = min(blocks, _SEQUENTIAL)
        if run < _RANDOM:
            return 1.0  # too small to measure
        room = page_aligned(run * PAGE)
        begin = time.perf_counter()
        self.read(number, (blocks - run) // 2 * PAGE, room)
        middle = time.perf_counter()
        step = blocks // _RANDOM

        def read(k: int) -> None:  # spread over the file, in an order without consecutive blocks
            self.read(number, (k * 37 % _RANDOM) * step * PAGE, room[k * PAGE : (k + 1) * PAGE])

        on_threads(_DEPTH, read, range(_RANDOM))
        sequential, random = (middle - begin) / run, (time.perf_counter() - middle) / _RANDOM
        return max(1.0, random / sequential)

    def _open(self, number: int, path: Path) -> int:
        if _DIRECT:
            try:
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC | _DIRECT)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
        return self._through_cache(number)

    def _replace(self, number: int) -> None:
        """From now on read a file through the page cache, after the system has refused a direct read.

        Some file systems accept O_DIRECT when the file is opened, and refuse only the reads.
        """
        try:
            other = self._through_cache(number)
        except OSError as error:
            raise DiskError(f"{self._paths[number]}: cannot be read: {error.strerror or error}") from None
        self._files.append(self._files[number])  # another thread may be reading it, so it is closed with the others
        self._files[number] = other

    def _through_cache(self, number: int) -> int:
        file = os.open(self._paths[number], os.O_RDONLY | os.O_CLOEXEC)
        self._buffered.add(file)
        self.note = f"the file system of {self._paths[number]} refuses direct reads, and pages go through its cache"
        return file


def _close(files: list[int]) -> None:
    for file in set(files):
        os.close(file)
