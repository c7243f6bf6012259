"""Classes of tokens for syntax colouring: one table for all editors.

The words come from the groups of `vlang.syntax.keywords` and from the tables of functions and reductions.
"""

from __future__ import annotations

from vlang.check.calls import FUNCTIONS, SPECIAL
from vlang.check.reductions.keyed import PICK
from vlang.records import dataclass
from vlang.reductions import REDUCTIONS
from vlang.syntax import keywords as w

__all__ = ["COMMENT", "NAME", "NUMBER", "OPERATOR", "PUNCTUATION", "TEXT", "WORDS", "WordClass", "alternatives"]

COMMENT = r"#[^\n]*"
NUMBER = r"0[xX][0-9a-fA-F]+|(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?"
TEXT = r'"[^"\n]*"'
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
OPERATOR = r"->|--|\*\*|//|==|!=|<=|>=|<<|>>|[-+*|&^]=|[-+*/%<>=|&^@]"
PUNCTUATION = r"[()\[\],.:]"


@dataclass(frozen=True)
class WordClass:
    """Words that have the same colour.

    Attributes:
        words: the words.
        token: the name of a Pygments token.
        scope: the scope in a TextMate grammar.
        called: whether the words are coloured only in front of an opening bracket.
    """

    words: frozenset[str]
    token: str
    scope: str
    called: bool = False


WORDS = (
    WordClass(w.DECLARING, "Keyword.Declaration", "storage.type"),
    WordClass(w.ACTING, "Keyword", "keyword.other"),
    WordClass(w.LOOPING, "Keyword.Reserved", "keyword.control"),
    WordClass(w.OPERATING, "Operator.Word", "keyword.operator.word"),
    WordClass(w.VALUES, "Keyword.Constant", "constant.language"),
    WordClass(w.TYPE_NAMES | w.NAMED_TYPES, "Keyword.Type", "support.type"),
    WordClass(w.PREDEFINED, "Name.Builtin.Pseudo", "variable.language"),
    WordClass(frozenset({*FUNCTIONS, *SPECIAL, *REDUCTIONS, PICK}) - w.TYPE_NAMES, "Name.Builtin", "support.function",
              called=True),
)


def alternatives(kind: WordClass) -> str:
    """Return a regular expression for the words of a class, without capturing groups. The expression does not match a
    word after a dot.
    """
    return rf"(?<!\.)\b(?:{'|'.join(sorted(kind.words))})\b" + (r"(?=[ \t]*\()" if kind.called else "")
