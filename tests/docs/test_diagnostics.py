"""Every diagnostic has a page, its examples are up to date, and its proposals compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.diagnostics import FOLDER, LANGUAGE, index, language, page
from tests.docs.transcripts import blocks
from vlang.editor.service import problems_in
from vlang.syntax.codes import Code
from vlang.syntax.layout.format import format_text

NEWS = "write it with: python -m tests.docs.diagnostics"


def test_every_code_has_a_page_that_is_packaged() -> None:
    assert {path.stem for path in FOLDER.glob("V*.md")} == set(Code)
    for code in Code:
        assert code.page.samefile(FOLDER / f"{code}.md")


@pytest.mark.parametrize("code", list(Code))
def test_a_page_is_up_to_date(code: Code) -> None:
    text = (FOLDER / f"{code}.md").read_text(encoding="utf-8")
    assert text == page(code), NEWS
    if code is not Code.NOT_YET_RUN:
        assert f"[{code}]: " in text, NEWS


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.NOT_YET_RUN])
def test_what_to_write_is_right(code: Code) -> None:
    path: Path = FOLDER / f"{code}.md"
    (right,) = (*blocks(path, "vp"), *blocks(path, "vlang"))
    assert problems_in(right.text) == ()
    assert format_text(right.text) == right.text


def test_the_list_of_pages_is_up_to_date() -> None:
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == index(), NEWS


def test_the_table_of_the_language_is_up_to_date() -> None:
    text = LANGUAGE.read_text(encoding="utf-8")
    assert text == language(), NEWS
    assert all(f"diagnostics/{code}.md" in text for code in Code)


@pytest.mark.parametrize("code", list(Code))
def test_a_row_is_one_line_a_cell(code: Code) -> None:
    for cell in (code.heading, code.description, code.example):
        assert "\n" not in cell
        assert "|" not in cell
    assert code.description.endswith(".")
