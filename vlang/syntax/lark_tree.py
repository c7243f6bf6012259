"""Builds Lark's tree of a text. The tables of the parser are built from `grammar.lark` once, and kept in the cache."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

import lark
from lark import Lark, Token, Tree
from lark.grammar import Rule
from lark.indenter import Indenter
from lark.lexer import TerminalDef

from vlang.runtime.compile.kept import key_of, read_entry, write_entry

__all__ = ["grammar", "raw_tree"]

GRAMMAR = Path(__file__).resolve().with_name("grammar.lark")

_SUFFIX, _MAGIC = "lark", b"vlang tables 1\n"
_PAIRS = "#"  # a dict whose keys are numbers is stored under this key, as a list of pairs


class _Blocks(Indenter):
    """Injects _INDENT and _DEDENT, except inside ( ) and [ ]."""

    NL_type = "_NL"
    OPEN_PAREN_types: ClassVar[list[str]] = ["LPAR", "LSQB"]
    CLOSE_PAREN_types: ClassVar[list[str]] = ["RPAR", "RSQB"]
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 8

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        # A new object for each parse holds its indentations, since all threads share one parser.
        return cast(Iterator[Token], cast(Any, Indenter).process(_Blocks(), stream))


@functools.cache
def grammar() -> Lark:
    """Return the parser. The tables of the parser are built from the grammar once, and stored in the cache directory as
    JSON.
    """
    blocks = _Blocks()
    text = GRAMMAR.read_text(encoding="utf-8")
    key = key_of("grammar", lark.__version__, text)
    tables = read_entry(key, _SUFFIX, _MAGIC)
    if tables is not None:
        data, memo = json.loads(tables, object_hook=_as_dict)
        return cast(Lark, cast(Any, Lark)._load_from_dict(data, memo, postlex=blocks))
    built = Lark(text, parser="lalr", lexer="contextual", postlex=blocks, propagate_positions=True,
                 maybe_placeholders=True)
    data, memo = built.memo_serialize([TerminalDef, Rule])
    data["options"] = {name: value for name, value in data["options"].items() if name != "postlex"}
    write_entry(key, _SUFFIX, _MAGIC, json.dumps(_as_json([data, memo]), separators=(",", ":")).encode())
    return built


def _as_json(value: Any) -> Any:
    """Convert Lark's tables to a form that JSON supports: dicts with numbers as keys become lists of pairs."""
    if isinstance(value, dict):
        items = {key: _as_json(one) for key, one in value.items()}
        return items if all(isinstance(key, str) for key in items) else {_PAIRS: list(items.items())}
    if isinstance(value, (list, tuple)):
        return [_as_json(one) for one in value]
    return value


def _as_dict(items: dict[str, Any]) -> dict[Any, Any]:
    return dict(items[_PAIRS]) if _PAIRS in items else items


def raw_tree(text: str) -> Tree[Token]:
    """Lark's tree of a text. Raises errors of Lark, which `vlang.syntax.mistakes.recovery` converts to problems."""
    return grammar().parse(text if text.endswith("\n") else text + "\n")
