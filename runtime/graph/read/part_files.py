"""A list of text files that together are one text of edges: the files of a folder or of a glob."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from vlang.errors import GraphError
from vlang.runtime.graph.read.source import TextFile, Window
from vlang.runtime.graph.read.text_errors import problem
from vlang.runtime.storage.inputs.spool import folder_notes, parts_of

__all__ = ["TextParts", "opened_text"]

_FIRST = 1 << 18
_MARKS = ("#", "%", "//")


def opened_text(path: Path) -> TextFile:
    """The text of a file, or of the files of a folder or a glob. Raises DiskError."""
    parts = [part for part in parts_of(path) if part.stat().st_size]
    return TextParts(path, parts) if parts else TextFile(path)


class TextParts(TextFile):
    """Text files with the same columns. A later file may repeat the header of the first file."""

    def __init__(self, path: Path, files: Sequence[Path]) -> None:
        """`path` is the folder or the glob; `files` are its files, at least one."""
        super().__init__(files[0])
        self.path = path
        self._parts = [TextFile(file) for file in files]
        self.notes = folder_notes(path, files)
        self.size = sum(part.size for part in self._parts)

    @property
    def packed(self) -> str:
        """The compression and the number of files, for notes."""
        return f"{super().packed}, {len(self._parts):,} file{'' if len(self._parts) == 1 else 's'}"

    def head(self, size: int) -> tuple[bytes, bool]:
        """The first bytes of the first file; see `TextFile.head`."""
        text, whole = self._parts[0].head(size)
        return text, whole and len(self._parts) == 1

    def pieces(self, size: int) -> Iterator[Window]:
        """Raise GraphError, because only lists of edges can be in several files."""
        raise GraphError(f"{self.path}: this format is read from one file, not from several; name one of them")

    def windows(self, size: int) -> Iterator[Window]:
        """Yield the windows of all files in order; see `TextFile.windows`."""
        return self.windows_of(range(len(self._parts)), size)

    def windows_of(self, chosen: range, size: int) -> Iterator[Window]:
        """Yield the windows of consecutive files, by their numbers; see `TextFile.windows`."""
        before = 0
        for number in chosen:
            part = self._parts[number]
            skip, line = (0, 1) if number == 0 else self._after_header(part)
            first = True
            for window in part.windows(size):
                fraction = min(1.0, max(1, before + window.fraction * part.size) / max(1, self.size))
                window = replace(window, fraction=fraction)
                yield replace(window, part=part.path, skip=skip, line=line) if first else window
                first = False
            before += part.size

    def _after_header(self, part: TextFile) -> tuple[int, int]:
        """The first byte of the edges of a later file, and the number of the line of this byte.

        Raises GraphError if the file has another header than the first file.
        """
        text, _ = part.head(_FIRST)
        end = 0
        for number, line in enumerate(text.split(b"\n"), 1):
            end += len(line) + 1
            shown = line.decode("utf-8", "replace").lstrip("\ufeff").strip()
            if not shown or shown.startswith(_MARKS):
                continue
            if self.header and shown == self.header.strip():
                return end, number + 1
            names = set(_names(self.header))
            if names & set(_names(shown)):
                raise problem(part.path, "the columns are not those of the first file", line=number, found=shown,
                              expected=self.header)
            break
        return 0, 1


def _names(line: str) -> list[str]:
    for mark in ",;\t":
        line = line.replace(mark, " ")
    return [word.strip('"') for word in line.split()]
