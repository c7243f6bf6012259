"""How the lines of a file are to be read: what stands between fields, and what each field is."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from enum import IntEnum

from vlang.runtime.graph.read.asked import Missing

__all__ = ["Field", "Layout", "Role", "cut_line"]

_FIELD = re.compile(r'"(?:[^"]|"")*"|\S+')


class Role(IntEnum):
    """What a field is; the numbers are those of the kernel."""

    SKIP = 0
    SOURCE = 1
    TARGET = 2
    INTEGER = 3
    FLOAT = 4


@dataclass(frozen=True)
class Field:
    """A field of every line. `name`: of the column that it becomes; of no use for ids and skipped fields.

    title: what the file's header calls it, or nothing. needed: whether a cell that is no number is an error; if not,
    the column is left out for it.
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

    shape: what a line should look like, for messages. delimiter: the byte between fields,
    0 for white space. mark: a letter that every line of an edge begins with, 0 for none; lines that begin with c are
    comments then. text_ids: ids are any text. declared: ids are 1..declared; None where the lines decide. missing: what
    becomes of cells without a value.
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
        """Field number `field` (from 0) as messages call it: `column 3 (cost)`."""
        title = self.fields[field].title
        return f"column {field + 1 + (self.mark != 0)}{f' ({title})' if title else ''}"

    def with_float(self, field: int) -> Layout:
        """The same with field number `field` (from 0) read as floats."""
        return self._with(field, Role.FLOAT)

    def without(self, field: int) -> Layout:
        """The same with field number `field` (from 0) not read."""
        return self._with(field, Role.SKIP)

    def _with(self, field: int, role: Role) -> Layout:
        fields = list(self.fields)
        fields[field] = replace(fields[field], role=role)
        return replace(self, fields=tuple(fields))


def cut_line(text: str, delimiter: str) -> tuple[str, ...]:
    """The fields of a line, without quotes and the blanks around them; delimiter "" is white space."""
    if delimiter:
        try:
            parts = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error:  # a field beyond csv's limit, which is no id
            parts = text.split(delimiter)
        return tuple(part.strip() for part in parts)
    return tuple(p[1:-1].replace('""', '"') if p[0] == '"' and len(p) > 1 else p for p in _FIELD.findall(text))
