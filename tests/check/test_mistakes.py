"""Every diagnostic has wrong programs and their complete messages (tests/mistakes/CODE/*.vp and *.txt).

`pytest tests/check/test_mistakes.py --bless` writes the current messages into the .txt files.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from vlang.check import check, parse
from vlang.editor.service import fix
from vlang.errors import ProgramError, ProgramTypeError
from vlang.syntax.codes import Code
from vlang.syntax.problems import Problem, report

ROOT = Path(__file__).parents[2]
MISTAKES = sorted((ROOT / "tests" / "mistakes").glob("*/*.vp"))
MADE_LATER = {Code.NOT_YET_RUN}  # depends on the device, so no program always has it


def name(path: Path) -> str:
    """Return the id of a case."""
    return f"{path.parent.name}-{path.stem}"


def problems_of(text: str) -> tuple[Problem, ...]:
    """Return all problems of a text, including warnings."""
    try:
        found = check(parse(text, "demo.vp")).warnings
    except ProgramError as error:
        found = error.problems
    problems = tuple(p for p in found if isinstance(p, Problem))
    assert len(problems) == len(found)
    return problems


@pytest.mark.parametrize("path", MISTAKES, ids=name)
def test_message(path: Path, pytestconfig: pytest.Config) -> None:
    text = path.read_bytes().decode("utf-8")
    found = problems_of(text)
    said, file = report(found, text, "demo.vp") + "\n", path.with_suffix(".txt")
    if pytestconfig.getoption("--bless"):
        file.write_text(said, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8")
    assert path.parent.name in {p.code for p in found}


@pytest.mark.parametrize("path", MISTAKES, ids=name)
def test_what_is_proposed_is_accepted(path: Path) -> None:
    """The text that a message proposes removes the problem and causes no other problem."""
    text = path.read_bytes().decode("utf-8")
    before = problems_of(text)
    for problem in before:
        edit = fix(text, problem)
        if edit is None:
            continue
        changed = text[: edit.start] + edit.text + text[edit.end :]
        left = problems_of(changed)
        said = changed + "\n" + report(left, changed, "demo.vp")
        was, now = (Counter((p.code, p.title) for p in found) for found in (before, left))
        assert now[problem.code, problem.title] < was[problem.code, problem.title], said
        assert not any(code.severity == "error" for code, _ in now - was), said


def test_every_code_has_a_mistake() -> None:
    assert {path.parent.name for path in MISTAKES} == set(Code) - MADE_LATER
    for code in set(Code) - MADE_LATER:
        assert (ROOT / "tests" / "mistakes" / code / "page.vp").exists(), "the example that the page shows"


@pytest.mark.parametrize("path", MISTAKES, ids=name)
def test_what_is_proposed_is_whole(path: Path) -> None:
    assert not [p for p in problems_of(path.read_bytes().decode("utf-8")) if any("..." in line for line in p.write)]


def test_every_expected_text_has_a_program() -> None:
    folder = ROOT / "tests" / "mistakes"
    assert {p.with_suffix(".vp") for p in folder.glob("*/*.txt")} == set(MISTAKES)


def test_every_site_uses_the_registry() -> None:
    """No code is written as a string outside of the registry, and every named code exists and is used."""
    used = set()
    for path in (ROOT / "vlang").rglob("*.py"):
        if path.name == "codes.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in set(Code), f"{path}:{node.lineno}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Code":
                assert node.attr in Code.__members__, f"{path}:{node.lineno}"
                used.add(Code[node.attr])
    assert used == set(Code)


@pytest.mark.parametrize("code", sorted(set(Code) - MADE_LATER))
def test_the_example_of_a_code_is_that_of_its_page(code: Code) -> None:
    text = (ROOT / "tests" / "mistakes" / code / "page.vp").read_text(encoding="utf-8")
    lines = [" ".join(text.split("\n")[p.span.line - 1].split()) for p in problems_of(text) if p.code is code]
    assert code.example in lines


def test_only_wrong_types_are_a_type_error() -> None:
    with pytest.raises(ProgramTypeError):
        check(parse("program p\nvertex x: int = 0.5\n", "p.vp"))
    with pytest.raises(ProgramError) as caught:
        check(parse("program p\nvertex x: int = 0.5\nvertex y: int = z\n", "p.vp"))
    assert not isinstance(caught.value, TypeError)
    assert isinstance(caught.value, SyntaxError)
