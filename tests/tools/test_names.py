"""Editor services for names: definition, references, rename, outline, signatures, kinds of names."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.tools.test_service import TEXT, at
from vlang import BindError, compile
from vlang.editor.names import named, outline, rename, signature, tokens
from vlang.editor.service import problems_in
from vlang.stdlib import names, source


def renamed(text: str, offset: int, name: str) -> str:
    for edit in reversed(rename(text, offset, name)):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


@pytest.mark.parametrize(("marked", "line", "count"), [
    ("min(u.d|ist", 5, 7), ("vertex d|ist", 5, 7), ("scaled(w|eight)", 4, 2), ("x * s|cale", 2, 2),
    ("min(dist, n|ear)", 10, 2), ("+ s|caled(", 7, 2), ("x * |scale", 2, 2),
    ("fn scaled(x|:", 7, 2), ("u -|> self", None, 0), ("self == s|ource", 2, 2),
])
def test_a_name_is_found_everywhere(marked: str, line: int | None, count: int) -> None:
    found = named(*at(TEXT, marked))
    assert (found.declaration.line if found is not None and found.declaration is not None else None) == line
    places = () if found is None else found.places
    assert len(places) == count
    assert all(TEXT[span.start : span.end] == TEXT[places[0].start : places[0].end] for span in places)


def test_rename_changes_every_place_and_nothing_else() -> None:
    text, offset = at(TEXT, "vertex d|ist")
    after = renamed(text, offset, "distance")
    assert after == re.sub(r"\bdist\b", "distance", text)
    assert problems_in(after) == ()
    compile(after)
    assert renamed(*at(TEXT, "(u|.dist"), "other").count("other") == 2, "the vertex of one reduction only"
    for marked, name, why in (("vertex d|ist", "weight", "means something else"),
                              ("vertex d|ist", "near", "means something else"),
                              ("vertex d|ist", "repeat", "a word of the language"), ("vertex d|ist", "2x", "no name"),
                              ("v.outd|egree", "degrees", "no name here that the program declares"),
                              ("fn scaled(x|:", "scale", "means something else")):
        with pytest.raises(BindError, match=why):
            rename(*at(TEXT, marked), name)
    broken = TEXT + "let = dist\n"
    with pytest.raises(BindError, match="the program has errors"):
        rename(*at(broken, "vertex d|ist"), "distance")


def test_names_that_are_declared_together_are_renamed_one_by_one() -> None:
    text = "program p\n\nvertex x: float = 1\n\nlet (low, high) = (min(v.x for v in vertices), 2.0)\n" \
           "global both: float = low + high * low\n"
    assert [one.symbol.name for one in outline(text)] == ["x", "low", "high", "both"]
    for name, count in (("low", 3), ("high", 2)):
        for found in re.finditer(name, text):
            after = renamed(text, found.start(), "zz")
            assert after == re.sub(rf"\b{name}\b", "zz", text)
            assert after.count("zz") == count
            compile(after)
    with pytest.raises(BindError, match="means something else"):
        renamed(text, text.index("low"), "high")


def test_every_name_of_every_program_can_be_followed_and_renamed() -> None:
    """Every declared name of every program can be renamed. The renamed program has no errors, and all occurrences of
    the name change.
    """
    done = 0
    for program in names()[::6]:
        text = source(program)
        for one in outline(text)[:3]:
            assert one.declaration in one.places
            after = renamed(text, one.declaration.start, "zz_new") if one.declaration is not None else text
            assert not [problem for problem in problems_in(after) if problem.severity == "error"]
            assert after.count("zz_new") == len(one.places)
            done += 1
    assert done > 20


def test_the_outline_and_the_kinds_of_names() -> None:
    assert [(one.symbol.name, one.symbol.kind) for one in outline(TEXT)] == [
        ("source", "parameter"), ("scale", "parameter"), ("weight", "edge"), ("dist", "field"), ("scaled", "function"),
        ("near", "accumulator"), ("far", "let")]
    found = tokens(TEXT)
    assert all(first.end <= second.start for (first, *_), (second, *_) in itertools.pairwise(found))
    assert sum(declared for *_, declared in found) >= 7
    assert outline("repeat") == [] == tokens("(")


@pytest.mark.parametrize(("marked", "label", "active"), [
    ("scaled(|weight)", "scaled(x: float): float", 0), ("min(dist, |near)", "min(a, b, ...)", 1),
    ("max(|v.dist", "max(a, b, ...)", 0),
    ("old(|dist)", "old(f)", 0), ("apply d|ist", "", 0), ("repeat|:", "", 0),
])
def test_signatures(marked: str, label: str, active: int) -> None:
    found = signature(*at(TEXT, marked))
    assert (found.label if found else "", found.active if found else 0) == (label, active)
