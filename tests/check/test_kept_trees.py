"""Syntax trees in the cache directory: the same as parsed ones, never those of another text or a damaged file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vlang import stdlib
from vlang.check import parse
from vlang.check.tables import kept_trees
from vlang.errors import ProgramError
from vlang.runtime.compile import kept
from vlang.syntax.dump import dump
from vlang.syntax.mistakes import recovery


@pytest.fixture
def entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory."""
    monkeypatch.setattr(kept, "cache_dir", lambda: tmp_path)
    return tmp_path


def test_every_program_of_the_library_has_the_same_tree(entries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {f"{name}.vp": stdlib.path(name).read_text() for name in stdlib.names()}
    trees = {name: parse(text, name) for name, text in texts.items()}
    assert len(list(entries.glob("*.tree"))) == len(texts)
    monkeypatch.setattr(recovery, "read", None)  # the parser is not called again
    for name, text in texts.items():
        again = parse(text, f"other/{name}")
        assert dump(again) == dump(trees[name])
        assert again.filename == f"other/{name}"
        assert again.text == text
        assert [item.span for item in again.items] == [item.span for item in trees[name].items]


def test_texts_that_are_not_kept(entries: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "program p\nvertex x: int = 1\n"
    parse(text, "<text>")
    with pytest.raises(ProgramError):
        parse(text + "vertex\n", "p.vp")
    assert not list(entries.glob("*.tree"))
    parse(text, "p.vp")
    (entry,) = entries.glob("*.tree")
    whole = entry.read_bytes()
    entry.write_bytes(whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    assert kept_trees.kept_tree(text, "p.vp") is None
    assert parse(text, "p.vp").name == "p"
    assert kept_trees.kept_tree(text + "\n", "p.vp") is None
    assert entry.read_bytes() == whole
    monkeypatch.setattr(kept_trees, "_sources", lambda: "other")  # the parser has changed
    assert kept_trees.kept_tree(text, "p.vp") is None


def test_a_known_program_loads_no_parser() -> None:
    code = "import sys, vlang; vlang.load('bfs'); print(any(name.split('.')[0] == 'lark' for name in sys.modules))"
    for shown in (None, "False\n"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert shown is None or done.stdout == shown
