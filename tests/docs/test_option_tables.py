"""The tables of options in the documents are up to date, and every option is in a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.networkx_table import PAGE
from tests.docs.networkx_table import page as networkx_page
from tests.docs.option_tables import PAGES, TABLES, page
from tests.docs.transcripts import ROOT
from vlang import __all__ as public
from vlang import errors
from vlang.options import EVERYDAY, RESEARCH


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_tables_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == page(path), "write it with: python -m tests.docs.option_tables"


def test_every_table_and_every_option_is_shown() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
    whole = "".join(texts.values())
    assert all(whole.count(f"<!-- options: {name} -->") == 1 for name in TABLES)
    assert all(f"| `{name}=" in texts["python.md"] for name in EVERYDAY)
    assert all(f"| `{option.flag}" in texts["command.md"] for option in EVERYDAY.values() if option.command)
    assert all(f"| `{name}` |" in texts["research.md"] for name in RESEARCH)


def test_errors_that_documents_name_are_public() -> None:
    """Errors that documents name are public. Two error classes are exceptions: the base class (`vlang.Error`), and the
    subclass of ProgramError and TypeError.
    """
    whole = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    for name in (name for name in errors.__all__ if name[0].isupper()):
        if name not in ("VlangError", "ProgramTypeError"):
            assert name in public, name
        else:
            assert name not in whole


def test_the_table_of_the_networkx_backend_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == networkx_page(), "write it with: python -m tests.docs.networkx_table"
