"""The directory in which compiled kernels and the parser's tables are kept between runs."""

from __future__ import annotations

import functools
import os
from pathlib import Path


@functools.cache
def cache_dir() -> Path | None:
    """The cache directory, created if need be; None if no directory is writable.

    `VLANG_CACHE` names it; else `$XDG_CACHE_HOME/vlang`, else `~/.cache/vlang`. A folder that other users can write
    to is not used, because object code is loaded from it.
    """
    chosen = os.environ.get("VLANG_CACHE")
    try:
        root = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vlang"
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        mode = root.stat()
        if mode.st_uid != os.getuid() or mode.st_mode & 0o022 or not os.access(root, os.W_OK):
            return None
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        return None
    return root
