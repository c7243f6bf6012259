"""The commands, Python sessions, programs and links of the documentation work."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vlang
from tests.docs.transcripts import ROOT, Block, blocks, commands, documents, normal, replay, workspace
from tests.sample import EACH_KIND, sampled
from vlang import stdlib


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("reader"))


def every(language: str) -> list[object]:
    return [
        pytest.param(block, id=f"{path.relative_to(ROOT)}:{block.line}")
        for path in documents()
        for block in blocks(path, language)
    ]


@pytest.mark.parametrize("block", every("console"))
def test_transcript(block: Block, place: Path) -> None:
    assert normal(replay(block, place)) == normal(block.text)


_NEEDS = re.compile(r"<!-- needs: (.*) -->")


@pytest.mark.parametrize("path", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in documents()])
def test_python_session(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of a document form one session, and their outputs are right."""
    found = blocks(path, "python")
    if not found:
        pytest.skip("no Python in it")
    for library in " ".join(_NEEDS.findall(path.read_text(encoding="utf-8"))).split():
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    text = "\n".join(block.text for block in found)
    test = doctest.DocTestParser().get_doctest(text, {}, path.name, str(path), 0)
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    assert not report, "".join(report)


@pytest.mark.parametrize("block", every("vp"))
def test_program_compiles(block: Block) -> None:
    assert not vlang.compile(block.text).warnings


@pytest.mark.parametrize("path", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in documents()])
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_readme_shows_the_example_as_it_is() -> None:
    (shown,) = blocks(ROOT / "README.md", "vp")
    code = "".join(line for line in (ROOT / "examples/opinions.vp").read_text().splitlines(True) if line[0] != "#")
    assert shown.text == code


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_script(script: Path, tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(": True\n")


DATA = Path(os.environ.get("VLANG_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("name", sampled(stdlib.names(), EACH_KIND[::4]))
def test_example_command_of_a_program(name: str, place: Path) -> None:
    """The command in the comment of a program runs, and its result passes --verify."""
    (example,) = re.findall(r"^# Example: (.*)$", stdlib.source(name), re.MULTILINE)
    if "ca-GrQc" in example:
        if not DATA.is_dir():
            pytest.skip("the shared graphs are not here; VLANG_DATA names their folder")
        example = example.replace("ca-GrQc.txt.gz", str(DATA / "ca-GrQc" / "ca-GrQc.txt.gz"))
    shown = replay(Block("console", f"$ {example} --verify; echo status $?\n", 0, 0, 0), place)
    assert "verified: the same bits" in shown
    assert shown.endswith("status 0\n")


def test_every_console_block_has_a_command_and_none_shows_a_bug() -> None:
    for path in documents():
        for block in blocks(path, "console"):
            assert commands(block), f"{path.name}:{block.line}"
            assert "a bug in vlang" not in block.text, f"{path.name}:{block.line}"
