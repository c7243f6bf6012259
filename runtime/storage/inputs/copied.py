"""Paths of temporary copies, which messages show as the text that the user wrote."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PosixPath
from typing import IO

from vlang.errors import DiskError

__all__ = ["Copied", "copied_folder", "new_copy", "readable"]


class _Holder:
    """Keeps a temporary file or folder until no path refers to it; `end(*arguments)` deletes it."""

    def __init__(self, end: Callable[..., object], *arguments: object) -> None:
        weakref.finalize(self, end, *arguments)


class Copied(PosixPath):
    """A path that opens a temporary copy, but is shown as the text that the user wrote.

    Attributes:
        opened: the path of the copy.
        shown: the text for messages.
        parts_of_copy: the files of a folder or a glob, in the order of their names; () for a single file.
        holder: keeps the copy.
    """

    opened: str
    shown: str
    parts_of_copy: tuple[Path, ...]
    holder: _Holder

    @staticmethod
    def to(opened: str, shown: str, holder: _Holder, parts: tuple[Path, ...] = ()) -> Copied:
        """A path to a copy.

        Args:
            opened, shown, holder: see the attributes.
            parts: the attribute `parts_of_copy`.
        """
        path = Copied(shown)
        path.opened, path.shown, path.holder, path.parts_of_copy = opened, shown, holder, parts
        return path

    def __fspath__(self) -> str:
        return self.opened

    def __str__(self) -> str:
        return self.shown


def new_copy(shown: str) -> tuple[Copied, IO[bytes]]:
    """The path of a new temporary file without a name in `TMPDIR`, and the file, to be written."""
    file = tempfile.TemporaryFile()  # noqa: SIM115  the holder closes it
    return Copied.to(f"/proc/self/fd/{file.fileno()}", shown, _Holder(file.close)), file


def copied_folder(shown: str, names: Sequence[str]) -> Copied:
    """A temporary folder in `TMPDIR` for copies of several files, which are to be written to its `parts_of_copy`.

    Args:
        names: for each file, the text that messages show. The name of the copy ends in the last component of this text.
    """
    folder = tempfile.mkdtemp(prefix="vlang-")
    holder = _Holder(shutil.rmtree, folder, True)
    parts = tuple(Copied.to(f"{folder}/{number:06}-{os.path.basename(name)}", name, holder)
                  for number, name in enumerate(names))
    return Copied.to(folder, shown, holder, parts)


@contextmanager
def readable(shown: str) -> Iterator[None]:
    """A context that turns an OSError into a DiskError: the source cannot be read, or the temporary folder is full."""
    try:
        yield
    except (DiskError, FileNotFoundError):
        raise
    except OSError as error:
        if error.errno != errno.ENOSPC:
            text = (error.strerror or str(error)).partition("\n")[0]
            raise DiskError(f"{shown}: cannot be read: {text}") from None
        raise DiskError(f"{shown}: it does not fit into {tempfile.gettempdir()}, where it is kept while it is read; "
                        "TMPDIR names another directory") from None
