"""Diagnostics: the mistake, its place, and a proposal. They are data; `render` builds the text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from vlang.errors import ProgramError, ProgramTypeError
from vlang.syntax.codes import Code
from vlang.syntax.tree import Span

__all__ = ["Problem", "failure", "in_order", "nearest", "render", "report"]


_MOST = 20  # diagnostics shown
_SHORT = 3  # up to this length a similar name must have the same first letter
_WIDEST = 160  # characters of a source line shown


@dataclass(frozen=True)
class Problem:
    """One diagnostic.

    Attributes:
        code: the row of the registry.
        title: the mistake, in terms of the program.
        span: the primary place.
        label: the text at the marks below that place.
        notes: further places with their labels.
        help: advice in words, including proposals that the user must complete.
        write: lines of text that compile in place of `replaces`.
        replaces: None for the primary span. If it is empty, the lines are inserted below its line.
    """

    code: Code
    title: str
    span: Span
    label: str = ""
    notes: tuple[tuple[Span, str], ...] = ()
    help: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    replaces: Span | None = None

    @property
    def severity(self) -> str:
        """The severity of its code: "error" or "warning"."""
        return self.code.severity


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems in order of place, without repetitions."""
    return tuple(dict.fromkeys(sorted(problems, key=lambda p: (p.span.start, p.span.end, p.code))))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`, if one is similar enough."""
    known = sorted(set(known))
    same = [k for k in known if k.lower() == name.lower()]
    if len(name) <= _SHORT:  # `sin` and `min` differ by one letter as well
        known = [k for k in known if k[0].lower() == name[0].lower()]
    close = same or get_close_matches(name, known, n=1, cutoff=0.6)
    return close[0] if close else None


def render(problem: Problem, text: str, filename: str) -> str:
    """The diagnostic as text: title, place, source lines with marks, help, and what to write."""
    span = problem.span
    lines = [
        f"{problem.severity}[{problem.code}]: {problem.title}",
        f"  --> {filename}:{span.line}:{span.column}",
        *_marked(text, span, problem.label, "^"),
    ]
    for place, label in problem.notes:
        lines += _marked(text, place, label, "-")
    lines += _advice("help", problem.help)
    lines += _advice("write", problem.write)
    return "\n".join(lines)


def report(problems: Sequence[Problem], text: str, filename: str) -> str:
    """The first diagnostics as text, separated by empty lines, and the number of others."""
    shown = [render(p, text, filename) for p in problems[:_MOST]]
    more = len(problems) - len(shown)
    return "\n\n".join([*shown, *([f"and {more:,} more"] if more else [])])


def failure(problems: Iterable[Problem], text: str, filename: str) -> ProgramError:
    """The error that carries these problems; a ProgramTypeError if each of them is a wrong type."""
    found = in_order(problems)
    kind = ProgramTypeError if all(p.code is Code.WRONG_TYPE for p in found) else ProgramError
    return kind(report(found, text, filename), found)


def _marked(text: str, span: Span, label: str, mark: str) -> list[str]:
    """The source line of a span and, below it, the marks with the label. A longer span is marked to its line's end."""
    begin = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", begin)
    line = text[begin : len(text) if end < 0 else end].rstrip("\r")
    column = span.start - begin
    width = max(1, min(span.end - begin, len(line)) - column)
    line, column, width = _window(line, column, width)
    shown = "".join(c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in line)
    marks = " " * column + mark * width + (f" {label}" if label else "")
    return [f"{span.line:>4} | {shown}".rstrip(), f"     | {marks}"]


def _window(line: str, column: int, width: int) -> tuple[str, int, int]:
    """The part of a long line around the marks."""
    first = max(column - _WIDEST // 2, 0) if len(line) > _WIDEST else 0
    if first == 0 and len(line) <= _WIDEST:
        return line, column, width
    head = "... " if first else ""
    shown = head + line[first : first + _WIDEST]
    column += len(head) - first
    return shown + (" ..." if first + _WIDEST < len(line) else ""), column, min(width, len(shown) - column)


def _advice(kind: str, lines: tuple[str, ...]) -> list[str]:
    head = f"     = {kind}: "
    return [(head if i == 0 else " " * len(head)) + line for i, line in enumerate(lines)]
