"""Fields, parameters and functions of programs may have names that Python, NumPy, C, CUDA or vlang itself use."""

from __future__ import annotations

import contextlib
import csv
import functools
import inspect
import io
import json
import pydoc
from pathlib import Path

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.cpu.language.names import NAMES, OURS, ROLES, programs
from tests.reference.cases import Case
from tests.reference.graphs import to_graph
from tests.sample import sampled
from vlang import Graph, GraphError, Program, ProgramError, Result, compile
from vlang.api.stage_text import STAGES
from vlang.cli import main
from vlang.editor.service import completions, hover, problems_in
from vlang.syntax.keywords import PREDEFINED, RESERVED
from vlang.syntax.layout.format import format_text


@functools.cache
def ran() -> tuple[tuple[Program, Case, Result], ...]:
    """Return every program of `programs`, each with its result on a CPU."""
    compiled = [(compile(text), case) for text, case in programs()]
    return tuple((program, case, engine_run(program, case)) for program, case in compiled)


@pytest.mark.parametrize("role", ROLES)
def test_every_name_for_everything(role: str) -> None:
    """In every run, each name is tested in a third of the roles."""
    first = list(ROLES).index(role) % 3
    for name in sampled(NAMES, NAMES[first::3]):
        text = ROLES[role].format(*[name] * 5)
        if role in ("function", "reduction") and name in OURS:
            with pytest.raises(ProgramError, match="V102"):
                compile(text)
        else:
            assert inspect.signature(compile(text)), text


@pytest.mark.parametrize("role", ROLES)
def test_words_of_the_language_are_refused(role: str) -> None:
    for name in sorted(RESERVED | PREDEFINED):
        with contextlib.suppress(ProgramError):  # the name of a program may be a reserved word
            compile(ROLES[role].format(*[name] * 5))
            assert role == "program", name


def test_results() -> None:
    for program, case, result in ran():
        assert_as_interpreted(program, case, result, interpreted(program, case))
        for name in (*result.fields, *result.globals):
            assert result[name] is not None
            assert name in dir(result)


def test_results_of_another_cut() -> None:
    for program, case, result in ran()[2:]:
        other = engine_run(program, case, threads=2, page_size=64, blocking="always")
        for name in result.fields:
            assert np.array_equal(result[name], other[name]), name


def test_explain() -> None:
    for program, case, _ in ran():
        for stage in STAGES:
            assert program.explain(stage, to_graph(case.graph))


def test_signatures_and_helps() -> None:
    for program, _, _ in ran():
        signature = inspect.signature(program)
        names = {p.name for p in program.params} | {f.name for f in program.fields if f.required}
        keywords = {p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY}
        assert keywords <= names
        assert all(name in keywords or f"`{name}`" in str(program.__doc__) for name in names)
        assert program.name in pydoc.render_doc(program)
    program = compile("program p(lambda = 0.5, graph = 1, options = 2, options_ = 3, k: int)\nvertex x: float = lambda")
    assert str(inspect.signature(program)) == "(graph_, /, *, graph=1, options=2, options_=3, k, **options__)"
    assert "`lambda` is a word of Python: write program(graph_, **{'lambda': 0.5})" in str(program.__doc__)


def test_files(tmp_path: Path) -> None:
    for _, _, result in ran():
        names = list(result.fields)
        result.to_csv(tmp_path / "r.csv")
        with open(tmp_path / "r.csv", newline="") as file:
            head = next(csv.reader(file))
        assert [one.partition(".")[0] for one in head] == ["vertex", *(n for n in names for _ in _columns(result, n))]
        stream = io.StringIO()
        result.to_json(stream)
        assert list(json.loads(stream.getvalue())["fields"]) == names
        result.to_npz(tmp_path / "r.npz")
        with np.load(tmp_path / "r.npz") as archive:
            assert set(archive.files) == {"vertex", *names, *result.globals}
            for name in names:
                assert np.array_equal(archive[name], result[name])


def _columns(result: Result, name: str) -> range:
    return range(1 if np.ndim(result[name]) == 1 else np.shape(result[name])[1])


def test_formatter_and_editor() -> None:
    for program, _, _ in ran()[2:]:
        text = program.source
        assert compile(format_text(text)).name == program.name
        assert [p for p in problems_in(text) if p.severity == "error"] == []
        for place in range(0, len(text), 89):
            hover(text, place)
            completions(text, place)


def test_edge_columns_named_like_options() -> None:
    graph = Graph.from_edges([0, 1], [1, 2], columns={"n": [3, 4], "directed": [5, 6]}, weight=[1, 2])
    assert list(graph.columns) == ["weight", "n", "directed"]
    with pytest.raises(GraphError, match="`weight` is given twice"):
        Graph.from_edges([0], [1], columns={"weight": [1]}, weight=[1])


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command accepts these names for parameters and fields, and in files that an earlier run wrote."""
    file, edges = tmp_path / "p.vp", tmp_path / "e.csv"
    file.write_text("program class(lambda = 0.5, graph: int, self_ = 1)\nedge n: float\nvertex file: float\n"
                    "vertex import: float = lambda + graph + sum(u.file * n for u -> self)\n")  # fmt: skip
    edges.write_text("src,dst,n\n0,1,2\n1,2,4\n")
    first = ["run", str(file), str(edges), "lambda=0.25", "graph=3", "--field", "file=1"]
    again = ["run", str(file), str(edges), "graph=3", "--field", f"file={tmp_path}/r.npz", "--json"]
    assert main(["check", str(file)]) == 0
    assert main([*first, "-q", "-o", str(tmp_path / "r.npz")]) == 0
    capsys.readouterr()
    assert main([*again, "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["fields"]["import"] == [3.5, 5.5, 7.5]
