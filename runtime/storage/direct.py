"""Reads of whole pages that go around the page cache of the system (O_DIRECT), where the file system allows it."""

from __future__ import annotations

import errno
import os
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DiskError

__all__ = ["DirectFiles"]

_DIRECT = getattr(os, "O_DIRECT", 0)


class DirectFiles:
    """Files that several threads read at any place; closed with the last reference.

    Without O_DIRECT every page would be copied once more, and take memory of the system beside the budget of a run.

    Attributes:
        note: why reads go through the page cache, one sentence; "" if they do not.

    Raises DiskError if a file cannot be opened.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.note = ""
        self._paths = list(paths)
        self._files: list[int] = []
        self._buffered: set[int] = set()  # of the files, those read through the page cache
        self._closed = weakref.finalize(self, _close, self._files)
        for number, path in enumerate(self._paths):
            try:
                self._files.append(self._open(number, path))
            except OSError as error:
                raise DiskError(f"{path}: cannot be read: {error.strerror or error}") from None

    def read(self, number: int, offset: int, buffer: NDArray[np.uint8]) -> None:
        """Fill a buffer from a file.

        Args:
            number: of the file.
            offset: the first byte, a multiple of 4096.
            buffer: uint8, at an address and of a length that are multiples of 4096.

        Raises DiskError: the file cannot be read, or ends before the buffer is full.
        """
        have = 0
        while have < len(buffer):
            file = self._files[number]
            try:
                got = os.preadv(file, [buffer[have:].data], offset + have)
            except OSError as error:
                if error.errno != errno.EINVAL or file in self._buffered:
                    raise DiskError(f"{self._paths[number]}: cannot be read: {error.strerror or error}") from None
                if file == self._files[number]:  # else another thread has replaced it meanwhile
                    self._replace(number)
                continue
            if not got:
                raise DiskError(f"{self._paths[number]}: cut off: it ends at byte {offset + have:,}, and a page goes "
                                f"on to byte {offset + len(buffer):,}; convert the graph again")
            have += got

    def _open(self, number: int, path: Path) -> int:
        if _DIRECT:
            try:
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC | _DIRECT)
            except OSError as error:
                if error.errno != errno.EINVAL:
                    raise
        return self._through_cache(number)

    def _replace(self, number: int) -> None:
        """Read a file through the page cache from now on: some systems refuse direct reads only when they are tried."""
        try:
            other = self._through_cache(number)
        except OSError as error:
            raise DiskError(f"{self._paths[number]}: cannot be read: {error.strerror or error}") from None
        self._files.append(self._files[number])  # which another thread may be reading: it is closed with the others
        self._files[number] = other

    def _through_cache(self, number: int) -> int:
        file = os.open(self._paths[number], os.O_RDONLY | os.O_CLOEXEC)
        self._buffered.add(file)
        self.note = f"the file system of {self._paths[number]} refuses direct reads, and pages go through its cache"
        return file


def _close(files: list[int]) -> None:
    for file in set(files):
        os.close(file)
