"""Output: tables on stdout; notes and progress on stderr."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.status import Status

    from vlang.runtime.engine.trace import Round

__all__ = ["Advance", "Progress", "global_text", "note", "say", "table", "visible"]

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and newline


def visible(text: str) -> str:
    """A text with control characters escaped, as \\x1b, so that ids, names and comments cannot control a terminal."""
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


def global_text(value: Any, type_: str) -> str:
    """The full text of a graph-level value; an integer that stands for an infinity becomes "inf" or "-inf"."""
    from vlang.runtime.storage.output import json_value  # start-up

    if type_.startswith("i") and json_value(value, type_) is None:
        return "inf" if value > 0 else "-inf"
    return str(value)


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


class Advance:
    """Shows the progress of a conversion on stderr: a status line on a terminal, else a line every five seconds."""

    def __init__(self) -> None:
        self._start = self._shown = time.monotonic()
        self._line = _StatusLine(0.5)

    def __enter__(self) -> Advance:
        return self

    def __call__(self, step: str, fraction: float) -> None:
        """Show progress. step: the current step. fraction: the part of the whole conversion that is done, 0 to 1."""
        now = time.monotonic()
        if now - self._shown < (0.2 if self._line.terminal else 5) or fraction <= 0:
            return
        self._shown = now
        left = (now - self._start) * (1 - fraction) / fraction
        text = f"{step}: {fraction:.0%} of all done, about {_span(left)} left"
        if self._line.terminal:
            self._line.show(text)
        else:
            note(text)

    def __exit__(self, *_: object) -> None:
        self._line.end()


def _span(seconds: float) -> str:
    """A rounded time as text."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


class _StatusLine:
    """A status line on a terminal.

    The line appears after `after` seconds, so that short runs do not load the library that draws it.
    """

    def __init__(self, after: float) -> None:
        self.terminal = sys.stderr.isatty()
        self._from = time.monotonic() + after
        self._status: Status | None = None

    def show(self, text: str) -> None:
        """Replace the text of the status line."""
        if self._status is not None:
            self._status.update(text)
        elif time.monotonic() > self._from:
            from rich.console import Console  # start-up

            self._status = Console(stderr=True).status(text)
            self._status.start()

    def end(self) -> None:
        """Remove the status line."""
        if self._status is not None:
            self._status.stop()


class Progress:
    """Shows the progress of a run on stderr: a status line on a terminal, else plain lines.

    Plain lines are printed for rounds 1, 2, 5, 10, 20, 50, 100 and so on, and at least every five seconds.
    A terminal's status line appears after half a second, so that short runs do not load the library that draws it.
    """

    def __init__(self) -> None:
        self._shown = time.monotonic()
        self._line = _StatusLine(0.5)

    def __enter__(self) -> Progress:
        return self

    def __call__(self, round_: Round) -> None:
        """Called by the engine after every superstep."""
        text = f"round {round_.round:,}: {round_.active:,} active, {round_.mode}, {round_.edges:,} edges"
        now = time.monotonic()
        if not self._line.terminal:
            if str(round_.round).rstrip("0") in ("1", "2", "5") or now - self._shown > 5:
                self._shown = now
                note(text)
        else:
            self._line.show(text)

    def __exit__(self, *_: object) -> None:
        self._line.end()
