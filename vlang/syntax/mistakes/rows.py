"""A row of a table that lists lines of other languages (see `habits.py`)."""

from __future__ import annotations

import re

from vlang.records import dataclass

__all__ = ["Row", "row"]

_NAME = r"[A-Za-z_]\w*"


@dataclass(frozen=True)
class Row:
    """A row of the table; `\\1` in its texts is the text of a group of the pattern.

    Attributes:
        pattern: the pattern of a whole line.
        title, help, write: as in `Habit`.
    """

    pattern: re.Pattern[str]
    title: str
    help: str
    write: tuple[str, ...]


def row(pattern: str, title: str, help: str, *write: str) -> Row:
    """A row of the table.

    Args:
        pattern: the pattern of a line, in which NAME stands for a name.
        title: the mistake, by the name of the construct.
        help: advice in words.
        write: the lines to write instead.
    """
    return Row(re.compile(pattern.replace("NAME", _NAME)), title, help, write)
