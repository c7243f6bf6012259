"""Programs that newcomers write after the tutorial, with the habits of other languages, and the messages about these
programs.

tests/newcomers/HABIT/*.vp has wrong programs, which were written before the messages. The first line of each program
names the construct that a message must name. The folder tests/newcomers/right has programs that must compile. `pytest
tests/check/test_newcomers.py --bless` writes the current messages next to the wrong programs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.test_drafts import TRIES, errors_of
from tests.check.test_mistakes import name, problems_of
from vlang.editor.service import fix
from vlang.syntax.problems import Problem, report

FOLDER = Path(__file__).parents[1] / "newcomers"
RIGHT = sorted(FOLDER.glob("right/*.vp"))
WRONG = sorted(set(FOLDER.glob("*/*.vp")) - set(RIGHT))
NOW_RIGHT = {"python-not_in"}  # the language has the construct since the text was written
OPEN = {"graphit-vertices_apply"}  # calls a function that the text does not declare
LEAVE = "leave this line out"


def applied(text: str, problem: Problem) -> str | None:
    """Apply the advice of a message: insert its `write:` lines, or remove the line that the message is about. Return
    the text, or None if the message does not say what to write instead.
    """
    edit = fix(text, problem)
    if edit is not None:
        return text[: edit.start] + edit.text + text[edit.end :]
    if not any(line.startswith(LEAVE) for line in problem.help):
        return None
    lines = text.split("\n")
    del lines[problem.span.line - 1]
    return "\n".join(lines)


@pytest.mark.parametrize("path", WRONG, ids=name)
def test_message_names_the_construct(path: Path, pytestconfig: pytest.Config) -> None:
    text, file = path.read_text(encoding="utf-8"), path.with_suffix(".txt")
    errors = errors_of(text)
    said = report(errors, text, "draft.vp") + "\n"
    if pytestconfig.getoption("--bless"):
        file.write_text(said, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8")
    construct = text.split("\n")[0].removeprefix("# construct: ")
    assert construct in "".join(text.split("\n")[1:])
    named = [p for p in errors if construct in text.split("\n")[p.span.line - 1] and
             (construct in " ".join([p.title, p.label, *p.help]) or construct == text[p.span.start : p.span.end])]
    assert named or name(path) in NOW_RIGHT, said


@pytest.mark.parametrize("path", WRONG, ids=name)
def test_what_is_proposed_compiles(path: Path) -> None:
    """The first advice removes its message, and following at most TRIES pieces of advice gives a program that compiles.
    """
    text = path.read_text(encoding="utf-8")
    for _ in range(TRIES):
        errors = errors_of(text)
        first = next((problem for problem in errors if applied(text, problem) is not None), None)
        after = None if first is None else applied(text, first)
        if first is None or after is None:
            break
        text = after
        assert (first.code, first.title) not in [(p.code, p.title) for p in errors_of(text)], text
    left = errors_of(text)
    if name(path) in OPEN:
        assert len(left) == 1
        assert "unknown function" in left[0].title
        return
    assert not left, text + report(left, text, "draft.vp")


@pytest.mark.parametrize("path", RIGHT, ids=name)
def test_right_programs_have_no_messages(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not problems_of(text), report(problems_of(text), text, path.name)


def test_the_collection_is_whole() -> None:
    assert len(WRONG) == 136
    assert len(RIGHT) == 10
    assert {path.with_suffix(".txt") for path in WRONG} == set(FOLDER.glob("*/*.txt"))
