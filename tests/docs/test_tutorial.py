"""The programs shown in the tutorial equal the files that its commands run, in the layout of `vlang fmt`."""

from __future__ import annotations

from tests.docs.transcripts import ROOT, blocks
from vlang.syntax.layout.format import format_text

FILES = sorted((ROOT / "examples" / "tutorial").glob("*.vp"))


def test_the_tutorial_shows_its_files_as_they_are() -> None:
    shown = [block.text for block in blocks(ROOT / "docs" / "tutorial.md", "vp")]
    assert sorted(shown) == sorted(path.read_text(encoding="utf-8") for path in FILES)
    assert all(format_text(text) == text for text in shown)
