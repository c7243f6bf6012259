"""Names the columns of a text and chooses the weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.layout import Field, Role
from vlang.runtime.graph.read.text_errors import problem

__all__ = ["choose_weight", "default_name"]


def default_name(index: int) -> str:
    """The column name of field `index` (from 0) in a file without a header."""
    return "weight" if index == 2 else f"column{index + 1}"


def choose_weight(
    path: Path | str, fields: Sequence[Field], asked: Asked, sure: bool = True
) -> tuple[Field, ...]:
    """Give all columns unique names, mark the needed columns, and rename the chosen weight to "weight".

    Args:
        path: path of the file, for messages.
        fields: the fields of every line.
        asked: the options; `asked.weights` is a name, or a number from 1.
        sure: for a file without a header and without a choice of columns, whether the third column must hold weights.

    Raises:
        GraphError: the column that should become the weight does not exist.
    """
    chosen = None if asked.weights is None else _find(path, fields, asked.weights)
    taken = set() if chosen is None else {"weight"}
    named: list[Field] = []
    for index, field in enumerate(fields):
        if field.role in (Role.SOURCE, Role.TARGET):
            named.append(field)
            continue
        name = "weight" if index == chosen else field.name
        if index != chosen and (not name or name in taken):
            name = f"column{index + 1}"
            while name in taken:
                name += "_"
        taken.add(name)
        default = name == "weight" and (sure or bool(field.title))
        needed = index == chosen or (default if asked.columns is None else name in asked.columns)
        named.append(replace(field, name=name, needed=needed))
    return tuple(named)


def _find(path: Path | str, fields: Sequence[Field], weights: str) -> int:
    names = [field.name for field in fields]
    if weights in names:
        index = names.index(weights)
    else:
        index = int(weights) - 1 if weights.isascii() and weights.isdigit() else -1
    if 0 <= index < len(fields) and fields[index].role not in (Role.SOURCE, Role.TARGET):
        return index
    there = [f"{i} ({field.name or 'no name'})" for i, field in enumerate(fields, 1) if field.numeric]
    held = "holds vertices" if 0 <= index < len(fields) else "is not there"
    expected = f"one of: {', '.join(there)}" if there else "no weights: no column but the vertices holds numbers"
    raise problem(path, f"the column {weights!r} to take as weight {held}", expected=expected)
