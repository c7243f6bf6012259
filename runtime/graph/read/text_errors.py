"""The one message that a wrong file gets: the file, the line, what was found there and what was expected."""

from __future__ import annotations

from pathlib import Path

from vlang.errors import GraphError

__all__ = ["plural", "problem", "shortened"]

_SHOWN = 72


def shortened(text: str) -> str:
    """At most 72 characters of a line, with what cannot be printed escaped."""
    line = text.strip("\r\n")
    if len(line) > _SHOWN:
        line = line[:_SHOWN] + "..."
    return "".join(c if c.isprintable() else "\t" if c == "\t" else ascii(c)[1:-1] for c in line)


def problem(
    path: Path, what: str, *, line: int | None = None, found: str | None = None, expected: str | None = None
) -> GraphError:
    """The error for `path`; `line` counts from 1, `found` is the line or token as it stands in the file."""
    parts = [f"{path}: {what}" if line is None else f"{path}, line {line}: {what}"]
    if found is not None:
        parts.append(f"  found:    {shortened(found) or '(an empty line)'}")
    if expected is not None:
        parts.append(f"  expected: {expected}")
    return GraphError("\n".join(parts))


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 edge`, `2,000 edges`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
