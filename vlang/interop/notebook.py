"""The cell magic `%%vp NAME` of IPython and Jupyter (`%load_ext vlang`)."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Callable
from typing import Any, Protocol

from vlang.api.program import Program, compile
from vlang.errors import ProgramError, VlangError
from vlang.syntax.problems import report

__all__ = ["CellError", "Shell", "load_ipython_extension"]


class Shell(Protocol):
    """The methods of IPython's shell that vlang uses."""

    def register_magic_function(self, func: Callable[[str, str], None], magic_kind: str, magic_name: str) -> None:
        """Register a function as a magic."""

    def push(self, variables: dict[str, Any]) -> None:
        """Set variables in the user's namespace."""


class CellError(VlangError):
    """An error in the text of a cell. IPython shows only its message, without a traceback, and stops running cells."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def load_ipython_extension(shell: Shell) -> None:
    """Register `%%vp`; IPython calls this on `%load_ext vlang`."""

    def vp(line: str, cell: str) -> None:
        """`%%vp [NAME] [--precision 32|64]`: compile the cell and bind the program to NAME, or to its own name."""
        name, precision = _arguments(line)
        try:
            program = compile(cell, f"<cell {name}>" if name else "<cell>", precision)
        except ProgramError as error:
            raise CellError(str(error)) from None
        if program.warnings:
            print(report(program.warnings, program.source, program.filename), file=sys.stderr)
        shell.push({name or _own_name(program): program})

    shell.register_magic_function(vp, "cell", "vp")


def _arguments(line: str) -> tuple[str, int]:
    words = line.split()
    precision = 32
    if len(words) >= 2 and words[-2] == "--precision" and words[-1] in ("32", "64"):
        precision = int(words[-1])
        words = words[:-2]
    if len(words) > 1 or any(not word.isidentifier() or keyword.iskeyword(word) for word in words):
        raise CellError(f"error: `%%vp {line.strip()}`: write `%%vp NAME` or `%%vp NAME --precision 64`, where NAME is "
                        "the variable that gets the program")
    return "".join(words), precision


def _own_name(program: Program) -> str:
    if keyword.iskeyword(program.name):
        raise CellError(f"error: `{program.name}` cannot be a variable of Python; write `%%vp NAME`")
    return program.name
