"""How the lines of a file are to be read: what stands between fields, and what each field is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

__all__ = ["Field", "Layout", "Role"]


class Role(IntEnum):
    """What a field is; the numbers are those of the kernel."""

    SKIP = 0
    SOURCE = 1
    TARGET = 2
    INTEGER = 3
    FLOAT = 4


@dataclass(frozen=True)
class Field:
    """A field of every line. `name`: of the column that it becomes; of no use for ids and skipped fields."""

    name: str
    role: Role

    @property
    def numeric(self) -> bool:
        """Whether the field becomes a column of numbers."""
        return self.role in (Role.INTEGER, Role.FLOAT)


@dataclass(frozen=True)
class Layout:
    """The lines from byte `start` on, which is line number `line` of the file.

    shape: what a line should look like, for messages. delimiter: the byte between fields,
    0 for white space. mark: a letter that every line of an edge begins with, 0 for none; lines that begin with c are
    comments then. text_ids: ids are any text. declared: ids are 1..declared; None where the lines decide.
    """

    fields: tuple[Field, ...]
    start: int
    line: int
    shape: str
    delimiter: int = 0
    mark: int = 0
    text_ids: bool = False
    declared: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of numbers, in the order of the fields."""
        return tuple(f.name for f in self.fields if f.numeric)

    def with_float(self, field: int) -> Layout:
        """The same with field number `field` (from 0) read as floats."""
        fields = list(self.fields)
        fields[field] = replace(fields[field], role=Role.FLOAT)
        return replace(self, fields=tuple(fields))
