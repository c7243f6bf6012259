"""The words of the language (language.md section 2), each in one group, and the words that cannot be names.

The lexers for editors are generated from these groups (`vlang.editor.classes`).
"""

from __future__ import annotations

__all__ = [
    "ACTING", "CONTEXTUAL", "DECLARING", "LOOPING", "NAMED_TYPES", "OPERATING", "PREDEFINED", "RESERVED", "TYPE_NAMES",
    "VALUES", "WORDS",
]

TYPE_NAMES = frozenset({
    "bool", "int", "float", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64",
})
NAMED_TYPES = frozenset({"category", "date", "time"})
DECLARING = frozenset({
    "program", "vertex", "edge", "vertices", "global", "fn", "reduction", "identity", "require", "default", "const",
    "state",
})
ACTING = frozenset({"gather", "apply", "let", "activate", "when"})
LOOPING = frozenset({
    "repeat", "until", "times", "at", "most", "sweep", "up", "down", "where", "for", "in", "from", "to", "if", "else",
    "by", "weight",
})
OPERATING = frozenset({"and", "or", "not"})
VALUES = frozenset({"true", "false", "inf", "none", "self"})

WORDS = TYPE_NAMES | NAMED_TYPES | DECLARING | ACTING | LOOPING | OPERATING | VALUES

CONTEXTUAL = frozenset({
    "identity", "default", "when", "until", "times", "at", "most", "up", "down", "from", "to", "by", "weight", "const",
    "state",
    *NAMED_TYPES,
})
"""Words with a meaning at one place of a statement, where no name can stand; everywhere else they are names."""

RESERVED = WORDS - CONTEXTUAL
"""Words that cannot be names."""

PREDEFINED = frozenset({"N", "M", "degree", "indegree", "outdegree", "iteration"})
