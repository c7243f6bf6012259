"""The editor services problems, hover, completion and fixes, as functions of a text and a position."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.check.test_mistakes import MISTAKES, name
from tests.check.test_mistakes import problems_of as checked
from vlang.check.calls import FUNCTIONS, SPECIAL
from vlang.check.reductions.keyed import PICK
from vlang.editor.helps import FUNCTION_HELP, REDUCTION_HELP, WORD_HELP
from vlang.editor.positions import Places
from vlang.editor.service import completions, fix, hover, problems_in
from vlang.reductions import REDUCTIONS
from vlang.syntax.keywords import PREDEFINED, TYPE_NAMES, WORDS
from vlang.syntax.needs import NEEDS

TEXT = """\
# Shortest paths.
program sssp(source: vertex, scale = 1.0)

edge weight: float = 1
vertex dist: float = 0 if self == source else inf

fn scaled(x: float): float = x * scale

repeat:
    gather near = min(u.dist + scaled(weight) for u -> self)
    apply dist = min(dist, near)
    activate when dist < old(dist)
let far = max(v.dist for v in vertices if v.outdegree > 0)
"""


def at(text: str, marked: str) -> tuple[str, int]:
    """Return the text without the bar, and the offset of the bar. `marked` is a piece of the text with a bar `|` added.
    """
    piece = marked.replace("|", "")
    assert text.count(piece) == 1, piece
    return text, text.index(piece) + marked.index("|")


def said(marked: str, text: str = TEXT) -> str:
    found = hover(*at(text, marked))
    assert found is not None
    assert text[found.span.start : found.span.end] in marked.replace("|", "")
    return found.text


def labels(marked: str, text: str = TEXT) -> list[str]:
    return [item.label for item in completions(*at(text, marked))]


# ---------------------------------------------------------------------- hover


@pytest.mark.parametrize(("marked", "expected"), [
    ("u.di|st + scaled", "`dist: f32`: a vertex field, one value per edge"),
    ("min(di|st, near)", "`dist: f32`: a vertex field, one value per vertex"),
    ("apply |dist", "`dist: f32`: a vertex field, one value per vertex"),
    ("vertex dis|t", "`dist: f32`: a vertex field, one value per vertex"),
    ("max(v.dist| for", None),
    ("v.dis|t for", "`dist: f32`: a vertex field, one value per vertex"),
    ("(dist, n|ear)", "`near: f32`: an accumulator, one value per vertex"),
    ("gather nea|r", "`near: f32`: an accumulator, one value per vertex"),
    ("scaled(wei|ght)", "`weight: f32`: an edge field, one value per edge"),
    ("+ |scaled(", "`scaled: f32`: a function, gives one value per edge"),
    ("fn scale|d", "`scaled: f32`: a function"),
    ("x * sc|ale", "`scale: f32`: a parameter, one value for the whole graph"),
    ("self == sour|ce", "`source: vertex`: a parameter, one value for the whole graph"),
    ("for |u ->", "`u: vertex`: a neighbour, one value per edge"),
    ("(|u.dist", "`u: vertex`: a neighbour, one value per edge"),
    ("for |v in", "`v: vertex`: a vertex, one value per vertex"),
    ("let fa|r", "`far: f32`: a `let`, one value for the whole graph"),
    ("v.outd|egree", "`outdegree: i32`: predefined, one value per vertex"),
    ("near = mi|n(", "`min`: a reduction, gives `f32`, one value per vertex"),
    ("dist = m|in(", "`min`: a function, gives `f32`, one value per vertex"),
    ("= ma|x(", "`max`: a reduction, gives `f32`, one value for the whole graph"),
    ("o|ld(", "`old`: a function, gives `f32`, one value per vertex"),
    ("gath|er", WORD_HELP["gather"]),
    ("0 if se|lf", WORD_HELP["self"]),
    ("# Shor|test", None),
    ("float| = 1", None),
])  # fmt: skip
def test_hover(marked: str, expected: str | None) -> None:
    if expected is None:
        assert hover(*at(TEXT, marked)) is None
    else:
        assert said(marked).split("\n")[0] == expected


def test_hover_shows_the_declaration_and_the_help() -> None:
    assert said("min(di|st,").endswith("\n\n```vp\nvertex dist: float = 0 if self == source else inf\n```")
    assert said("near = mi|n(").endswith(REDUCTION_HELP["min"])
    assert said("v.outd|egree").endswith(WORD_HELP["outdegree"])


def test_hover_in_a_text_with_mistakes() -> None:
    text = TEXT.replace("dist = min(dist, near)", "dist = min(dist, nearr)\n    apply = 3").replace("far", "N")
    assert len(problems_in(text)) == 3
    assert said("u.di|st + scaled", text).startswith("`dist: f32`: a vertex field")
    assert said("min(di|st, nearr)", text).startswith("`dist: f32`: a vertex field")


# ---------------------------------------------------------------------- completion


def test_fields_after_a_dot() -> None:
    degrees = ["degree", "indegree", "outdegree"]
    assert labels("(u.|dist + sc") == ["dist", *degrees]
    items = {c.label: c for c in completions(*at(TEXT, "(u.|dist + sc"))}
    assert items["dist"].detail == "a vertex field: f32"
    unfinished = TEXT.replace("min(u.dist + scaled(weight) for u -> self)", "min(u.")
    assert labels("min(u.|", unfinished) == ["dist", *degrees]
    unfinished = TEXT.replace("min(u.dist + scaled(weight) for u -> self)", "min(u.di for u -> self)")
    assert labels("(u.di| for", unfinished) == ["dist", *degrees]


def test_words_at_the_beginning_of_a_line() -> None:
    for marked in ("    |apply dist", "    app|ly dist", "|let far"):
        found = labels(marked)
        assert {"gather", "apply", "let", "repeat", "vertex"} <= set(found)
        assert "dist" not in found
        assert "program" not in found
    assert "program" in [c.label for c in completions("", 0)]


def test_names_in_expressions() -> None:
    found = labels("min(|dist, near)")
    assert {"dist", "near", "weight", "source", "scale", "scaled", "far", "min", "sqrt", "N", "inf", "if"} <= set(found)
    assert len(found) == len(set(found))
    assert "u" not in found
    assert "x" not in found
    assert "u" in labels("min(|u.dist + ")
    assert labels("apply |dist") == ["dist"]
    assert set(labels("dist: |float = 0 if")) == TYPE_NAMES | {"vertex"}
    assert labels("# Shor|test") == []


def test_no_completion_of_numbers() -> None:
    text = "program p\nvertex x: float = 10.5\n"
    assert "degree" in (found := labels("= 10.|5", text))
    assert "sqrt" in found  # an expression, not the member of a vertex


# ---------------------------------------------------------------------- problems and fixes


@pytest.mark.parametrize("path", MISTAKES, ids=name)
def test_problems_and_fixes_are_those_of_check(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    found = problems_in(text)
    expected = checked(text)
    assert [p for p in found if p.severity == "error"] == [p for p in expected if p.severity == "error"]
    assert set(expected) <= set(found)
    for problem in found:
        assert (fix(text, problem) is None) == (not problem.write)


@pytest.mark.parametrize("path", MISTAKES[::5], ids=name)
def test_every_place_of_a_wrong_text_has_an_answer(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")[:250]
    for offset in range(0, len(text) + 1, 7):
        hover(text, offset)
        completions(text, offset)


# ---------------------------------------------------------------------- tables and places


def test_everything_has_a_help() -> None:
    assert set(REDUCTION_HELP) == {*REDUCTIONS, PICK}
    assert set(FUNCTION_HELP) == {*FUNCTIONS, *SPECIAL}
    assert set(WORD_HELP) == (WORDS - TYPE_NAMES) | PREDEFINED


def test_places_count_units() -> None:
    text = "a\U0001f600b\r\nc\u00e9\nd"
    assert Places(text).place(2) == (0, 3)
    assert Places(text, "utf-8").place(2) == (0, 5)
    assert Places(text, "utf-32").place(2) == (0, 2)
    assert Places(text).place(5) == (1, 0)
    assert Places(text).offset(0, 3) == 2
    assert Places(text).offset(0, 99) == 3
    assert Places(text).offset(9, 0) == len(text)


@given(st.text("a\u00e9\u20ac\U0001f600\n\r", max_size=30), st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.data())
def test_places_lead_back(text: str, encoding: str, data: st.DataObject) -> None:
    places = Places(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    back = places.offset(*places.place(offset))
    assert back == offset or text[back:offset] in ("\r", "\n")


# ---------------------------------------------------------------------- what a graph must be


def test_needs() -> None:
    text = "program p\nrequire simple\nvertex d: int = degree\n"
    assert said("require si|mple", text) == f"`require simple`: {NEEDS['simple']}"
    assert set(NEEDS) <= set(labels("require |simple", text))
    assert not set(NEEDS) & set(labels("int = de|gree", text))
    own = "program p(simple: bool)\nrequire simple\nvertex d: int = degree\n"
    assert said("require si|mple", own).startswith("`simple: bool`: a parameter")
