"""Input that can be read once: standard input and named pipes, copied to a temporary file that has no name."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PosixPath
from typing import IO

from vlang.errors import DiskError

__all__ = ["STDIN", "check_file", "seekable"]

STDIN = "standard input"

_PIECE = 1 << 20


class _Spooled(PosixPath):
    """The path of a file without a name; as text it is what the user wrote, for messages."""

    opened: str

    def __fspath__(self) -> str:
        return self.opened


def check_file(path: str | os.PathLike[str], needed: str, *, pipes: bool = False) -> bool:
    """Whether a path is a named pipe, which can be read once. A path that does not exist is left to its reader.

    Args:
        path: the path.
        needed: what it should be, for messages: "a file of edges".
        pipes: whether pipes are allowed.

    Raises:
        DiskError: it is a directory, a device or a socket, or a pipe that is not allowed.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    if stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode)):
        return stat.S_ISFIFO(mode)
    if stat.S_ISDIR(mode):
        raise DiskError(f"{path}: this is a directory; {needed} is needed")
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise DiskError(f"{path}: this is {kind}; {needed} is needed")


@contextmanager
def seekable(path: str | os.PathLike[str], needed: str) -> Iterator[Path]:
    """A path that can be opened repeatedly and read at any place; `-` is standard input.

    Standard input and pipes are read to their end, into a temporary file in `TMPDIR` that is gone afterwards. Raises
    DiskError for a directory, a device, a socket, a terminal, or if the temporary file cannot be written.

    Args:
        path: a path, `-`, or anything that is not a path, which is returned unchanged.
        needed: what the file should be, for messages: "a file of edges".
    """
    text = os.fspath(path)
    if text == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise DiskError(f"{STDIN}: there is nothing to read; write for example `cat FILE | vlang ...`, or give "
                            f"{needed}")
        with _copied(sys.stdin.buffer, STDIN) as found:
            yield found
    elif check_file(path, needed, pipes=True):
        with _pipe(text) as file, _copied(file, text) as found:
            yield found
    else:
        yield path if isinstance(path, Path) else Path(path)


def _pipe(text: str) -> IO[bytes]:
    try:
        return open(text, "rb")
    except OSError as error:
        raise DiskError(f"{text}: cannot be read: {error.strerror or error}") from None


@contextmanager
def _copied(file: IO[bytes], name: str) -> Iterator[Path]:
    folder = tempfile.gettempdir()
    with tempfile.TemporaryFile() as copy:
        try:
            shutil.copyfileobj(file, copy, _PIECE)
            copy.flush()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise DiskError(f"{name}: cannot be read: {error.strerror or error}") from None
            raise DiskError(f"{name}: it does not fit into {folder}, where it is kept while it is read; TMPDIR names "
                            "another directory") from None
        spooled = _Spooled(name)
        spooled.opened = f"/proc/self/fd/{copy.fileno()}"
        yield spooled
