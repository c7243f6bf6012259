"""Choices of two values in other languages: `c ? a : b`, `if (c) a else b`, `if c then a else b`."""

from __future__ import annotations

import re

__all__ = ["with_choices"]

_MOST_BRACKETS = 50  # each level of brackets is translated by itself
_CLOSES = {"(": ")", "[": "]"}
_BEGINS = re.compile(r"(?<![=!<>+\-*/|&^])=(?!=) ?|,|\b(?:where|until|when|require) ")
_ENDS = re.compile(r",| for |:$")
_IF = re.compile(r" ?if ?\(")


def with_choices(text: str) -> str:
    """A text with the choices of C and Scala written in the words of the language, inner ones first."""
    if text.count("(") + text.count("[") > _MOST_BRACKETS:
        return text
    out, place = "", 0
    while place < len(text):
        end = text.find('"', place + 1) if text[place] == '"' else \
            _closing(text, place) if text[place] in _CLOSES else -1
        if end < 0:
            out, place = out + text[place], place + 1
            continue
        inner = text[place + 1 : end]
        out += text[place] + (inner if text[place] == '"' else with_choices(inner)) + text[end]
        place = end + 1
    out = _without_then(out)
    while (new := _first_translated(out)) != out:
        out = new
    return out


def _without_then(text: str) -> str:
    """A text with brackets in place of each `then` outside of brackets."""
    masked = _masked(text)
    then = masked.find(" then ")
    begin = masked.rfind("if ", 0, max(then, 0))
    if then < 0 or begin < 0:
        return text
    test = text[begin + 3 : then].strip()
    test = test if test.startswith("(") and _closing(test, 0) == len(test) - 1 else f"({test})"
    return _without_then(f"{text[:begin]}if {test} {text[then + 6 :]}")


def _first_translated(text: str) -> str:
    """A text in which its first choice outside of brackets is translated; the text itself if there is none."""
    masked = _masked(text)
    begins = [0, *(found.end() for found in _BEGINS.finditer(masked))]
    mark = masked.find("?")
    begin = max((one for one in begins if one <= mark), default=-1)
    head = None if mark >= 0 else next((found for one in begins if (found := _IF.match(masked, one))), None)
    if mark >= 0:
        test_at, closing, other, after = begin, mark, _colon(masked, mark + 1, len(text)), 1
    elif head is not None:
        begin, test_at, closing, after = head.start(), head.end(), _closing(text, head.end() - 1), 6
        other = masked.find(" else ", max(closing, 0))
    else:
        return text
    if closing < 0 or other < 0:
        return text
    end = next((found.start() for found in _ENDS.finditer(masked, other + after)), len(text))
    parts = (text[test_at:closing], text[closing + 1 : other], text[other + after : end])
    test, yes, no = (part.strip() for part in parts)
    yes, no = with_choices(yes), with_choices(no)
    yes = f"({yes})" if " if " in _masked(yes) else yes
    return f"{text[:begin]}{' ' if text[begin : begin + 1] == ' ' else ''}{yes} if {test} else {no}{text[end:]}"


def _colon(masked: str, begin: int, end: int) -> int:
    """The colon of the choice whose `?` stands before a place; -1 if there is none."""
    inner = 0
    for place in range(begin, end):
        inner += masked[place] == "?"
        if masked[place] == ":":
            if inner == 0:
                return place
            inner -= 1
    return -1


def _masked(text: str) -> str:
    """A text of the same length, with dots in place of what is inside brackets and quotes."""
    out, depth, quoted = "", 0, False
    for character in text:
        quoted ^= character == '"'
        depth -= character in ")]" and not quoted
        out += "." if depth > 0 or quoted else character
        depth += character in "([" and not quoted
    return out


def _closing(text: str, opening: int) -> int:
    """The position of the bracket that closes the bracket at `opening`; -1 if there is no such bracket."""
    depth = 0
    for place in range(opening, len(text)):
        depth += (text[place] in "([") - (text[place] in ")]")
        if depth == 0:
            return place
    return -1
