"""The cache directory. The directory keeps compiled kernels and the parser's tables between runs."""

from __future__ import annotations

import functools
import os
import stat
import warnings
from pathlib import Path

from vlang.errors import CacheWarning

__all__ = ["cache_dir", "find_cache"]

_FORBIDDEN = stat.S_IWGRP | stat.S_IWOTH


@functools.cache
def cache_dir() -> Path | None:
    """The cache directory, with symbolic links resolved; None if it cannot be used.

    The directory is created if necessary.

    The path is `$VLANG_CACHE` if this variable is set, otherwise `$XDG_CACHE_HOME/vlang` or `~/.cache/vlang`. The first
    call of a process warns (CacheWarning) if the directory cannot be used.
    """
    folder, why_not = find_cache()
    if folder is None:
        warnings.warn(f"compiled programs are not kept: {why_not}; VLANG_CACHE names another folder", CacheWarning,
                      stacklevel=2)
    return folder


def find_cache() -> tuple[Path | None, str]:
    """Find the cache directory. Returns the path and "", or None and the reason why the directory cannot be used.

    Object code is loaded from the directory. Therefore the directory must belong to this user, and no other user may be
    able to write to or replace the directory.
    """
    chosen = os.environ.get("VLANG_CACHE")
    try:
        root = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vlang"
    except RuntimeError:  # the user has no home folder
        return None, "there is no home folder"
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        root = root.resolve()
        why_not = _untrusted(root)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
        reason = error.strerror if isinstance(error, OSError) else None
        return None, f"{root} cannot be used: {(reason or str(error)).lower()}"
    return (None, why_not) if why_not else (root, "")


def _untrusted(root: Path) -> str:
    """The reason why a folder must not be used as the cache; "" if it may be used."""
    status = root.stat()
    if status.st_uid != os.getuid():
        return f"{root} belongs to another user (uid {status.st_uid})"
    if status.st_mode & _FORBIDDEN:
        return f"other users can write to {root} (`chmod go-w {root}` forbids it)"
    for folder in root.parents:
        mode = folder.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"other users can replace {root}, since they can write to {folder}"
    return "" if os.access(root, os.W_OK) else f"{root} cannot be written"
