"""Every diagnostic has a page, its examples are up to date, and what it says to write is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.diagnostics import FOLDER, codes, index, page
from tests.docs.transcripts import blocks
from vlang.editor.service import problems_in
from vlang.syntax.format import format_text

PAGES = sorted(FOLDER.glob("V*.md"))
NEWS = "write it with: python -m tests.docs.diagnostics"


def test_every_code_has_a_page() -> None:
    assert [path.stem for path in PAGES] == sorted({*codes(), "V401"})


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_a_page_is_up_to_date(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == page(path), NEWS
    assert text.startswith(f"# {path.stem}: ")
    if path.stem in codes():
        assert text.count(f"[{path.stem}]: ") >= 1, NEWS


@pytest.mark.parametrize("path", [p for p in PAGES if p.stem in codes()], ids=lambda p: p.stem)
def test_what_to_write_is_right(path: Path) -> None:
    (right,) = (*blocks(path, "vp"), *blocks(path, "vlang"))
    assert problems_in(right.text) == ()
    assert format_text(right.text) == right.text


def test_the_list_of_pages_is_up_to_date() -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == index(), NEWS
