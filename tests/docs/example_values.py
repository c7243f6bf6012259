"""The values in the tables of docs/functions.md.

The examples of all tables form one program, which runs on the graph that the Python block of the page creates.
`python -m tests.docs.example_values` writes the values into the page.
"""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

import vlang
from tests.docs.transcripts import ROOT, blocks
from vlang import Result

PAGE = ROOT / "docs" / "functions.md"
_TABLE = re.compile(r"<!-- values -->\n(.*?)<!-- end -->", re.DOTALL)
_CELL = re.compile(r"(?<!\\)\|")
_TYPES = ("bool", "vertex", "int", "i8", "u64", "i64", "float", "float[2]")
"""The types that an expression is tried with, in this order: an integer would be taken for a float, too."""


def shown(path: Path = PAGE) -> set[str]:
    """Return all words in the example column of the tables, such as names of functions and fields."""
    return {name for cells in _rows(path.read_text(encoding="utf-8")) for name in re.findall(r"\w+", cells[2])}


def rendered(path: Path = PAGE) -> str:
    """Return the text of the page with the current values of the examples."""
    text = path.read_text(encoding="utf-8")
    values = iter(_values(text, _session(path)))
    return _TABLE.sub(lambda table: table[0].replace(table[1], _table(table[1], values)), text)


def _session(path: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in blocks(path, "python"):
        for example in doctest.DocTestParser().get_examples(block.text):
            exec(example.source, names)
    return names


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(line)[1:-1]]


def _rows(text: str) -> Iterator[list[str]]:
    for table in _TABLE.finditer(text):
        for line in table[1].splitlines()[2:]:
            yield _cells(line)


def _values(text: str, session: dict[str, Any]) -> list[str]:
    header = "program examples(far: vertex, some: vertices)" + session["declarations"]
    lines: list[str] = []
    for cells in _rows(text):
        if code := cells[2].strip("`"):
            lines.append(_declaration(header, code).replace(" x", f" x{len(lines)}", 1))
    result = vlang.compile("\n".join([header, *lines]))(session["graph"], **session["parameters"], **session["fields"])
    return [_cell(result, f"x{at}") for at in range(len(lines))]


def _declaration(header: str, code: str) -> str:
    """Return a declaration for an example: a global, or else a vertex field with the first type that the checker
    accepts.
    """
    if code.startswith("vertex "):
        return code
    for line in [f"global x = {code}", *(f"vertex x: {type_} = {code}" for type_ in _TYPES)]:
        try:
            vlang.compile(f"{header}\n{line}")
        except vlang.ProgramError:
            continue
        return line
    raise ValueError(f"no type fits the example {code}")


def _cell(result: Result, name: str) -> str:
    if name in result.globals:
        return f"`{_one(result.globals[name])}`"
    reached = result.reached(name)
    values = [_one(value) if there.all() else "none" if result[name].dtype.kind in "UOT" else "inf"
              for value, there in zip(result[name], numpy.asarray(reached))]
    return ", ".join(f"`{value}`" for value in values)


def _one(value: Any) -> str:
    if isinstance(value, numpy.ndarray):
        return f"[{', '.join(_one(part) for part in value)}]"
    if isinstance(value, bool | numpy.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | numpy.floating):
        return f"{value:.6g}"
    return str(value)


def _table(text: str, values: Iterator[str]) -> str:
    head, rule, *rows = text.splitlines()
    lines = [head, rule]
    for row in rows:
        parts = _CELL.split(row)
        if parts[3].strip():
            parts[4] = f" {next(values)} "
        lines.append("|".join(parts))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(rendered(), encoding="utf-8")
