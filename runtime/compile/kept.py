"""The files of the cache directory.

All files have checksums, are written atomically, and are checked when they are read.

An entry is used only if its checksum is correct and its file is safe: a regular file of this user that no other user
can write.
"""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

from vlang.errors import CacheWarning
from vlang.runtime.compile.cachedir import cache_dir

__all__ = ["key_of", "read_entry", "write_entry"]


def key_of(*parts: str) -> str:
    """The key of an entry: a digest of `parts`. The contents of the entry depend only on these texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read_entry(key: str, suffix: str, magic: bytes) -> bytes | None:
    """The data of the entry with a key, or None if there is no valid entry. `magic` identifies the entry's format."""
    path = _path(key, suffix)
    if path is None:
        return None
    try:
        raw = _own_bytes(path)
    except OSError:
        return None
    seal, body = raw[:64], raw[64:]
    if not body.startswith(magic) or _seal(body, key) != seal:
        return None
    return body[len(magic) :]


def write_entry(key: str, suffix: str, magic: bytes, data: bytes) -> None:
    """Write an entry. The entry is dropped if the disk is full or the folder is read-only.

    The next process that needs a dropped entry computes the contents again. The first dropped entry of a process causes
    a CacheWarning.

    Args:
        key: the key, from `key_of`.
        suffix: the suffix of the file name.
        magic: identifies the format of the entry.
        data: the contents.
    """
    path = _path(key, suffix)
    if path is None:
        return
    try:
        _write(path, magic + data, key)
    except OSError as error:
        _warn_once(f"compiled programs are not kept in {path.parent}: {(error.strerror or str(error)).lower()}")


def _write(path: Path, body: bytes, key: str) -> None:
    from vlang.runtime.storage.leftovers import new_temporary  # start-up

    handle, temporary = new_temporary(path.parent, path.name, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_seal(body, key) + body)
            file.flush()
            os.replace(temporary, path)  # before the file is closed, because closing releases its lock
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@cache
def _warn_once(message: str) -> None:
    warnings.warn(message, CacheWarning, stacklevel=3)


def _own_bytes(path: Path) -> bytes:
    """The contents of a regular file of this user. Raises OSError."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise PermissionError(f"{path} may not be of this user")
        return file.read()


def _path(key: str, suffix: str) -> Path | None:
    folder = cache_dir()
    return None if folder is None else folder / f"{key[:32]}.{suffix}"


def _seal(body: bytes, key: str) -> bytes:
    return hashlib.sha256(body + key.encode()).hexdigest().encode()
