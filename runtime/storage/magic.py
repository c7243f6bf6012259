"""What the files of vlang begin with, apart from their readers, which a run on another file need not load."""

from __future__ import annotations

import os

__all__ = ["MAGIC", "is_page_file"]

MAGIC = b"\x89vlang\r\n"
"""The first bytes of a page file."""


def is_page_file(path: str | os.PathLike[str]) -> bool:
    """Whether a regular file begins like a page file; a pipe is not touched, as it can be read once."""
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
