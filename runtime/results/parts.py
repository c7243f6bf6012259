"""Writes a result as a folder of Parquet files, one for each rank."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.results.exported import Exported
from vlang.runtime.results.files import save
from vlang.runtime.results.listing import Column
from vlang.runtime.storage.output import check_writable, writing

__all__ = ["is_folder", "prepare_folder", "save_part"]


def is_folder(path: str) -> bool:
    """Return whether an output is a folder of part files: the name of such an output ends in a slash."""
    return path.endswith("/")


def prepare_folder(path: str) -> None:
    """Create the folder of part files. Raises GraphError if the folder already has part files, and DiskError if the
    folder cannot be created.
    """
    pyarrow(f"writing {path}")
    folder = Path(path)
    with writing(path, folder):
        folder.mkdir(exist_ok=True)
        found = sorted(one.name for one in folder.glob("part-*.parquet"))
    check_writable(folder / "part-00000.parquet")
    if found:
        raise GraphError(f"{path} has part files of another run, such as {found[0]}: remove them, or name another "
                         "folder")


def save_part(result: Exported, path: str, part: int, parts: int) -> Path:
    """Write one part of the rows of a result; returns the file.

    The parts have about the same number of rows. If the files are read in the order of their names, their rows are in
    increasing order of the ids. Raises GraphError if pyarrow is not installed, and DiskError if a file cannot be
    written.

    Args:
        result: the whole result.
        path: the folder, which is created if it does not exist.
        part: the number of the part, from 0.
        parts: the number of parts.
    """
    folder = Path(path)
    with writing(path, folder):
        folder.mkdir(exist_ok=True)
    file = folder / f"part-{part:05d}.parquet"
    save(_Part(result, part, parts), file)
    return file


class _Part(Exported):
    """Consecutive rows of a result; arguments as for `save_part`."""

    def __init__(self, result: Exported, part: int, parts: int) -> None:
        self._whole, self._ids, self.types = result, result._ids, result.types
        self._first, self._last = (result._rows * i // parts for i in (part, part + 1))

    def summary_dict(self) -> dict[str, Any]:
        """See `Exported`; describes the whole run."""
        return self._whole.summary_dict()

    @property
    def _rows(self) -> int:
        return self._last - self._first

    def _columns(self, start: int, stop: int) -> Iterator[Column]:
        return self._whole._columns(self._first + start, self._first + stop)
