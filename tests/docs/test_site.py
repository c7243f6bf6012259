"""The site builds without a warning, and examples with values have the values that the page shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import example_values, gallery
from tests.docs.transcripts import ROOT
from vlang.check.calls import FUNCTIONS, SPECIAL
from vlang.reductions import REDUCTIONS
from vlang.types import CONVERSIONS

_ELSEWHERE = re.compile(r"<(?:script|img|iframe)[^>]*\ssrc=.?(?:https?:)?//|<link[^>]*stylesheet[^>]*//")
"""A tag that loads something from another server."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install 'vlang[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_is_built_with_every_document(site: Path) -> None:
    for path in (ROOT / "docs").rglob("*.md"):
        page = path.relative_to(ROOT / "docs").with_suffix(".html")
        assert (site / (page.with_stem("index") if page.stem == "README" else page)).is_file()
    found = {entry["location"] for entry in json.loads((site / "search" / "search_index.json").read_text())["docs"]}
    assert {"index.html", "functions.html#reductions", "language.html#61-trap-mode", "contributing.html"} <= found


def test_pages_load_nothing_from_elsewhere_and_escape_programs(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not _ELSEWHERE.search(text), page
    guide = (site / "guide.html").read_text(encoding="utf-8")
    assert '<span class="o">&lt;</span>' in guide, "the lexer of vlang colours programs, and escapes them"
    links = re.findall(r'href="([^"#:]+\.html)', (site / "index.html").read_text(encoding="utf-8"))
    assert "contributing.html" in links
    assert all((site / link).is_file() for link in links)


def test_values_of_examples() -> None:
    assert example_values.rendered() == example_values.PAGE.read_text(encoding="utf-8"), (
        "run python -m tests.docs.example_values"
    )


def test_every_function_has_an_example() -> None:
    shown = example_values.shown()
    loops = {"old", "change", "changed"}  # the guide and the tutorial show them in loops
    missing = ({*REDUCTIONS, *FUNCTIONS, *SPECIAL} - CONVERSIONS - loops) - shown
    assert not missing, f"write a row with an example into a table of docs/functions.md for {sorted(missing)}"


def test_the_gallery_shows_the_pictures_that_it_saves() -> None:
    assert gallery.saved() == gallery.shown()
    assert all((gallery.PICTURES / name).is_file() for name in gallery.shown())
