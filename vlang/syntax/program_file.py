"""Reads a program from a file, a pipe or standard input."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

from vlang.errors import DiskError

__all__ = ["MOST_CHARACTERS", "MOST_GATHERS", "MOST_LEVELS", "MOST_LOOPS", "MOST_STATEMENTS", "STDIN", "program_bytes"]

MOST_CHARACTERS = 200_000  # characters of a program text
MOST_GATHERS = 100  # gathers of a program; all of one loop are in the same kernels, which take seconds to compile
MOST_LOOPS = 100  # loops of a program; each compiles kernels of its own, in half a second
MOST_STATEMENTS = 1000  # statements of a program; compiling so many takes half a minute and 1 GiB
MOST_LEVELS = 100  # levels of nested expressions, which recursive functions process, here and in later stages

STDIN = "standard input"


def program_bytes(name: str | Path) -> bytes:
    """The content of a file; `-` is standard input.

    Raises DiskError for a directory or device, and OSError for any other file that cannot be read.
    """
    if str(name) == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise DiskError(f"{STDIN}: there is nothing to read; write for example `cat FILE | vlang ...`")
        return sys.stdin.buffer.read()
    mode = Path(name).stat().st_mode
    if stat.S_ISDIR(mode):
        raise DiskError(f"{name}: this is a directory; the file of a program is needed")
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        kind = "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise DiskError(f"{name}: this is {kind}; the file of a program is needed")
    return Path(name).read_bytes()
