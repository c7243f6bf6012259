"""The first bytes of the files of vlang.

The functions on first bytes are in a module separate from the readers, so that other runs need not load the readers.
"""

from __future__ import annotations

import os

__all__ = ["MAGIC", "is_page_file"]

MAGIC = b"\x89vlang\r\n"
"""The first bytes of a page file."""


def is_page_file(path: str | os.PathLike[str]) -> bool:
    """Return whether `path` is a regular file that begins like a page file.

    A pipe is not opened, because it can be read only once.
    """
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False
