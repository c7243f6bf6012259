"""Arrays over vertices in a file, of which a process has in memory what its passes work on: windows that move.

An array is a shared mapping of a temporary file without a name, so any part may be read or written at any time; a part
that is released leaves the memory of the process, and comes back from the file when it is touched. What the system has
free meanwhile caches the file, and is no memory of the process.
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
"""Vertices that a pass over vertices works on before it releases them."""


class Windows:
    """Makes arrays over vertices in temporary files of a folder, which must be on a disk.

    Args:
        folder: where the files are.
        n: vertices.
    """

    def __init__(self, folder: Path, n: int) -> None:
        self.n = n
        self._room = DiskArrays(folder)
        self._made: list[DiskArray] = []

    def zeros(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of zeros, with the same number of entries for every vertex. Raises DiskError."""
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
        """Copy an array over vertices into another one, and release both."""
        width = len(source) // max(1, self.n)
        for first, last in self.parts():
            target[first * width : last * width] = source[first * width : last * width]
            self.release(first, last)

    def parts(self) -> Iterator[tuple[int, int]]:
        """The vertices in order, in parts that fit into a window."""
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
                with suppress(OSError):  # then the system takes the pages back when memory is short
                    made.pages.madvise(mmap.MADV_DONTNEED, low, high - low)
