"""A row of a table of lines of other languages (see `habits.py`)."""

from __future__ import annotations

import re

from vlang.records import dataclass

__all__ = ["Row", "row"]

_NAME = r"[A-Za-z_]\w*"


@dataclass(frozen=True)
class Row:
    """The pattern of a whole line, and the texts of the message, in which `\\1` is the text of a group."""

    pattern: re.Pattern[str]
    title: str
    help: str
    write: tuple[str, ...]


def row(pattern: str, title: str, help: str, *write: str) -> Row:
    """A row; NAME in the pattern stands for a name."""
    return Row(re.compile(pattern.replace("NAME", _NAME)), title, help, write)
