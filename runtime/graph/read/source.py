"""Reads a text file, plain or compressed, in windows that end at a line end."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DiskError, GraphError
from vlang.records import dataclass
from vlang.runtime.graph.packed_text import Damaged, Packing, TextBytes, packing_of
from vlang.runtime.graph.read.text_errors import problem
from vlang.runtime.storage.inputs.spool import check_file
from vlang.runtime.storage.passing import passing

__all__ = ["READ_AHEAD", "TextFile", "Window", "last_line_end", "line_end"]

READ_AHEAD = 8
"""Bytes after the last line end of a window that kernels may read; the values of these bytes have no effect."""

_NEWLINE, _RETURN = 10, 13
_INSIDE = re.compile(rb"\r[^\r\n]")
_RETURNS = re.compile(rb"\r")
_MARK = re.compile("\ufeff".encode())
_BLOCK = 1 << 16
_PIECE = 1 << 18


@dataclass(frozen=True)
class Window:
    """A window of text: text[:size] holds whole lines and ends with a line end, and READ_AHEAD more bytes follow.

    The window after the next one reuses the buffer.

    Attributes:
        text: the buffer.
        size: bytes of the lines.
        fraction: the fraction of the file that has been read, 0 < fraction <= 1.
        damage: the reason if the text ends early because the file is damaged; else None.
        part: in the first window of a part of a list of files: the path of this part; else None.
        skip, line: if `part` is given, the bytes before the first edge of the part, and the number of its line.
    """

    text: NDArray[np.uint8]
    size: int
    fraction: float
    damage: str | None = None
    part: Path | None = None
    skip: int = 0
    line: int = 1


class TextFile:
    """A readable regular file. Every call of `head` and `windows` reads the file from its beginning.

    `header` is the first line of data if it has the names of the columns, else ""; the reader of edges sets `header`.
    `notes` are sentences about what is not read.

    Raises DiskError if the file does not exist, is not a regular file, or is not readable.
    """

    def __init__(self, path: str | os.PathLike[str], needed: str = "a file of edges") -> None:
        """Open the file at `path`; `needed` says what the file should be, for messages."""
        self.path = path if isinstance(path, Path) else Path(path)
        check_file(self.path, needed)
        try:
            kind = self.path.stat()
            with self._open() as file:
                self.packing: Packing | None = packing_of(file.read(8) or b"")
        except (FileNotFoundError, NotADirectoryError):
            raise DiskError(f"{self.path}: there is no such file{_similar(self.path)}") from None
        except PermissionError:
            raise DiskError(f"{self.path}: no permission to read this file") from None
        except OSError as error:
            raise DiskError(f"{self.path}: cannot be read: {error.strerror or error}") from None
        self.size = kind.st_size
        self.header = ""
        self.notes: tuple[str, ...] = ()
        self._returns = False  # whether lines end in CR; `head` sets it

    @property
    def packed(self) -> str:
        """The compression, for notes: ", gzip", or "" for a plain file."""
        return f", {self.packing.name}" if self.packing else ""

    @property
    def ends_in_returns(self) -> bool:
        """Whether lines end in CR alone; known after a call of `head`."""
        return self._returns

    def _open(self) -> FileIO:
        return FileIO(self.path, "r")

    def _text(self, file: FileIO) -> TextBytes:
        """The text of the open file."""
        return self.packing.opened(file) if self.packing else file

    def head(self, size: int) -> tuple[bytes, bool]:
        """The first `size` bytes of the text (fewer if it is shorter), and whether this is the whole text.

        Here and in `windows`, LF replaces CR if lines end in CR alone. Raises GraphError if the first byte cannot be
        decompressed or a CR occurs inside a line, DiskError if the disk fails.
        """
        buffer = bytearray(size)
        with self._open() as file:
            have, damage = self._fill(self._text(file), memoryview(buffer))
        if damage is not None and have == 0:
            raise problem(self.path, damage)
        text = bytes(buffer[:have])
        self._returns = b"\n" not in text and b"\r" in text
        if self._returns:
            text = text.replace(b"\r", b"\n")
        elif b"\0" not in text and (found := _INSIDE.search(text)):  # otherwise the file is no text at all
            raise _return_inside(self.path, 1 + text.count(b"\n", 0, found.start()))
        return text, have < size

    def pieces(self, size: int) -> Iterator[Window]:
        """Yield the text in pieces of `size` bytes, which need not end at a line end. The last piece is shorter.

        Each piece reuses the buffer. Raises DiskError if the disk fails.
        """
        text = passing(size, np.uint8)
        with self._open() as file:
            source, have = self._text(file), size
            while have == size:
                have, damage = self._fill(source, text.data)
                if self._returns:
                    text[:have][text[:have] == _RETURN] = _NEWLINE
                yield Window(text, have, min(1.0, max(file.tell(), 1) / max(self.size, 1)), damage)

    def windows(self, size: int) -> Iterator[Window]:
        """Yield the text in windows of at most `size` bytes. A line end is added to the last line if it has none.

        Raises GraphError if a line is longer than a window or has a CR inside, DiskError if the disk fails.
        """
        # One more byte is for a missing line end.
        room = size + 1 + READ_AHEAD
        buffers = (passing(room, np.uint8), passing(room, np.uint8))
        turn, kept, before = 0, buffers[0][:0], 0
        with self._open() as file:
            source = self._text(file)
            while True:
                text = buffers[turn]
                text[: len(kept)] = kept
                have, damage = self._fill(source, text.data[len(kept) : size])
                if self._returns:
                    text[len(kept) : len(kept) + have][text[len(kept) : len(kept) + have] == _RETURN] = _NEWLINE
                have += len(kept)
                fraction = min(1.0, max(file.tell(), 1) / max(self.size, 1))
                if have < size:
                    last = self._final(text, have, damage)
                    self._refuse_bytes(last, before)
                    yield last
                    return
                end = last_line_end(text, size)
                if end == 0:
                    raise GraphError(f"{self.path}: a line is longer than {size:,} bytes; this is no list of edges")
                window = Window(text, end, fraction)
                self._refuse_bytes(window, before)
                yield window
                kept, turn, before = text[end:size], 1 - turn, before + end

    def _refuse_bytes(self, window: Window, before: int) -> None:
        """Raise GraphError for bytes that no line should contain.

        `before` is the number of bytes of text before the window.
        """
        self._refuse_returns(window, before)
        text = window.text[: window.size]
        for found in _MARK.finditer(text.data):
            at = found.start()
            first = before == 0 and at in (0, len(found[0]))  # the second of two marks at the beginning
            if (at > 0 or before > 0) and (first or at == 0 or text[at - 1] == _NEWLINE):
                line = 1 + self._line_ends(before) + int(np.count_nonzero(text[:at] == _NEWLINE))
                raise problem(self.path, "a byte order mark at the beginning of this line", line=line,
                              expected="one at the beginning of the file at most, as where files were joined")

    def _refuse_returns(self, window: Window, before: int) -> None:
        """Raise GraphError for a CR inside a line. `before` is the number of bytes of the text before the window."""
        text = window.text[: window.size]
        first = _RETURNS.search(text.data)
        for start in range(window.size if first is None else first.start(), window.size - 1, _PIECE):  # fits in cache
            here, after = text[start : start + _PIECE], text[start + 1 : start + _PIECE + 1]
            inside = (here[: len(after)] == _RETURN) & (after != _NEWLINE) & (after != _RETURN)
            if inside.any():
                line = 1 + self._line_ends(before) + int(np.count_nonzero(text[: start + inside.argmax()] == _NEWLINE))
                raise _return_inside(self.path, line)

    def _line_ends(self, size: int) -> int:
        """The number of line ends in the first `size` bytes of the text."""
        piece, count = passing(_PIECE, np.uint8), 0
        with self._open() as file:
            source = self._text(file)
            while size > 0 and (have := self._fill(source, piece.data[: min(size, _PIECE)])[0]):
                count += int(np.count_nonzero(piece[:have] == _NEWLINE))
                size -= have
        return count

    def _fill(self, source: TextBytes, target: memoryview) -> tuple[int, str | None]:
        """Fill `target`.

        Returns the number of bytes, and the damage that ended the text, or None. The number is less than the size of
        `target` only at the end of the text.
        """
        have = 0
        try:
            while have < len(target) and (got := source.readinto(target[have:])):
                have += got
        except Damaged as damage:
            return have, str(damage)
        except OSError as error:
            raise DiskError(f"{self.path}: cannot be read: {error.strerror or error}") from None
        return have, None

    def _final(self, text: NDArray[np.uint8], have: int, damage: str | None) -> Window:
        if damage is not None:
            return Window(text, last_line_end(text, have), 1.0, damage)
        if have and text[have - 1] != _NEWLINE:
            text[have] = _NEWLINE
            have += 1
        return Window(text, have, 1.0)


def _return_inside(path: Path, line: int) -> GraphError:
    return problem(path, "a carriage return inside of a line", line=line,
                   expected="line ends of one kind: LF, CR LF, or CR in the whole file")


def last_line_end(text: NDArray[np.uint8], end: int) -> int:
    """The position after the last line end in text[:end]; 0 if there is none."""
    while end > 0:
        start = max(0, end - _BLOCK)
        at = text[start:end].tobytes().rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


def line_end(text: NDArray[np.uint8], start: int, end: int) -> int:
    """The position after the first line end in text[start:end]; `end` if there is none."""
    while start < end:
        at = text[start : start + _BLOCK].tobytes().find(b"\n")
        if at >= 0:
            return min(start + at + 1, end)
        start += _BLOCK
    return end


def _similar(path: Path) -> str:
    try:
        names = [entry.name for entry in os.scandir(path.parent) if entry.is_file()]
    except OSError:
        return "" if path.parent.exists() else f"; nor is there a directory {path.parent}"
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""
