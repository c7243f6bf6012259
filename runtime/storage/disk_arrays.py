"""Arrays in temporary files, for data that need not be in memory.

The arrays are mappings of files without a name, so nothing stays on the disk, however the process ends. The system
keeps as much of the arrays in memory as it can spare, and writes the rest back to the files.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.runtime.storage.output import writing

__all__ = ["DiskArray", "DiskArrays"]


class DiskArrays:
    """Makes arrays in temporary files of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def empty(self, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """An array of `count` zeros; its file is deleted when the array is freed. Raises DiskError if the disk is full.
        """
        return DiskArray(self, dtype).reserve(count)


class DiskArray:
    """An array in a temporary file that can grow.

    Attributes:
        array: the whole array.
        pages: the memory mapping behind `array`; None while the array is empty.
    """

    def __init__(self, room: DiskArrays, dtype: DTypeLike) -> None:
        self._folder = room.folder
        self._dtype = np.dtype(dtype)
        self._count = 0
        with writing(f"temporary files in {room.folder}", room.folder / "x", temporary=True):
            self._file = tempfile.TemporaryFile(dir=room.folder, buffering=0)  # noqa: SIM115  (the array keeps it open)
        self.array: NDArray[Any] = np.empty(0, dtype=dtype)
        self.pages: mmap.mmap | None = None

    def reserve(self, count: int) -> NDArray[Any]:
        """Grow the array to at least `count` elements and return it; earlier views stay valid. Raises DiskError."""
        if count > self._count:
            size = count * self._dtype.itemsize
            with writing(f"temporary files in {self._folder}", self._folder / "x", temporary=True):
                # If the blocks were not reserved, a full disk would kill the process when a page is written back.
                os.posix_fallocate(self._file.fileno(), 0, size)
                pages = mmap.mmap(self._file.fileno(), size, flags=mmap.MAP_SHARED)
            self.array, self.pages = np.frombuffer(pages, self._dtype, count), pages
            self._count = count
        return self.array

    def close(self) -> None:
        """Close the file, so that the array cannot grow. The array stays valid: its mapping has its own descriptor."""
        self._file.close()
