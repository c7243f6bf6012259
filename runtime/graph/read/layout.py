"""Describes the lines of a file: the delimiter, and the role of each field."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from enum import IntEnum

from vlang.records import dataclass
from vlang.runtime.graph.read.asked import Missing

__all__ = ["Field", "Layout", "Role", "cut_line"]

_FIELD = re.compile(r'"(?:[^"]|"")*"|\S+')


class Role(IntEnum):
    """The role of a field. The numbers must be the same as in kernels/texts/digits.py."""

    SKIP = 0
    SOURCE = 1
    TARGET = 2
    INTEGER = 3
    FLOAT = 4
    TEXT = 5


@dataclass(frozen=True)
class Field:
    """A field of every line.

    Attributes:
        role: how the field is read.
        name: the name of the edge column; unused for ids and skipped fields.
        title: the name of the field in the header of the file, or "".
        needed: True if a cell that is not a number is an error; False if it only leaves the column out.
        type: the type of values in programs for a field that is read as text: "category", "bool" or a type of times.
    """

    name: str
    role: Role
    title: str = ""
    needed: bool = True
    type: str = ""

    @property
    def numeric(self) -> bool:
        """Whether the field becomes a column."""
        return self.role in (Role.INTEGER, Role.FLOAT, Role.TEXT)


@dataclass(frozen=True)
class Layout:
    """Describes the lines of a file from byte `start` on, which is in line number `line`.

    Attributes:
        start, line: the offset of the first byte, and the number of its line from 1.
        fields: the fields of every line.
        shape: a description of a correct line, for messages.
        delimiter: the byte between fields, 0 for white space.
        mark: a letter with which every line of an edge begins, as a byte; lines that begin with c are then comments.
            The value of `mark` is 0 if lines have no such letter.
        text_ids: whether ids are texts; False if they must be integers.
        declared: the number of vertices if ids are 1..declared; None to take the ids that occur.
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
        """The names of the columns, in the order of the fields."""
        return tuple(f.name for f in self.fields if f.numeric)

    @property
    def numeric(self) -> tuple[Field, ...]:
        """The fields that become columns, in order."""
        return tuple(f for f in self.fields if f.numeric)

    def label(self, field: int) -> str:
        """The name of field number `field` (from 0) for messages, such as `column 3 (cost)`."""
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
    """Split a line into fields without quotes and surrounding blanks. The delimiter "" means white space."""
    if delimiter:
        try:
            parts = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error:  # a field that is longer than the limit of csv, and so cannot be an id
            parts = text.split(delimiter)
        return tuple(part.strip() for part in parts)
    return tuple(p[1:-1].replace('""', '"') if p[0] == '"' and len(p) > 1 else p for p in _FIELD.findall(text))
