"""First drafts of newcomers with the habits of other languages, and the messages about these drafts.

tests/drafts/HABIT/*.vp has the drafts, with one mistake or habit each. The drafts were written before the messages,
which are in the same folder. `pytest tests/check/test_drafts.py --bless` writes the current messages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.test_mistakes import name, problems_of
from vlang.editor.service import fix
from vlang.syntax.problems import Problem, report

DRAFTS = sorted((Path(__file__).parents[1] / "drafts").glob("*/*.vp"))
TRIES = 2


def errors_of(text: str) -> list[Problem]:
    return [problem for problem in problems_of(text) if problem.severity == "error"]


def followed(text: str) -> str:
    """Apply at most TRIES proposals of the messages, one after the other. Return the resulting text."""
    for _ in range(TRIES):
        edits = [edit for edit in (fix(text, problem) for problem in errors_of(text)) if edit is not None]
        if not edits:
            break
        text = text[: edits[0].start] + edits[0].text + text[edits[0].end :]
    return text


@pytest.mark.parametrize("path", DRAFTS, ids=name)
def test_message(path: Path, pytestconfig: pytest.Config) -> None:
    text = path.read_text(encoding="utf-8")
    errors, file = errors_of(text), path.with_suffix(".txt")
    assert errors
    assert all(problem.span.line > 6 for problem in errors), "the declarations above the draft are right"
    assert all(problem.write or problem.help or problem.label for problem in errors), "no advice"
    said = report(errors, text, "draft.vp") + "\n"
    if pytestconfig.getoption("--bless"):
        file.write_text(said, encoding="utf-8")
    assert said == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", DRAFTS, ids=name)
def test_what_is_proposed_mends_its_line(path: Path) -> None:
    """A proposal removes its message. Every error that remains was there before, or is about a type or level."""
    text = path.read_text(encoding="utf-8")
    before = [(problem.code, problem.title) for problem in errors_of(text)]
    for problem in errors_of(text):
        edit = fix(text, problem)
        if edit is None:
            continue
        changed = text[: edit.start] + edit.text + text[edit.end :]
        after = [(left.code, left.title) for left in errors_of(changed)]
        assert after.count((problem.code, problem.title)) < before.count((problem.code, problem.title))
        new = [one for one in after if one[0] not in ("V105", "V106") and one not in before]
        assert not new, report(errors_of(changed), changed, "")


def test_most_compile_within_two_tries() -> None:
    """Most drafts compile after at most two proposals. The other drafts need text that depends on the program: a
    condition, an order of rows, or a value from a file.
    """
    assert len(DRAFTS) >= 60
    assert sum(not errors_of(followed(path.read_text(encoding="utf-8"))) for path in DRAFTS) >= 43
