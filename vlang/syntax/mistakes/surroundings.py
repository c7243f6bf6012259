"""Data and functions that the rules for lines of other languages share, such as the program around a line."""

from __future__ import annotations

import re
from dataclasses import field
from itertools import chain, count

from vlang.records import dataclass
from vlang.syntax.lines import Scan
from vlang.syntax.mistakes.habits import Habit
from vlang.syntax.rewrite import one_line

__all__ = ["Surroundings", "closing", "found", "replaced", "split", "surroundings"]


@dataclass(frozen=True)
class Surroundings:
    """The program around a line.

    Attributes:
        fields: the type of each declared vertex field, as written.
        edges: the type of each declared edge field, as written.
        before: the lines above, without indentation.
        after: the lines below, without indentation.
        names: all names of the program.
        top: whether the line is at top level.
    """

    fields: dict[str, str] = field(default_factory=dict)
    edges: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    top: bool = True

    def fresh(self, wish: str) -> str:
        """The name `wish`, followed by a number if the program already uses this name."""
        return next(n for n in chain([wish], (f"{wish}{k}" for k in count(2))) if n not in self.names)


def surroundings(scan: Scan, place: int) -> Surroundings:
    """The declarations of the program, and the lines around the line with the index `place`."""
    lines = scan.lines
    texts = tuple(one_line(scan.source.text[line.start : line.end]) for line in lines)
    declared: dict[str, dict[str, str]] = {"vertex": {}, "edge": {}}
    for line in lines:
        words = [word.text for word in line.words]
        if words[0] in declared and ":" in words[:-1]:
            colon = words.index(":")
            declared[words[0]].update((name, words[colon + 1]) for name in words[1:colon] if name != ",")
    names = frozenset(word.text for line in lines for word in line.words if word.kind == "name")
    return Surroundings(declared["vertex"], declared["edge"], texts[:place], texts[place + 1 :], names,
                        lines[place].indent <= lines[0].indent)


def found(match: re.Match[str], title: str, help: str, *write: str, group: int | str = 0) -> Habit:
    """The habit of a match.

    Args:
        match: the part of the line that the rule recognises.
        title: the mistake, by the name of the construct.
        help: advice in words.
        write: the lines to write instead.
        group: the group of the match that the message marks.
    """
    return Habit(title, (help,), write, match.span(group))


def replaced(line: str, match: re.Match[str], new: str) -> str:
    """The line with another text in place of a match."""
    return line[: match.start()] + new + line[match.end() :]


def split(text: str) -> list[str]:
    """Split a text at the commas that are outside of brackets."""
    parts, depth, begin = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    return [*parts, text[begin:].strip()] if text.strip() else []


def closing(line: str, opening: int) -> int:
    """The position of the bracket that closes the bracket at `opening`; -1 if there is no such bracket."""
    depth = 0
    for place in range(opening, len(line)):
        depth += (line[place] in "([") - (line[place] in ")]")
        if depth == 0:
            return place
    return -1
