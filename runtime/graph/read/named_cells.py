"""Reads the cells of a text as names of categories, as points in time, or as bools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.building.tables import TokenTable
from vlang.runtime.graph.edges.kinds import Kind, Names, Times
from vlang.runtime.graph.read.asked import is_missing
from vlang.runtime.graph.read.layout import Field, Role
from vlang.runtime.graph.read.table import INTEGER, NUMBER
from vlang.times import PARTS, UNITS, WRITTEN, time_of

__all__ = ["NamedCells", "WrongCell", "typed"]

_LONGEST = 26  # characters of a time in microseconds; longer texts are parsed one by one
_LENGTHS = frozenset({10, 16, 19, *range(21, _LONGEST + 1)})
_PLACE, _LENGTH = 0xFFFFFFFF, 0x3FFFFFFF

Array = NDArray[Any]


class WrongCell(Exception):
    """Raised for a cell that is not a valid value of its column.

    Attributes:
        place: the position of its first byte.
        cell: its text.
        why: what is wrong, as the end of the sentence "`cell` in column 3 ...".
        expected: what was expected.
    """

    def __init__(self, place: int, cell: str, why: str, expected: str) -> None:
        super().__init__(cell)
        self.place, self.cell, self.why, self.expected = place, cell, why, expected


def typed(field: Field, type_: str, cells: Sequence[str]) -> Field:
    """The field with its role and type set to read its cells as `type_`.

    Args:
        field: the field of every line.
        type_: "category", "bool", a type of times, or "" for numbers.
        cells: the cells in the first lines. If the first cell of a column of times is an integer, the cells are counts
            of units. If the first cell of a column of bools is a number, the column is read as numbers.
    """
    if not type_ or field.role in (Role.SOURCE, Role.TARGET):
        return field
    first = next((cell for cell in cells if not is_missing(cell)), "")
    if type_ in UNITS and INTEGER.fullmatch(first):
        return replace(field, role=Role.INTEGER)
    if type_ == "bool" and NUMBER.fullmatch(first):
        return field
    return replace(field, role=Role.TEXT, type=type_)


class NamedCells:
    """The cells of one column, whose type (names, times or bools) is read as text."""

    def __init__(self, type_: str) -> None:
        self._type = type_
        self._table = TokenTable() if type_ == "category" else None
        self.dtype = np.dtype(np.uint32 if type_ == "category" else np.uint8 if type_ == "bool" else np.int64)

    def numbers(self, text: NDArray[np.uint8], tokens: NDArray[np.int64]) -> Array:
        """The cells as numbers, shape [rows]; names are numbered in the order of their first occurrence.

        Chunks must be passed in the order of the file. For `tokens` see the scan kernel. Raises WrongCell.
        """
        if self._table is not None:
            found = np.empty(len(tokens), np.uint32)
            self._table.insert(text, np.ascontiguousarray(tokens), found)
            return found
        return _bools(text, tokens) if self._type == "bool" else self._times(text, tokens)

    def finish(self, values: Array, what: str) -> Kind | None:
        """The kind of the column (names or times), or None for bools.

        `values` are the numbers of all cells. The numbers of names are replaced by the final ones, in place. `what` is
        the column, for messages. Raises GraphError for names that are not UTF-8.
        """
        if self._table is None:
            return Times(UNITS[self._type]) if self._type in UNITS else None
        try:
            names = self._table.texts()
        except UnicodeDecodeError as error:
            raise GraphError(f"{what} holds {self._table.text_at(error.start)!r}, which is not UTF-8") from None
        order = np.argsort(names, kind="stable")
        ranks = np.empty(len(order), np.uint32)
        ranks[order] = np.arange(len(order), dtype=np.uint32)
        if len(ranks):
            np.take(ranks, values, out=values)
        return Names(tuple(names[order].tolist()))

    def _times(self, text: NDArray[np.uint8], tokens: NDArray[np.int64]) -> Array:
        """Parse the times of cells: NumPy parses cells of a usual form, and other cells are parsed one by one."""
        cells, lengths = _cells(text, tokens, _LONGEST + 1)
        last = np.maximum(lengths - 1, 0)
        rows = np.arange(len(cells))
        utc = (lengths <= _LONGEST) & (cells[rows, np.minimum(last, _LONGEST)] == ord("Z"))
        cells[rows[utc], last[utc]] = 0
        lengths = lengths - utc
        digit = (cells >= ord("0")) & (cells <= ord("9"))
        usual = np.isin(lengths, list(_LENGTHS)) & (cells[:, [4, 7]] == ord("-")).all(axis=1)
        usual &= digit[:, [0, 1, 2, 3, 5, 6, 8, 9]].all(axis=1)
        usual &= (digit | (cells == 0) | np.isin(cells, np.frombuffer(b"-T :.", np.uint8))).all(axis=1)
        found = np.zeros(len(cells), np.int64)
        try:
            whole = np.ascontiguousarray(cells[usual]).view(f"S{_LONGEST + 1}")[:, 0].astype("M8[us]").view(np.int64)
            unit = UNITS[self._type]
            step = {"D": 86_400_000_000}.get(unit, 1_000_000 // PARTS.get(unit, 1) or 1)
            near = np.abs(whole) < (1 << 63) // 1000 - 1 if unit == "ns" else np.ones(len(whole), np.bool_)
            exact = near & (whole % step == 0)
            found[usual] = np.where(near, whole, 0) * 1000 if unit == "ns" else whole // step
            usual[np.flatnonzero(usual)[~exact]] = False
        except ValueError:
            usual[:] = False
        for row in np.flatnonzero(~usual).tolist():
            cell = _text_of(text, int(tokens[row]))
            try:
                found[row] = time_of(cell, self._type)
            except ValueError as error:
                raise WrongCell(int(tokens[row]) & _PLACE, cell, str(error), f"a time, such as {WRITTEN}") from None
        return found


def _bools(text: NDArray[np.uint8], tokens: NDArray[np.int64]) -> Array:
    cells, _ = _cells(text, tokens, 6)
    lower: NDArray[np.bytes_] = np.char.lower(cells.view("S6")[:, 0].astype("S6"))
    yes, no = np.isin(lower, [b"true", b"1"]), np.isin(lower, [b"false", b"0"])
    if not (yes | no).all():
        token = int(tokens[int(np.flatnonzero(~(yes | no))[0])])
        raise WrongCell(token & _PLACE, _text_of(text, token), "is no truth value", "true, false, 1 or 0")
    return yes.astype(np.uint8)


def _cells(text: NDArray[np.uint8], tokens: NDArray[np.int64], width: int) -> tuple[NDArray[np.uint8], Array]:
    """The first `width` bytes of each cell, uint8[rows, width] followed by zeros, and the lengths of the cells."""
    places, lengths = tokens & _PLACE, tokens >> 32 & _LENGTH
    columns = np.arange(width)
    inside = columns < lengths[:, None]
    return np.where(inside, text[np.where(inside, places[:, None] + columns, 0)], 0).astype(np.uint8), lengths


def _text_of(text: NDArray[np.uint8], token: int) -> str:
    place = token & _PLACE
    return text[place : place + (token >> 32 & _LENGTH)].tobytes().decode("utf-8", errors="replace")
