"""First drafts that a newcomer would write, from the habits of other languages: each gets a message of the language.

tests/drafts/HABIT/*.vp has the texts, one mistake or habit each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.check.test_mistakes import name, problems_of

DRAFTS = sorted((Path(__file__).parents[1] / "drafts").glob("*/*.vp"))


def test_there_are_enough() -> None:
    assert len(DRAFTS) >= 60


@pytest.mark.parametrize("path", DRAFTS, ids=name)
def test_a_draft_is_refused_in_its_own_lines(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    errors = [problem for problem in problems_of(text) if problem.severity == "error"]
    assert errors
    assert all(problem.span.line > 6 for problem in errors), "the declarations above the draft are right"
