"""Words and signs of SQL, C, Java and Python within a line, such as `SUM(x FOR v IN vertices)`, `!a && b`, `'text'`."""

from __future__ import annotations

import re

from vlang.syntax.mistakes.spelling.choices import with_choices

__all__ = ["as_repeat", "respelled"]

_TOKEN = re.compile(r'"[^"]*"|\'[^\']*\'|&&|\|\||<>|[=!<>+*/|&^-]=|[A-Za-z_]\w*|\d[\w.]*|\s+|.')
_SIGNS = {"&&": "and", "||": "or", "<>": "!="}
_WORDS = {
    **{word: word.lower() for word in ("FOR", "IN", "IF", "ELSE", "AND", "OR", "NOT", "WHERE", "BY", "TRUE", "FALSE")},
    "WHEN": "if", "True": "true", "False": "false", **dict.fromkeys(("NULL", "null", "nullptr", "None", "nil"), "none"),
}
_FOLDS = {"SUM": "sum", "COUNT": "count", "MIN": "min", "MAX": "max", "AVG": "mean", "ANY": "any", "ALL": "all",
          "EXISTS": "any"}
_TYPES = {
    **dict.fromkeys(("double", "real", "number", "Double", "Float", "float32"), "float"), "float64": "f64",
    **dict.fromkeys(("long", "Long", "int64", "bigint"), "i64"),
    **dict.fromkeys(("integer", "Int", "Integer", "int32"), "int"),
    **dict.fromkeys(("boolean", "Boolean", "Bool"), "bool"), **dict.fromkeys(("uint", "uint32"), "u32"),
    **dict.fromkeys(("ulong", "uint64", "u_int64"), "u64"), "uint16": "u16", **dict.fromkeys(("uint8", "byte"), "u8"),
    "int16": "i16", "short": "i16", "int8": "i8", "float16": "f16", "half": "f16",
}
_TESTING = frozenset({"where", "if", "while", "repeat", "require", "activate", "until"})


def respelled(line: str) -> tuple[str, str, str]:
    """A line with the words and signs of other languages spelled as here; and the first of them, before and after.

    The line need not parse. If it has no such words, it is returned as it is, with two empty texts.
    """
    words: list[str] = _TOKEN.findall(line.rstrip("; "))
    said, written = "", ""
    depth = 0
    begin = next((word for word in words if word.strip()), "")
    if begin == "program":
        return line, "", ""
    assigned = begin.lower() in _TESTING  # else the first `=` assigns
    for place, word in enumerate(words):
        depth += (word in "([") - (word in ")]") if len(word) == 1 else 0
        before = next((one for one in reversed(words[:place]) if one.strip()), "")
        after = next((one for one in words[place + 1 :] if one.strip()), "")
        new = _spelled(word, before, after, depth)
        if word == "=":
            named = before in ("default", "weight") or _key(words[:place])
            new = "==" if assigned and not named else "="
            assigned = True
        if new != word:
            left = " " if new.isalpha() and place and not words[place - 1][-1].isspace() and \
                words[place - 1] not in "([" and word in _SIGNS else ""
            right = " " if word in _SIGNS and new.isalpha() and place + 1 < len(words) and \
                not words[place + 1][0].isspace() else ""
            words[place] = left + new + right
            if not said:
                said, written = word, new.strip()
    text = "".join(words)
    text = re.sub(r"\) ?\{$|(?<=\w) ?\{$", lambda found: (")" if found[0][0] == ")" else "") + ":", text)
    choice = with_choices(text)
    if choice != text and not said:
        if "?" in text:
            said, written = "?", "if"
        else:
            said, written = f"if {'c then' if ' then ' in text else '(c)'} a else b", "a if c else b"
    choice = re.sub(r"^if (.+):$", r"where \1:", choice)
    choice = re.sub(r"^while (.+):$", lambda found: as_repeat(found[1]), choice)
    return choice, said, written


def as_repeat(cond: str) -> str:
    """The head of the loop that runs while a condition holds."""
    endless = cond.strip("() ") in ("changed", "True", "true", "1", "not converged", "not done")
    return "repeat:" if endless else f"repeat until not ({cond}):"


def _key(words: list[str]) -> bool:
    """Whether words end with `by NAME`, whose `=` names the key of a group."""
    last = [word for word in words if word.strip()][-2:]
    return len(last) == 2 and last[0] in ("by", "BY")


def _spelled(word: str, before: str, after: str, depth: int) -> str:
    """A word as it is spelled here.

    Args:
        word: the word.
        before, after: the words beside it.
        depth: the number of brackets that are open.
    """
    if word.startswith("'") and len(word) > 1:
        return f'"{word[1:-1]}"' if '"' not in word else word
    if word == "!" and after != "=":
        return "not "
    if word.upper() == "WHERE" and depth > 0:
        return "if"
    if before == ":" and word in _TYPES:
        return _TYPES[word]
    if after == "(" and word in _FOLDS:
        return _FOLDS[word]
    return _SIGNS.get(word) or _WORDS.get(word, word)
