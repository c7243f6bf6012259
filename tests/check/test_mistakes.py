"""Every diagnostic: wrong programs and the whole of what is said about them (tests/mistakes/*.vp and *.txt)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vlang.check import check, parse
from vlang.errors import ProgramError, ProgramTypeError
from vlang.syntax.problems import Problem, report

MISTAKES = sorted((Path(__file__).parents[1] / "mistakes").glob("*.vp"))
CODES = {"V001", *(f"V{n}" for n in range(101, 124)), "V201", "V202", "V203", "V204", "V205", "V301"}


def problems_of(text: str) -> tuple[Problem, ...]:
    """The problems of a text, warnings as well."""
    try:
        found = check(parse(text, "demo.vp")).warnings
    except ProgramError as error:
        found = error.problems
    problems = tuple(p for p in found if isinstance(p, Problem))
    assert len(problems) == len(found)
    return problems


def put(text: str, problem: Problem) -> str:
    """The text with what the message proposes in place of what it reports."""
    span = problem.replaces or problem.span
    begin = text.rfind("\n", 0, span.start) + 1
    indent = re.match(r"[ \t]*", text[begin:])
    assert indent is not None
    lines = ("\n" + indent.group()).join(problem.write)
    if problem.replaces is not None and span.start == span.end:
        end = text.find("\n", span.start)
        end = len(text) if end < 0 else end
        return f"{text[:end]}\n{indent.group()}{lines}{text[end:]}"
    if problem.code == "V001" and problem.replaces is None:  # the line
        end = text.find("\n", span.start)
        return text[:begin] + indent.group() + lines + text[len(text) if end < 0 else end :]
    return text[: span.start] + lines + text[span.end :]


@pytest.mark.parametrize("path", MISTAKES, ids=lambda p: p.stem)
def test_message(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    found = problems_of(text)
    assert report(found, text, "demo.vp") + "\n" == path.with_suffix(".txt").read_text(encoding="utf-8")
    assert path.stem.split("_")[0] in {p.code for p in found}


@pytest.mark.parametrize("path", MISTAKES, ids=lambda p: p.stem)
def test_what_is_proposed_is_accepted(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    for problem in problems_of(text):
        if not problem.write or any("..." in line for line in problem.write) or "header" in problem.title:
            continue
        changed = put(text, problem)
        left = problems_of(changed)
        before, after = (sum((p.code, p.title) == (problem.code, problem.title) for p in found)
                         for found in (problems_of(text), left))
        assert after < before, changed + "\n" + report(left, changed, "demo.vp")
        if len(problems_of(text)) == 1:
            errors = [p for p in left if p.severity == "error"]
            assert not errors, changed + "\n" + report(errors, changed, "demo.vp")


def test_every_code_has_a_mistake() -> None:
    assert {path.stem.split("_")[0] for path in MISTAKES} == CODES


def test_only_wrong_types_are_a_type_error() -> None:
    with pytest.raises(ProgramTypeError):
        check(parse("program p\nvertex x: int = 0.5\n", "p.vp"))
    with pytest.raises(ProgramError) as caught:
        check(parse("program p\nvertex x: int = 0.5\nvertex y: int = z\n", "p.vp"))
    assert not isinstance(caught.value, TypeError)
    assert isinstance(caught.value, SyntaxError)
