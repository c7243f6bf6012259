"""The words that cannot be names (language.md section 2)."""

from __future__ import annotations

__all__ = ["PREDEFINED", "TYPE_NAMES", "WORDS"]

TYPE_NAMES = frozenset({
    "bool", "int", "float", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64",
})

WORDS = TYPE_NAMES | {
    "program", "vertex", "edge", "vertices", "global", "fn", "reduction", "identity", "require", "gather", "apply",
    "activate", "when", "let", "repeat", "until", "times", "at", "most", "sweep", "up", "down", "where", "for", "in",
    "from", "to", "if", "else", "and", "or", "not", "true", "false", "inf", "none", "self", "default",
}

PREDEFINED = frozenset({"N", "M", "degree", "indegree", "outdegree", "iteration"})
