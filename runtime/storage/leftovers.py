"""Temporary files of atomic writes; the temporary files of killed processes are removed by a later process.

The name of a temporary file is `.NAME.vlang-` and 16 hexadecimal digits, and its writer holds an exclusive `flock` on
it. Therefore an unlocked file with the name of a temporary file was left by a killed process.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["new_temporary", "remove_leftovers"]

_NAME = re.compile(r"\..+\.vlang-[0-9a-f]{16}", re.DOTALL)
_LONGEST = 150  # bytes of NAME that are kept, because a file name has at most 255 bytes
_TRIES = 100

_cleaned: set[str] = set()


def new_temporary(folder: Path, name: str, mode: int = 0o666) -> tuple[int, Path]:
    """Create a temporary file in `folder` for the file `name`; returns its descriptor and its path.

    The file is open for writing, and locked until it is closed. `mode` has its permissions before the umask is applied.
    The first call for a folder also removes the temporary files that killed processes have left there. Raises OSError.
    """
    if str(folder) not in _cleaned:
        _cleaned.add(str(folder))
        remove_leftovers(folder)
    short = os.fsdecode(os.fsencode(name)[:_LONGEST])
    for _ in range(_TRIES):
        path = folder / f".{short}.vlang-{secrets.token_hex(8)}"
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            with suppress(OSError):  # the file system has no locks; then no process removes the file
                fcntl.flock(file, fcntl.LOCK_EX)
            if _is(path, os.fstat(file)):
                return file, path
        except KeyboardInterrupt:  # the file may exist, and the caller does not know its path
            with suppress(OSError):
                os.unlink(path)
            raise
        os.close(file)  # another process removed the file before it was locked
    raise OSError(f"no temporary file can be created in {folder}")


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of killed processes.

    A regular file of this user is removed if it has the name of a temporary file and no lock. A file that cannot
    be examined or removed stays.
    """
    with suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):
                    _remove(Path(entry.path))


def _remove(path: Path) -> None:
    if not _ours(os.lstat(path)):  # checked before it is opened, as opening a device may have side effects
        return
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(file)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _ours(status) and _is(path, status):
            os.unlink(path)
    finally:
        os.close(file)


def _ours(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def _is(path: Path, status: os.stat_result) -> bool:
    """Return whether a path still names the file that `status` was read from."""
    try:
        now = os.lstat(path)
    except OSError:
        return False
    return (now.st_dev, now.st_ino) == (status.st_dev, status.st_ino)
