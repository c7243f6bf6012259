"""Output: tables on stdout; notes on stderr."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import click

__all__ = ["note", "say", "table", "visible"]

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline


def visible(text: str) -> str:
    """Escape the control characters of a text, as \\x1b, so that ids, names and comments cannot control a terminal."""
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str, *, err: bool = False) -> None:
    """Print a text on stdout or stderr, with control characters escaped."""
    click.echo(visible(text), err=err)


def note(text: str) -> None:
    """Print a text on stderr, with control characters escaped."""
    say(text, err=True)


def cell(value: Any) -> str:
    """The text of a value in a table; floats have six significant digits."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else str(value)
    return visible(str(value)).replace("\n", "\\n").replace("\t", "\\t")


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as text with aligned columns; columns of numbers are aligned to the right."""
    texts = [[cell(v) for v in row] for row in rows]
    right = [all(isinstance(row[i], (int, float)) or row[i] is None for row in rows) and bool(rows)
             for i in range(len(header))]  # fmt: skip
    widths = [max(len(header[i]), *(len(t[i]) for t in texts)) if texts else len(header[i]) for i in range(len(header))]
    lines = [
        "  ".join(t.rjust(w) if r else t.ljust(w) for t, w, r in zip(line, widths, right)).rstrip()
        for line in [list(header), *texts]
    ]
    return "\n".join(lines)
