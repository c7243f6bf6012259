"""The magics `%%vp` and `%vp_run` of IPython and Jupyter (`%load_ext vlang`)."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from vlang.api.program import Program, compile, load
from vlang.errors import ProgramError, VlangError
from vlang.runtime.graph.graph import Graph
from vlang.syntax.problems import report

__all__ = ["CellError", "Shell", "load_ipython_extension"]

_USAGE = "write `%vp_run PROGRAM GRAPH [NAME=VALUE ...]`, where PROGRAM and GRAPH are variables, or what vlang.load " \
         "and vlang.Graph.read take, and a VALUE is an expression of Python"
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)=(?!=)")


class Shell(Protocol):
    """The parts of IPython's shell that vlang uses.

    Attributes:
        user_ns: the variables of the user, by name.
    """

    user_ns: dict[str, Any]

    def register_magic_function(self, func: Callable[..., Any], magic_kind: str, magic_name: str) -> None:
        """Register a function as a magic."""

    def push(self, variables: dict[str, Any]) -> None:
        """Set variables in the user's namespace."""


class CellError(VlangError):
    """An error in the text of a magic. IPython shows only its message, without a traceback, and stops running cells."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def load_ipython_extension(shell: Shell) -> None:
    """Register `%%vp` and `%vp_run`; IPython calls this on `%load_ext vlang`."""

    def vp(line: str, cell: str) -> None:
        """`%%vp [NAME] [--precision 32|64]`: compile the cell, and bind the program to NAME or to the name of the
        program.
        """
        name, precision = _arguments(line)
        try:
            program = compile(cell, f"<cell {name}>" if name else "<cell>", precision)
        except ProgramError as error:
            raise CellError(str(error)) from None
        if program.warnings:
            print(report(program.warnings, program.source, program.filename), file=sys.stderr)
        shell.push({name or _own_name(program): program})

    def vp_run(line: str) -> Any:
        """`%vp_run PROGRAM GRAPH [NAME=VALUE ...]`: run a program on a graph, show progress, and return the result."""
        return _run(line, shell.user_ns)

    shell.register_magic_function(vp, "cell", "vp")
    shell.register_magic_function(vp_run, "line", "vp_run")


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


def _run(line: str, variables: Mapping[str, Any]) -> Any:
    """Run the line of `%vp_run` with the user's variables."""
    words = line.split(None, 2)
    if len(words) < 2 or any(_ARGUMENT.match(word) for word in words[:2]):
        raise CellError(f"error: `%vp_run {line.strip()}`: {_USAGE}")
    given = {name: _value(name, text, variables) for name, text in _named("".join(words[2:]))}
    program, graph = variables.get(words[0]), variables.get(words[1])
    if not isinstance(program, Program):
        program = load(words[0])
    if not isinstance(graph, Graph):
        columns = [edge.name for edge in program.edges]
        from vlang.api.running.progress import Progress  # start-up

        with Progress():
            graph = Graph.read(words[1], columns=columns)
    taken = {*(one.name for one in program.params), *(one.name for one in program.fields)}
    if "progress" in taken:
        return program(graph, {"progress": True}, **given)
    return program(graph, **{"progress": True, **given})


def _value(name: str, text: str, variables: Mapping[str, Any]) -> Any:
    try:
        return eval(text, dict(variables))
    except Exception as error:
        quoted = f"; write {name}={text!r} for a text" if isinstance(error, NameError) else ""
        raise CellError(f"error: {name}={text}: {error}{quoted}. {_USAGE}") from None


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Split a text such as `a=1 b=[1, 2] c='x y'` into names and the texts of values."""
    starts = [match for match in _ARGUMENT.finditer(text)
              if (match.start() == 0 or text[match.start() - 1].isspace()) and _outside(text[: match.start()])]
    if text.strip() and (not starts or text[: starts[0].start()].strip()):
        raise CellError(f"error: `{text.strip()}`: {_USAGE}")
    for match, end in zip(starts, [*(one.start() for one in starts[1:]), len(text)]):
        yield match[1], text[match.end() : end].strip().removesuffix(",")


def _outside(text: str) -> bool:
    """Return whether the end of a text is outside of quotes and brackets."""
    bare = re.sub(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", "", text)
    return not re.search("['\"]", bare) and sum(map(bare.count, "([{")) <= sum(map(bare.count, ")]}"))
