"""The syntax of the lines of a file: the delimiter, and the role of each field."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from enum import IntEnum

from vlang.runtime.graph.read.asked import Missing

__all__ = ["Field", "Layout", "Role", "cut_line"]

_FIELD = re.compile(r'"(?:[^"]|"")*"|\S+')


class Role(IntEnum):
    """The role of a field; the numbers are those of the kernel."""

    SKIP = 0
    SOURCE = 1
    TARGET = 2
    INTEGER = 3
    FLOAT = 4


@dataclass(frozen=True)
class Field:
    """A field of every line.

    Attributes:
        role: its role.
        name: of the column that it becomes; unused for ids and skipped fields.
        title: its name in the header of the file, or "".
        needed: whether a cell that is not a number is an error; otherwise the column is left out.
    """

    name: str
    role: Role
    title: str = ""
    needed: bool = True

    @property
    def numeric(self) -> bool:
        """Whether the field becomes a column of numbers."""
        return self.role in (Role.INTEGER, Role.FLOAT)


@dataclass(frozen=True)
class Layout:
    """The lines from byte `start` on, which is line number `line` of the file.

    Attributes:
        start, line: see above.
        fields: of every line.
        shape: what a line should look like, for messages.
        delimiter: the byte between fields, 0 for white space.
        mark: a letter at the beginning of every line of an edge, 0 for none; lines that begin with c are then comments.
        text_ids: whether ids are any text.
        declared: ids are 1..declared; None if the ids that occur decide.
        missing: the treatment of missing cells.
    """

    fields: tuple[Field, ...]
    start: int
    line: int
    shape: str
    delimiter: int = 0
    mark: int = 0
    text_ids: bool = False
    declared: int | None = None
    missing: Missing = "error"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of numbers, in the order of the fields."""
        return tuple(f.name for f in self.fields if f.numeric)

    def label(self, field: int) -> str:
        """The text for field number `field` (from 0) in messages: `column 3 (cost)`."""
        title = self.fields[field].title
        return f"column {field + 1 + (self.mark != 0)}{f' ({title})' if title else ''}"

    def with_float(self, field: int) -> Layout:
        """This layout with field number `field` (from 0) read as floats."""
        return self._with(field, Role.FLOAT)

    def without(self, field: int) -> Layout:
        """This layout with field number `field` (from 0) skipped."""
        return self._with(field, Role.SKIP)

    def _with(self, field: int, role: Role) -> Layout:
        fields = list(self.fields)
        fields[field] = replace(fields[field], role=role)
        return replace(self, fields=tuple(fields))


def cut_line(text: str, delimiter: str) -> tuple[str, ...]:
    """The fields of a line, without quotes and surrounding blanks; delimiter "" is white space."""
    if delimiter:
        try:
            parts = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error:  # a field beyond the limit of csv, which cannot be an id
            parts = text.split(delimiter)
        return tuple(part.strip() for part in parts)
    return tuple(p[1:-1].replace('""', '"') if p[0] == '"' and len(p) > 1 else p for p in _FIELD.findall(text))
