"""Edits pieces of the user's program for the `write:` lines of messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields

from vlang.syntax import tree as t

__all__ = ["below", "comment_in", "edited", "inside", "one_line", "short"]

_COMMENT = re.compile(r'"[^"\n]*"|#')  # a text in quotes, which may contain a `#`, or the `#` of a comment

_SPACES = re.compile(r'("[^"\n]*")|\s+')


def short(text: str, limit: int = 40) -> str:
    """The text on one line, without comments, cut to at most `limit` characters."""
    text = one_line(text)
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def one_line(text: str) -> str:
    """The text on one line, without comments."""
    ends = [(line, comment_in(line)) for line in text.split("\n")]
    lines = [(line if end < 0 else line[:end]).rstrip().removesuffix("\\") for line, end in ends]
    return _SPACES.sub(lambda found: found[1] or " ", " ".join(lines)).strip() if len(lines) > 1 else lines[0]


def comment_in(line: str, start: int = 0) -> int:
    """Return the position of the `#` that begins the comment of a line, searched from `start`; -1 if there is no
    comment.
    """
    for found in _COMMENT.finditer(line, start):
        if found[0] == "#":
            return found.start()
    return -1


def edited(text: str, span: t.Span, edits: Iterable[tuple[t.Span, str]]) -> str:
    """Return the part `span` of the text after edits, written on one line.

    Args:
        edits: pairs of a span and the text that replaces it.
    """
    out, place = [], span.start
    for part, new in sorted(edits, key=lambda e: e[0].start):
        out += [text[place : part.start], new]
        place = part.end
    return one_line("".join([*out, text[place : span.end]]))


def inside(node: t.Node) -> Iterator[t.Node]:
    """The node and all nodes below it, in the order of the text."""
    yield node
    for part in below(node):
        yield from inside(part)


def below(node: t.Node) -> Iterator[t.Node]:
    """The nodes directly below a node, in the order of the text."""
    for spec in fields(node):
        value = getattr(node, spec.name)
        yield from (part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, t.Node))
