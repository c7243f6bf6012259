"""`%%vp NAME` and `%vp_run`, tested with a stand-in for IPython's shell and, if installed, with IPython."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import vlang
from vlang.interop.notebook import CellError

CELL = "program hops(source: vertex)\nvertex depth: int = 0 if self == source else inf\nrepeat:\n" \
       "    gather near = min(u.depth + 1 for u -> self)\n    apply depth = min(depth, near)\n"
WRONG = "program p\nvertex x: int = y\nvertex z: int = w\n"
WARNS = "program w\nvertex x: float = 1\nrepeat:\n    gather s = sum(u.x for u -> self)\n    apply x = 0.1 * s\n"


class Shell:
    """The part of IPython's shell that the extension uses."""

    def __init__(self) -> None:
        self.magics: dict[tuple[str, str], Callable[..., Any]] = {}
        self.variables: dict[str, Any] = {}
        self.user_ns = self.variables

    def register_magic_function(self, func: Callable[..., Any], magic_kind: str, magic_name: str) -> None:
        self.magics[magic_kind, magic_name] = func

    def push(self, variables: dict[str, Any]) -> None:
        self.variables.update(variables)


@pytest.fixture
def shell() -> Shell:
    stand_in = Shell()
    extension: Any = vlang.load_ipython_extension
    extension(stand_in)
    return stand_in


def test_a_cell_becomes_a_program(shell: Shell) -> None:
    shell.magics["cell", "vp"]("search", CELL)
    result = shell.variables["search"](vlang.Graph.read("path:3"), source=0)
    assert result["depth"].tolist() == [0, 1, 2]
    shell.magics["cell", "vp"]("", CELL)
    assert shell.variables["hops"].precision == 32
    shell.magics["cell", "vp"]("wide --precision 64", CELL)
    assert shell.variables["wide"].precision == 64


def test_a_wrong_cell_says_everything_and_binds_nothing(shell: Shell) -> None:
    with pytest.raises(CellError) as caught:
        shell.magics["cell", "vp"]("search", WRONG)
    assert shell.variables == {}
    (shown,) = caught.value._render_traceback_()
    assert shown.count("error[V101]") == 2
    assert "--> <cell search>:2:" in shown
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_warnings_are_shown(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.magics["cell", "vp"]("w", WARNS)
    assert capsys.readouterr().err.startswith("warning[V202]")
    assert "w" in shell.variables


@pytest.mark.parametrize("line", ["a b", "1x", "class", "x --precision 16", "--precision"])
def test_wrong_arguments(shell: Shell, line: str) -> None:
    with pytest.raises(CellError, match="write `%%vp NAME`"):
        shell.magics["cell", "vp"](line, CELL)


def test_a_program_that_cannot_be_a_variable(shell: Shell) -> None:
    with pytest.raises(CellError, match="cannot be a variable"):
        shell.magics["cell", "vp"]("", CELL.replace("hops", "lambda"))


def test_ipython_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    module = pytest.importorskip("IPython.core.interactiveshell")
    real = module.InteractiveShell.instance()
    try:
        real.run_line_magic("load_ext", "vlang")
        assert real.run_cell("%%vp search\n" + CELL).success
        assert isinstance(real.user_ns["search"], vlang.Program)
        capsys.readouterr()
        done = real.run_cell("%%vp wrong\n" + WRONG)
        out, err = capsys.readouterr()
        assert not done.success
        assert "wrong" not in real.user_ns
        assert (out + err).count("error[V101]") == 2
        assert "Traceback" not in out + err
    finally:
        module.InteractiveShell.clear_instance()


def test_a_line_runs_a_program(shell: Shell, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shell.magics["cell", "vp"]("hops", CELL)
    shell.push({"town": vlang.Graph.from_edges(["ulm", "a b"], ["a b", "c=1"]), "start": "ulm"})
    run = shell.magics["line", "vp_run"]
    assert run("hops town source=start")["depth"].tolist() == [1, 2, 0]
    assert "round 1: 1 active" in capsys.readouterr().err
    assert run("hops town source='a b' threads=1").row("c=1") == {"vertex": "c=1", "depth": 1}
    assert run("bfs karate source=[1, 34][0], max_rounds=1").rounds == 1
    (tmp_path / "roads.csv").write_text("from,to,weight\n1,2,7\n")
    assert run(f"sssp {tmp_path / 'roads.csv'} source=1").row(2) == {"vertex": 2, "dist": 7.0}
    for line, text in (("hops", "write `%vp_run PROGRAM GRAPH"), ("hops town ulm", "`ulm`: write"),
                       ("hops town source=ulm", "write source='ulm' for a text"), ("hops source=1", "write `%vp_run"),
                       ("hops town source=(", "error: source=(:")):
        with pytest.raises(CellError, match=re.escape(text)):
            run(line)
    with pytest.raises(vlang.GraphError, match="vertex 'x' is not in the graph"):
        run("hops town source='x'")


def test_a_notebook_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real kernel shows representations, progress that replaces itself, and errors with the user's line only."""
    nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_ALLOW_INSECURE_WRITES", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(vlang.__file__).parents[1]))
    texts = [
        "%load_ext vlang\nimport vlang",
        "%%vp hops\n" + CELL,
        "hops",
        "g = vlang.Graph.from_edges(['<b>a</b>', 'b'], ['b', 'c'], km=[3, 4])\ng",
        "%vp_run hops g source='<b>a</b>'",
        "import vlang.api.running.progress as shown\nshown._AFTER, shown._LIVE = 0, 0.01\n"
        "r = vlang.load('pagerank')(vlang.Graph.read('kron:10'), progress=True)",
        "def call():\n    return hops(g, sorce=1)\ncall()",
        "help(hops)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in texts])
    nbclient.NotebookClient(book, timeout=120, allow_errors=True, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in book.cells]
    program, graph, result = (next(one for one in outputs[i] if one.output_type == "execute_result") for i in (2, 3, 4))
    assert "vertex field" not in program.data["text/html"]
    assert "<td style=\"text-align:left\">source</td>" in program.data["text/html"]
    assert program.data["text/plain"] == "<Program hops: depth>"
    assert all(text in graph.data["text/html"] for text in ("directed", "km ("))
    assert "<td>&lt;b&gt;a&lt;/b&gt;</td><td>0</td>" in result.data["text/html"]
    assert "<b>a</b>" not in result.data["text/html"] + graph.data["text/html"]
    (line,) = [one for one in outputs[5] if one.output_type == "display_data"]
    assert "active, " in line.data["text/plain"]
    assert line.data["text/plain"].startswith("round "), "one line, which later rounds replace"
    (error,) = outputs[6]
    assert error.output_type == "error"
    assert "\n".join(error.traceback) == (
        "cell, line 3: call()\ncell, line 2: return hops(g, sorce=1)\n"
        "BindError: hops has no parameter, field or run option `sorce`; did you mean `source`?")
    assert "    source: vertex  required" in outputs[7][0].text
