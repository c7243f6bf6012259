"""A page file of a graph for all ranks on one machine. One of these ranks writes the file with bounded memory.

Therefore each rank needs memory only for its own rows. A page file can be written from every source of a graph: text,
Parquet, a generator, or standard input, which mpiexec passes to one rank only.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from vlang.runtime.cluster.transports.transport import Transport, texts

__all__ = ["scratch_folder", "shared_file", "stamp_of"]

_PREFIX, _LOCK = "vlang-ranks-", "lock"


def shared_file(transport: Transport, name: str, write: Callable[[Path], None]) -> Path:
    """Return the path of a page file that the lowest rank of each machine writes. All ranks call this function
    together.

    The file is removed when its writer ends. If the writer is killed, the next writer that the same user starts removes
    the file.

    Args:
        transport: the transport of the rank.
        name: the name of the graph, for messages about ranks that wait.
        write: writes the file, on one rank of each machine.
    """
    path = ""
    if transport.lead == transport.rank:
        folder = scratch_folder()
        path = str(folder / "graph.vg")
        write(Path(path))
    return Path(texts(transport, path, f"the page file of {name}, which one rank writes")[transport.lead])


def stamp_of(path: str) -> list[int] | None:
    """Return the size of a file in bytes, and the time of its last change in ns; None if the file does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def scratch_folder() -> Path:
    """Create a folder that is removed when this process ends. The call also removes the folders of killed processes."""
    for one in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if one.stat().st_uid == os.geteuid() and not one.is_symlink() and _locked(one) >= 0:
                shutil.rmtree(one)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    _locked(folder)  # until this process ends
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _locked(folder: Path) -> int:
    """Lock a folder; returns the descriptor of its lock, or -1 if a living process holds the lock."""
    file = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return -1
    return file
