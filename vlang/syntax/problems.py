"""Diagnostics as data: the mistake, its place, and what to write instead. `render` turns a diagnostic into text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from vlang.errors import ProgramError, ProgramTypeError
from vlang.records import dataclass
from vlang.syntax.codes import Code
from vlang.syntax.tree import Span

__all__ = ["Problem", "failure", "in_order", "nearest", "render", "report"]


_MOST = 20  # diagnostics in a report
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
_SAID = frozenset({"my", "own", "self", "the", "get", "of", "vertex", "node", "edge", "v", "u"})
_SHORT = 3  # for names of at most this length, a similar name must have the same first letter
_WIDEST = 160  # characters that are shown of a program line


@dataclass(frozen=True)
class Problem:
    """One diagnostic.

    Attributes:
        code: the code, a row of the registry.
        title: a sentence that says what is wrong.
        span: the wrong part of the program.
        label: the text beside the marks that underline `span`.
        notes: further parts of the program, each with a label.
        help: lines of advice, including proposals that the user must complete.
        write: program lines that compile if they replace the part `replaces`.
        replaces: the part that `write` replaces; None means `span`. If `replaces` is an empty span, `write` is inserted
            below the line of this span.
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
    """The problems in the order of their places in the text, without duplicates."""
    return tuple(dict.fromkeys(sorted(problems, key=lambda p: (p.span.start, p.span.end, p.code))))


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`; None if no name is similar enough."""
    known = sorted(one for one in set(known) if not is_another(name, one))
    same = [k for k in known if k.lower() == name.lower() and len(name) > 1]
    if len(name) <= _SHORT:  # otherwise `min` would be proposed for `sin`
        known = [k for k in known if k[0].lower() == name[0].lower()]
    close = same or get_close_matches(name, known, n=1, cutoff=0.6)
    return close[0] if close else None


def is_another(name: str, known: str) -> bool:
    """Whether a name has other words or numbers than a known one: `rank_old`, `rank2` and `max_rank` are not `rank`."""
    words, other = (_words(one) for one in (name, known))
    if "".join(words) == "".join(other):
        return False
    if len(words) != len(other):
        return _own(words) != _own(other)
    if len(words) > 1:
        pairs = zip(words, other, strict=True)
        return any(one != two and not get_close_matches(one, [two], cutoff=0.6) for one, two in pairs)
    (one,), (two,) = words, other
    if two in one and len(two) > _SHORT and one.removesuffix("s") != two and len(one) - len(two) > 1:
        return True
    return abs(len(one) - len(two)) > 1 and min(len(one), len(two)) <= _SHORT + 1 and not two.startswith(one)


def _words(name: str) -> list[str]:
    """The words and numbers of a name: `rank_old2` has the words `rank`, `old` and `2`."""
    return [word.lower() for word in _WORD.findall(name)] or [name]


def _own(words: list[str]) -> str:
    """The words of a name without those that only say that it is the value of a vertex or edge."""
    return "".join(word for word in words if word not in _SAID)


def render(problem: Problem, text: str, filename: str) -> str:
    """The diagnostic as text: title, place, program lines with marks, `help:` lines and `write:` lines."""
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
    """The first diagnostics as text, separated by empty lines, and the number of the remaining diagnostics."""
    shown = [render(p, text, filename) for p in problems[:_MOST]]
    more = len(problems) - len(shown)
    return "\n\n".join([*shown, *([f"and {more:,} more"] if more else [])])


def failure(problems: Iterable[Problem], text: str, filename: str) -> ProgramError:
    """Return a ProgramError with these problems, or a ProgramTypeError if all problems are wrong types."""
    found = in_order(problems)
    kind = ProgramTypeError if all(p.code is Code.WRONG_TYPE for p in found) else ProgramError
    return kind(report(found, text, filename), found)


def _marked(text: str, span: Span, label: str, mark: str) -> list[str]:
    """The first line of a span and, below it, a line that marks the span and shows the label."""
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
    """Return the part of a long line around the marks, and the column and the width of the marks in this part."""
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
