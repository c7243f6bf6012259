"""Files of the cache directory: entries with a checksum, written atomically and checked when they are read."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from vlang.runtime.compile.cachedir import cache_dir

__all__ = ["key_of", "read_entry", "write_entry"]


def key_of(*parts: str) -> str:
    """The key of an entry: a digest of everything that it depends on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read_entry(key: str, suffix: str, magic: bytes) -> bytes | None:
    """The data kept under a key; None if there is no valid entry. magic: identifies the format of the entry."""
    path = _path(key, suffix)
    if path is None:
        return None
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    seal, body = raw[:64], raw[64:]
    if not body.startswith(magic) or _seal(body, key) != seal:
        return None
    return body[len(magic) :]


def write_entry(key: str, suffix: str, magic: bytes, data: bytes) -> None:
    """Keep an entry. If the disk is full or the folder read-only, it is dropped, and the next process works again.

    Args:
        key: from `key_of`.
        suffix: of the file name.
        magic: identifies the format of the entry.
        data: the contents.
    """
    path = _path(key, suffix)
    if path is None:
        return
    body = magic + data
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{suffix}-")
        with os.fdopen(handle, "wb") as file:
            file.write(_seal(body, key) + body)
        os.replace(temporary, path)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise


def _path(key: str, suffix: str) -> Path | None:
    folder = cache_dir()
    return None if folder is None else folder / f"{key[:32]}.{suffix}"


def _seal(body: bytes, key: str) -> bytes:
    return hashlib.sha256(body + key.encode()).hexdigest().encode()
