"""The programs shown in the tutorial equal the files that its commands run, in the layout of `vlang fmt`."""

from __future__ import annotations

import re

from tests.check.test_mistakes import problems_of
from tests.docs.transcripts import ROOT, blocks
from vlang.syntax.layout.format import format_text

FILES = sorted((ROOT / "examples" / "tutorial").glob("*.vp"))


def test_the_tutorial_shows_its_files_as_they_are() -> None:
    shown = [block.text for block in blocks(ROOT / "docs" / "tutorial.md", "vp")]
    assert sorted(shown) == sorted(path.read_text(encoding="utf-8") for path in FILES)
    assert all(format_text(text) == text for text in shown)


def test_what_else_there_is_compiles() -> None:
    """Each piece of the table in a program of its own: a statement, the head of a block, a type, or a value."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .+? \| (`.+`) \|$", text.partition("## What else there is")[2], re.MULTILINE)
    pieces = [piece for row in rows for piece in re.findall(r"`([^`]+)`", row)]
    assert len(pieces) >= 13
    for piece in pieces:
        head = "program p(r: vertex, seed: int = 1)\nedge weight: float = 1\nvertex x: float = 1\n" \
            "vertex label: vertex = self\n"
        head += "" if piece.startswith("edge") else "edge state f: float = 0\n"
        head += "" if piece.startswith("let") else "let q = r\n"
        if piece.endswith(":"):
            program = f"{piece}\n    apply x = 1\n"
        elif re.match(r"edge|let|where|apply", piece):
            program = f"{piece}\n"
        elif re.match(r"sum|mode|max", piece):
            program = f"gather g = {piece}\n"
        else:
            value = "." in piece or "(" in piece
            program = f"repeat 2 times:\n    apply x = {piece}\n" if value else f"vertex y: {piece}\n"
        errors = [problem for problem in problems_of(head + program) if problem.severity == "error"]
        assert not errors, (piece, errors)
