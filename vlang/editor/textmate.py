"""Syntax colouring by a TextMate grammar, for Visual Studio Code, Sublime Text, TextMate and GitHub.

`python -m vlang.editor.textmate FILE` writes the grammar of `editors/vscode`; a test checks that this file is up to
date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from vlang.editor import classes

__all__ = ["grammar_text"]


def grammar_text() -> str:
    """The TextMate grammar as JSON text."""
    patterns: list[tuple[str, str]] = [
        ("comment.line.number-sign", classes.COMMENT),
        ("string.quoted.double", classes.TEXT),
        ("constant.numeric", rf"(?<![A-Za-z0-9_])(?:{classes.NUMBER})"),
        *((kind.scope, classes.alternatives(kind)) for kind in classes.WORDS),
        ("variable.other", classes.NAME),
        ("keyword.operator", classes.OPERATOR),
        ("punctuation.separator", classes.PUNCTUATION),
    ]
    grammar: dict[str, Any] = {
        "name": "vlang",
        "scopeName": "source.vp",
        "fileTypes": ["vp"],
        "patterns": [{"name": f"{name}.vp", "match": match} for name, match in patterns],
    }
    return json.dumps(grammar, indent=2) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(grammar_text(), encoding="utf-8")
    else:
        sys.stdout.write(grammar_text())
