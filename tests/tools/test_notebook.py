"""`%%vp NAME`, tested with a stand-in for IPython's shell and, if installed, with IPython."""

from __future__ import annotations

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
        self.magics: dict[tuple[str, str], Callable[[str, str], None]] = {}
        self.variables: dict[str, Any] = {}

    def register_magic_function(self, func: Callable[[str, str], None], magic_kind: str, magic_name: str) -> None:
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
