"""The files behind a path: streams and remote files are copied to a temporary file, folders and globs are listed."""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import IO

from vlang.errors import DiskError
from vlang.runtime.storage.inputs.copied import Copied, new_copy, readable
from vlang.runtime.storage.inputs.remote import fetched, is_remote

__all__ = ["STDIN", "check_file", "folder_notes", "parts_of", "seekable", "seekable_parts"]

STDIN = "standard input"

MOST_ENTRIES = 1 << 16  # in a folder with its subfolders
_PIECE = 1 << 20


def check_file(path: str | os.PathLike[str], needed: str, *, pipes: bool = False) -> bool:
    """Whether a path is a named pipe. A path that does not exist is not an error here: opening it raises the error.

    Args:
        path: the path.
        needed: what the file should be, for messages, for example "a file of edges".
        pipes: whether pipes are allowed.

    Raises:
        DiskError: the path is a directory, a device or a socket, or it is a pipe and pipes are not allowed.
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
    """A context with a path that can be opened repeatedly and read at any offset.

    Standard input, pipes and remote files are copied to a temporary file in `TMPDIR`, which is deleted once no path
    refers to it. Raises DiskError for a directory, a device, a socket or a terminal, or if the copy cannot be written.

    Args:
        path: a path, a URL, or `-` for standard input.
        needed: what the file should be, for messages, for example "a file of edges".
    """
    if is_remote(path):
        yield fetched(os.fspath(path))
        return
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
    with readable(name):
        path, copy = new_copy(name)
        shutil.copyfileobj(file, copy, _PIECE)
        copy.flush()
    yield path


def parts_of(path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The files in a folder (with its subfolders) or of a glob, in the order of their names; () for any other path.

    In folders, names that begin with a dot or an underscore are ignored. Raises DiskError for a folder with more than
    MOST_ENTRIES files and folders: such a folder is probably not a graph in parts, and listing a whole disk would take
    minutes.
    """
    if isinstance(path, Copied):
        return path.parts_of_copy
    text = os.fspath(path)
    try:
        if os.path.isdir(text):
            entries = list(islice(Path(text).rglob("*"), MOST_ENTRIES + 1))
            if len(entries) > MOST_ENTRIES:
                raise DiskError(f"{text}: this folder has more than {MOST_ENTRIES:,} files and folders; name the "
                                "folder or a glob of the files of one graph")
            return tuple(sorted(file for file in entries if file.is_file()
                                and not any(part[0] in "._" for part in file.relative_to(text).parts)))
        if os.path.exists(text) or not glob.has_magic(text):
            return ()
        return tuple(Path(one) for one in sorted(glob.glob(text, recursive=True)) if os.path.isfile(one))
    except DiskError:  # an OSError, too
        raise
    except (OSError, ValueError):
        return ()


def folder_notes(path: str | os.PathLike[str], files: Iterable[Path]) -> tuple[str, ...]:
    """A sentence about values in the names of folders below `path` ("year=2024"), which no reader takes as a column."""
    given = Path(path).parts
    found = sorted({part for file in files for part in file.parts[:-1] if "=" in part and part not in given})
    return (f"Not read: the values in names of folders, such as {found[0]}.",) if found else ()


def seekable_parts(path: str | os.PathLike[str], needed: str) -> AbstractContextManager[Path]:
    """Like `seekable`, but returns a folder or a glob of files unchanged."""
    if os.fspath(path) != "-" and parts_of(path):
        return nullcontext(Path(path))
    return seekable(path, needed)
