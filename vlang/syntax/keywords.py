"""The words that cannot be names (language.md section 2), each in one group.

The lexers for editors are generated from these groups (`vlang.editor.classes`).
"""

from __future__ import annotations

__all__ = ["ACTING", "DECLARING", "LOOPING", "OPERATING", "PREDEFINED", "TYPE_NAMES", "VALUES", "WORDS"]

TYPE_NAMES = frozenset({
    "bool", "int", "float", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64",
})
DECLARING = frozenset({
    "program", "vertex", "edge", "vertices", "global", "fn", "reduction", "identity", "require", "default",
})
ACTING = frozenset({"gather", "apply", "let", "activate", "when"})
LOOPING = frozenset({
    "repeat", "until", "times", "at", "most", "sweep", "up", "down", "where", "for", "in", "from", "to", "if", "else",
})
OPERATING = frozenset({"and", "or", "not"})
VALUES = frozenset({"true", "false", "inf", "none", "self"})

WORDS = TYPE_NAMES | DECLARING | ACTING | LOOPING | OPERATING | VALUES

PREDEFINED = frozenset({"N", "M", "degree", "indegree", "outdegree", "iteration"})
