"""Arrays over vertices that are stored in files; only a moving window of each array is in the memory of the process.

An array is a shared mapping of a temporary file without a name, so any part may be read or written at any time. A part
that is released leaves the memory of the process, and is mapped again from the file on the next access. The system
caches the file in memory that is otherwise free, which does not count as memory of the process.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import DTypeLike, NDArray

from vlang.runtime.storage.disk_arrays import DiskArray, DiskArrays

__all__ = ["WINDOW", "Windows"]

WINDOW = 1 << 18
"""The number of vertices that a pass over vertices processes before it releases their window."""


class Windows:
    """Allocates arrays over vertices in temporary files.

    Args:
        folder: the folder of the files, which must be on a disk (not in memory, such as tmpfs).
        n: the number of vertices.
    """

    def __init__(self, folder: Path, n: int) -> None:
        self.n = n
        self._room = DiskArrays(folder)
        self._made: list[DiskArray] = []

    def zeros(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of `count` zeros, where `count` is a multiple of the number of vertices. Raises DiskError."""
        made = DiskArray(self._room, dtype)
        array = made.reserve(count)
        if made.pages is not None:
            self._made.append(made)
            if hasattr(mmap, "MADV_SEQUENTIAL"):
                made.pages.madvise(mmap.MADV_SEQUENTIAL)
        return array

    def copy(self, array: NDArray[Any]) -> NDArray[Any]:
        """A copy of an array over vertices. Raises DiskError."""
        found = self.zeros(len(array), array.dtype)
        self.put(found, array)
        return found

    def put(self, target: NDArray[Any], source: NDArray[Any]) -> None:
        """Copy an array over vertices into another array, window by window, and release the windows of both arrays."""
        width = len(source) // max(1, self.n)
        for first, last in self.parts():
            target[first * width : last * width] = source[first * width : last * width]
            self.release(first, last)

    def parts(self) -> Iterator[tuple[int, int]]:
        """The ranges (first, last) of at most WINDOW vertices that cover all vertices in order; `last` is excluded."""
        for first in range(0, self.n, WINDOW):
            yield first, min(first + WINDOW, self.n)

    def release(self, first: int, last: int) -> None:
        """Release the parts of all arrays that belong to the vertices first..last-1."""
        for made in self._made:
            assert made.pages is not None
            size = len(made.pages)
            low = -(-size * first // self.n // mmap.PAGESIZE) * mmap.PAGESIZE
            high = size if last == self.n else size * last // self.n // mmap.PAGESIZE * mmap.PAGESIZE
            if low < high and hasattr(mmap, "MADV_DONTNEED"):
                with suppress(OSError):  # not fatal: the system reclaims the pages when memory is short
                    made.pages.madvise(mmap.MADV_DONTNEED, low, high - low)
