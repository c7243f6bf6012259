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
from vlang.editor.service import Edit, fix
from vlang.syntax.mistakes.recovery import read
from vlang.syntax.problems import Problem, report

FOLDER = Path(__file__).parents[1] / "newcomers"
RIGHT = sorted(FOLDER.glob("right/*.vp"))
WRONG = sorted(set(FOLDER.glob("*/*.vp")) - set(RIGHT))
LIBRARY = Path(__file__).parents[2] / "stdlib"
NOW_RIGHT = {"python-not_in"}  # the language has the construct since the text was written
OPEN = {  # the first message that is left, and why no text can be proposed
    "graphit-vertices_apply": "unknown function `",  # a function that the text does not declare
    "algorithms-bfs_levels": "unknown name `visited`",  # a value that the text does not compute
    "algorithms-dominating_set": "`u` is a vertex; `-` needs a number",  # the order of tuples is turned around
    "algorithms-gcn_layer": "`@` multiplies a matrix by a vector",  # the caller must pass the transpose
    # only an example could be written, which is not the program
    "cypher-optional_match": "there is no `OPTIONAL MATCH`",
    "graphit-edge_map": "there is no `edgeMap`",
    "graphit-to_filter": "there is no `to(unvisited)`",
    "graphx-collect": "there is no reduction `collect`",
    "graphx-join_vertices": "there is no function `joinVertices`",
    "graphx-reduce_by_key": "there is no reduction `reduceByKey`",
    # values that the language does not have: lists, sets, sketches by bits, sorted vertices, messages on the way
    "algorithms-centroids_on_edges": "a reduction ranges over edges or vertices, not over numbers",
    "algorithms-hyper_anf": "there is no function `trailing_zeros`",
    "algorithms-label_reach": "there are no sets as values",
    "algorithms-ppr_push": "unknown name `message`",
    "algorithms-sweep_cut": "there is no reduction `sort`",
    # loops over edges with several statements, which edge states need in another order
    "algorithms-edge_colouring": "`random` takes at least 2 arguments, not 1",
    "algorithms-max_spanning_forest": "`best` is private to its vertex: `v` has none",
    "algorithms-push_relabel": "unknown name `tail`",
    "algorithms-truss_number": "a loop over neighbours is written inside a reduction",
}
LEAVE = ("leave this line out", "leave these lines out")


def edit_of(text: str, problem: Problem) -> Edit | None:
    """The edit that follows the advice of a message: it inserts the `write:` lines, or removes the lines that the
    message is about. None if the message does not say what to write instead.
    """
    edit = fix(text, problem)
    if edit is not None or not any(line.startswith(LEAVE) for line in problem.help):
        return edit
    end = text.find("\n", problem.span.end)
    return Edit(text.rfind("\n", 0, problem.span.start) + 1, len(text) if end < 0 else end + 1, "")


def followed(text: str) -> str:
    """The text after the advice of all messages of one report, as a newcomer follows it before the next try."""
    edits = [edit for problem in errors_of(text) if (edit := edit_of(text, problem)) is not None]
    begin = len(text) + 1
    for edit in sorted(edits, key=lambda one: -one.start):
        if edit.end <= begin:
            begin = edit.start
            text = text[: edit.start] + edit.text + text[edit.end :]
    return text


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
    named = [p for p in errors if construct in text[text.rfind("\n", 0, p.span.start) : text.find("\n", p.span.end)] and
             (construct in " ".join([p.title, p.label, *p.help]) or construct == text[p.span.start : p.span.end])]
    assert named or name(path) in NOW_RIGHT, said


@pytest.mark.parametrize("path", WRONG, ids=name)
def test_what_is_proposed_compiles(path: Path) -> None:
    """The first advice removes its message, and following the advice of at most TRIES reports gives a program that
    compiles.
    """
    text = path.read_text(encoding="utf-8")
    first, edit = next(((p, e) for p in errors_of(text) if (e := edit_of(text, p)) is not None), (None, None))
    if first is not None and edit is not None:
        changed = text[: edit.start] + edit.text + text[edit.end :]
        same = [[(p.code, p.title) for p in errors_of(one)].count((first.code, first.title)) for one in (text, changed)]
        assert same[1] < same[0], changed
    for _ in range(TRIES):
        text = followed(text)
    left = errors_of(text)
    if name(path) in OPEN:
        assert left[0].title.startswith(OPEN[name(path)])
        return
    assert not left, text + report(left, text, "draft.vp")


@pytest.mark.parametrize("path", RIGHT, ids=name)
def test_right_programs_have_no_messages(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not problems_of(text), report(problems_of(text), text, path.name)


def test_other_lines_of_a_wrong_program_have_no_messages() -> None:
    """The rules for lines of other languages recognise no line of a right program, when another line is wrong."""
    for path in [*RIGHT, *sorted(LIBRARY.glob("*.vp"))]:
        text = path.read_text(encoding="utf-8").rstrip("\n")
        problems = read(f"{text}\n? ?\n", path.name).problems
        assert {problem.span.line for problem in problems} == {text.count("\n") + 2}, report(problems, text, path.name)


def test_the_collection_is_whole() -> None:
    assert len(WRONG) == 286
    assert len(RIGHT) == 14
    assert {path.with_suffix(".txt") for path in WRONG} == set(FOLDER.glob("*/*.txt"))
