"""Files of the cache directory: sealed entries, which appear whole or not at all and are checked when they are read."""

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
    """What was kept under a key; None if there is no sound entry. magic: names the format of the entry."""
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
    """Keep an entry; a full disk or a read-only folder only costs the next process the work."""
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
