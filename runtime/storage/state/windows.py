"""Arrays over vertices that are stored in files; only a moving window of each array is in the memory of the process.

An array is a shared mapping of a temporary file without a name, so any part may be read or written at any time. A part
that is released leaves the memory of the process, and is mapped again from the file on the next access. The system
caches the file in free memory, and this cache does not count as memory of the process.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from numpy.typing import DTypeLike, NDArray

from vlang.runtime.storage.disk_arrays import DiskArray, DiskArrays

__all__ = ["WINDOW", "Windows", "in_parts", "writable_folder"]

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
        self._made: list[weakref.ref[mmap.mmap]] = []  # the mapping of each array; an array keeps its mapping alive

    def zeros(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of `count` zeros, where `count` is a multiple of the number of vertices. Raises DiskError."""
        made = DiskArray(self._room, dtype)
        array = made.reserve(count)
        made.close()
        if made.pages is not None:
            self._made = [there for there in self._made if there() is not None] + [weakref.ref(made.pages)]
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
        at = 0
        for part in in_parts(self, source):
            target[at : at + len(part)] = part
            at += len(part)

    def parts(self) -> Iterator[tuple[int, int]]:
        """The ranges (first, last) of at most WINDOW vertices that cover all vertices in order; `last` is excluded."""
        for first in range(0, self.n, WINDOW):
            yield first, min(first + WINDOW, self.n)

    def release(self, first: int, last: int) -> None:
        """Release the parts of all arrays that belong to the vertices first..last-1."""
        for pages in [pages for there in self._made if (pages := there()) is not None]:
            size = len(pages)
            low = -(-size * first // self.n // mmap.PAGESIZE) * mmap.PAGESIZE
            high = size if last == self.n else size * last // self.n // mmap.PAGESIZE * mmap.PAGESIZE
            if low < high and hasattr(mmap, "MADV_DONTNEED"):
                with suppress(OSError):  # not fatal: the system reclaims the pages when memory is short
                    pages.madvise(mmap.MADV_DONTNEED, low, high - low)


def writable_folder(path: str) -> Path | None:
    """The folder of a page file if arrays can be kept in files there, else None; `path` is "" for pages in memory."""
    folder = os.path.dirname(path)
    return Path(path).parent if folder and os.access(folder, os.W_OK) else None


def in_parts(windows: Windows | None, array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield consecutive parts of an array: the whole array, or one part for each window if there are windows.

    The caller may read and write a part. When the caller asks for the next part, the windows of the part are released.
    An array whose length is not a multiple of the number of vertices is yielded as a whole.
    """
    if windows is None or not windows.n or len(array) % windows.n:
        yield array
        return
    width = len(array) // windows.n
    for first, last in windows.parts():
        yield array[first * width : last * width]
        windows.release(first, last)
