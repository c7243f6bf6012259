"""Edits pieces of the user's program for the `write:` lines of messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields

from vlang.syntax import tree as t

__all__ = ["edited", "inside", "one_line", "short"]


def short(text: str, limit: int = 40) -> str:
    """The text on one line, without comments, cut to at most `limit` characters."""
    text = one_line(text)
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def one_line(text: str) -> str:
    """The text on one line, without comments."""
    lines = [line.split("#")[0].rstrip().removesuffix("\\") for line in text.split("\n")]
    return " ".join(" ".join(lines).split()) if len(lines) > 1 else lines[0]


def edited(text: str, span: t.Span, edits: Iterable[tuple[t.Span, str]]) -> str:
    """The part `span` of the text on one line, after edits. edits: pairs of a span and the text that replaces it."""
    out, place = [], span.start
    for part, new in sorted(edits, key=lambda e: e[0].start):
        out += [text[place : part.start], new]
        place = part.end
    return one_line("".join([*out, text[place : span.end]]))


def inside(node: t.Node) -> Iterator[t.Node]:
    """The node and all nodes below it, in the order of the text."""
    yield node
    for spec in fields(node):
        value = getattr(node, spec.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, t.Node):
                yield from inside(part)
