"""Messages for a wrong file: the file, the line, the text found there and what was expected."""

from __future__ import annotations

import re
from pathlib import Path

from vlang.errors import GraphError
from vlang.runtime.graph.read.asked import Missing, is_missing

__all__ = ["COMMA", "explain_cell", "problem", "shortened"]

COMMA = re.compile(r"[+-]?[\d.]*\d(,\d+)+(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
"""Matches numbers with decimal commas or with commas between thousands."""

_SHOWN = 72


def shortened(text: str) -> str:
    """The first 72 characters of a line, with unprintable characters escaped."""
    line = text.strip("\r\n")
    if len(line) > _SHOWN:
        line = line[:_SHOWN] + "..."
    return "".join(c if c.isprintable() else "\t" if c == "\t" else ascii(c)[1:-1] for c in line)


def problem(
    path: Path | str, what: str, *, line: int | None = None, found: str | None = None, expected: str | None = None
) -> GraphError:
    """The GraphError for a wrong file.

    Args:
        path: the file.
        what: what is wrong.
        line: the line number, from 1; None if no single line is wrong.
        found: the line or token in the file; None to omit it.
        expected: what was expected; None to omit it.
    """
    parts = [f"{path}: {what}" if line is None else f"{path}, line {line}: {what}"]
    if found is not None:
        parts.append(f"  found:    {shortened(found) or '(an empty line)'}")
    if expected is not None:
        parts.append(f"  expected: {expected}")
    return GraphError("\n".join(parts))


def explain_cell(cell: str, column: str, missing: Missing) -> tuple[str, str]:
    """Returns (what is wrong with a cell in a column of numbers, what to write instead).

    `missing` is the requested treatment of missing cells.
    """
    shown = shortened(cell)
    if is_missing(cell):
        what = f"{column} is empty" if not cell else f"{column} has no number, only {shown!r}"
        if missing == "drop":  # "drop" was requested, but this column is not needed
            return what, "a number; rows are dropped for the columns that a program reads: columns=[...] names them"
        return what, ('a number; or --missing drop (missing="drop") to leave such rows out, --missing 1 (missing=1) to '
                      "put a number there")  # fmt: skip
    if COMMA.fullmatch(cell):
        return f"{shown!r} in {column} is not a number", "a decimal point and no commas, such as 1234.5"
    return f"{shown!r} in {column} is not a number", "a number, such as 5 or 1.5"
