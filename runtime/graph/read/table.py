"""The first lines of a text, split into fields."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vlang.records import dataclass
from vlang.runtime.graph.read.head import Line
from vlang.runtime.graph.read.layout import cut_line
from vlang.runtime.graph.read.text_errors import COMMA

__all__ = ["ID", "INTEGER", "NUMBER", "Table", "delimiter_of", "first_text_id"]

ID = re.compile(r"0|-?[1-9]\d*", re.ASCII)
"""Integers in canonical form. 007 and +7 do not match, as these ids are different from 7."""

INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)

_QUOTED = re.compile(r'"(?:[^"]|"")*"')


@dataclass(frozen=True)
class Table:
    """The first lines of data, split into fields.

    Attributes:
        delimiter: the delimiter between fields; "" for white space.
        header: the names of the fields, or empty.
        rows: the fields of each line after the header.
        lines: the lines from which `rows` was split.
        first: the first line of data, which is the header if there is one.
    """

    delimiter: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[Line, ...]
    first: Line

    @property
    def width(self) -> int:
        """The number of fields in the header or, without a header, in the first line."""
        return len(self.header or self.rows[0])

    @property
    def start(self) -> tuple[int, int]:
        """The offset of the first byte after the header, and the number of its line."""
        return (self.first.end, self.first.number + 1) if self.header else (self.first.start, self.first.number)

    def cells(self, field: int) -> list[str]:
        """The cells of column number `field` in the first lines."""
        return [row[field] for row in self.rows if field < len(row)]


def first_text_id(table: Table, fields: Sequence[int]) -> tuple[int, str] | None:
    """(line, id) of the first id that is not a canonical integer; None if all ids are canonical integers.

    `fields` are the columns of ids.
    """
    for line, row in zip(table.lines, table.rows):
        for i in fields:
            if i < len(row) and row[i] and not ID.fullmatch(row[i]):
                return line.number, row[i]
    return None


def delimiter_of(lines: Sequence[Line]) -> str:
    """Detect the delimiter between columns from the first lines; "" for white space.

    Tabs are chosen only if splitting at white space would give other fields, since some lists mix tabs and spaces.
    """
    bare = [_QUOTED.sub("q", line.text) for line in lines]
    tabs = {line.count("\t") + 1 for line in bare}
    if len(tabs) == 1 and tabs != {1} and any(len(line.split()) not in tabs for line in bare):
        return "\t"
    mark = next((mark for mark in ",;" if mark in bare[0]), "")
    return next((other for other in (";", "") if _decimal_commas(lines, other)), mark) if mark == "," else mark


def _decimal_commas(lines: Sequence[Line], delimiter: str) -> bool:
    """Whether, with this delimiter, commas occur only inside numbers after the first two columns, as in 1;2;0,5."""
    rows = [cut_line(line.text, delimiter) for line in lines]
    ends, others = [c for row in rows for c in row[:2]], [c for row in rows for c in row[2:]]
    return (
        len({len(row) for row in rows}) == 1 and not any("," in c for c in ends)
        and any("," in c for c in others) and all(COMMA.fullmatch(c) for c in others if "," in c)
    )  # fmt: skip
