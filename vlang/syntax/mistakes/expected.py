"""The words that the parser accepts at a place, as text for a message."""

from __future__ import annotations

from vlang.syntax.lark_tree import grammar

__all__ = ["expected_words"]

_VALUE = frozenset({"NUMBER", "NAME", "LPAR"})
_OPERATORS = frozenset({"ADDOP", "MULOP", "POW", "BITOP", "COMPARE", "AND", "OR", "DOT", "LSQB", "IF"})
_SPOKEN = {"NAME": "a name", "NUMBER": "a number", "TYPE": "a type", "UPDATE": "`+=`", "_NL": "the end of the line",
           "_INDENT": "a block", "ADDOP": "`+`", "MULOP": "`*`", "COMPARE": "a comparison", "BITOP": "`|`"}


def expected_words(expected: set[str]) -> str:
    """The expected terminals as text; "" if there are more than five."""
    rest = set(expected)
    words = []
    if rest >= _VALUE:
        words.append("a value")
        rest -= _VALUE | {"TEXT", "TRUE", "FALSE", "INF", "NONE", "SELF", "LSQB", "NOT", "MINUS", "PLUS", "ADDOP"}
    if "TYPE" in rest:
        rest -= {"CATEGORY", "DATE", "TIME", "CONST"}
    if len(rest & _OPERATORS) > 3:
        rest -= _OPERATORS
    words += sorted(_SPOKEN.get(name) or f"`{_terminal(name)}`" for name in rest if name not in ("_DEDENT", "$END"))
    return "" if len(words) > 5 else ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + (words or [""])[-1]


def _terminal(name: str) -> str:
    """The text of a terminal of the grammar, as programs write it."""
    try:
        return str(grammar().get_terminal(name).pattern.value)
    except KeyError:
        return name.lower()
