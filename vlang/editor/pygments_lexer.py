"""Syntax colouring by Pygments, for `pygmentize -l vp`, Sphinx, MkDocs and notebooks.

The entry point of the lexer is `vp`.
"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Name, Number, Operator, Punctuation, String, Whitespace, string_to_tokentype

from vlang.editor import classes

__all__ = ["VlangLexer"]


class VlangLexer(RegexLexer):
    """A lexer for `.vp` files."""

    name = "vlang"
    aliases: ClassVar[list[str]] = ["vp", "vlang"]
    filenames: ClassVar[list[str]] = ["*.vp"]
    tokens: ClassVar = {
        "root": [
            (r"[ \t\r\n]+|\\[ \t]*\r?\n", Whitespace),
            (classes.COMMENT, Comment.Single),
            (classes.TEXT, String),
            (classes.NUMBER, Number),
            *((classes.alternatives(kind), string_to_tokentype(kind.token)) for kind in classes.WORDS),
            (classes.NAME, Name),
            (classes.OPERATOR, Operator),
            (classes.PUNCTUATION, Punctuation),
        ],
    }
