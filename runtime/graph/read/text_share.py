"""One of several equal parts of a text of edges: a range of the lines of a file, or some of its part files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from vlang.runtime.graph.read.part_files import TextParts
from vlang.runtime.graph.read.source import READ_AHEAD, TextFile, Window

__all__ = ["FileShare", "PartsShare"]

_PIECE = 1 << 16


class FileShare(TextFile):
    """The lines of a plain text file that begin in one of several equal ranges of its bytes.

    `head` has the first lines of the whole file. `begin` and `end` are the first byte of the share and its last byte
    plus 1; both are 0 for a compressed file, which has no shares.
    """

    def __init__(self, path: Path, place: int, parts: int) -> None:
        """Open share number `place` of `parts`. Raises DiskError."""
        super().__init__(path)
        self._first = place == 0
        self.begin = self.end = 0
        if self.packing is None:
            self.begin, self.end = (self._line_from(self.size * i // parts) for i in (place, place + 1))

    def _line_from(self, at: int) -> int:
        """The first byte of the first line that begins at byte `at` or later."""
        if at == 0 or at >= self.size:
            return at
        with FileIO(self.path, "r") as file:
            file.seek(at - 1)
            at -= 1
            while piece := file.read(_PIECE):
                end = piece.find(b"\n")
                if end >= 0:
                    return at + end + 1
                at += len(piece)
        return self.size

    def windows(self, size: int) -> Iterator[Window]:
        """Yield the windows of the share; see `TextFile.windows`."""
        body = _Body(self.path, self.begin, self.end)
        windows = body.windows(size)
        yield from windows if self._first else _without_header(self.path, windows)


class PartsShare(TextParts):
    """Consecutive files of the part files of a text; `head` has the first lines of the first of all files."""

    def __init__(self, path: Path, files: Sequence[Path], place: int, parts: int) -> None:
        """Choose files by their sizes. Raises DiskError.

        Args:
            path: the folder or the glob.
            files: its files.
            place, parts: which share to open: number `place`, from 0, of `parts` equal shares.
        """
        super().__init__(path, files)
        ends = np.cumsum([part.size for part in self._parts])
        first, last = (int(np.searchsorted(ends, self.size * i // parts, side="right")) for i in (place, place + 1))
        self._chosen = range(first, last)
        self.size = sum(self._parts[number].size for number in self._chosen)

    def windows(self, size: int) -> Iterator[Window]:
        """Yield the windows of the chosen files; see `TextParts.windows`."""
        if self._chosen.start:
            yield _nothing(self.path)
        yield from self.windows_of(self._chosen, size)


class _Body(TextFile):
    """The bytes `begin` to `end` - 1 of a file, which are read as a separate text."""

    def __init__(self, path: Path, begin: int, end: int) -> None:
        self._begin, self._end = begin, end
        super().__init__(path)
        self.size = end  # positions in the file are compared with it

    def _open(self) -> FileIO:
        return _Range(self.path, self._begin, self._end)


class _Range(FileIO):
    """The bytes `begin` to `end` - 1 of a file."""

    def __init__(self, path: Path, begin: int, end: int) -> None:
        super().__init__(path, "r")
        self.seek(begin)
        self._left = end - begin

    def readinto(self, target: Any) -> int:
        """Read into `target`, up to the end of the range."""
        have = super().readinto(memoryview(target)[: self._left]) or 0
        self._left -= have
        return have


def _nothing(path: Path) -> Window:
    """A window without text, which marks the beginning of the next file or share of a text."""
    return Window(np.zeros(READ_AHEAD, np.uint8), 0, 1e-9, part=path)


def _without_header(path: Path, windows: Iterator[Window]) -> Iterator[Window]:
    """The windows of a share that does not begin with the first line of the file."""
    yield _nothing(path)
    first = next(windows)
    yield replace(first, part=path, skip=0, line=1)
    yield from windows
