"""Scans one chunk of text with the scan kernel: returns rows of ids and numbers, or the first error and its line."""

from __future__ import annotations

import re
from dataclasses import field as a_field
from dataclasses import replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.edges.building.numbering import RawEnds
from vlang.runtime.graph.edges.powers import exact_tens, leading_bits
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.read.asked import MISSING
from vlang.runtime.graph.read.layout import Layout, Role, cut_line
from vlang.runtime.graph.read.source import line_end
from vlang.runtime.storage.passing import passing

__all__ = ["Chunk", "Fault", "Scratch", "Status", "read_chunk"]

_ODD_CAPACITY = 256
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITY = re.compile(rb"[+-]?inf(inity)?", re.IGNORECASE)
_NAMES = np.frombuffer("".join(f"{name}\n" for name in sorted(MISSING)).encode() + b"\0", dtype=np.uint8)

# Indices into the kernel's `result`.
_ROWS, _LINES, _PLACE, _FIELD, _ODD, _SMALLEST, _LARGEST, _NEGATIVE, _BIG = range(9)


class Status(IntEnum):
    """The status of a scan. The numbers up to MIXED_SIGNS must be the same as in kernels/texts/tokenize.py."""

    FINE = 0
    SHORT = 1
    EMPTY = 2
    EXTRA = 3
    ID_TEXT = 4
    ID_WIDE = 5
    ID_RANGE = 6
    NEED_FLOAT = 7
    ZERO_BYTE = 8
    OPEN_QUOTE = 9
    NO_MARK = 10
    ODD_FULL = 11
    MIXED_SIGNS = 12
    NO_NUMBER = 13
    MISSING = 14
    TOO_LARGE = 15


@dataclass(frozen=True)
class Fault:
    """The error that stopped a scan.

    Attributes:
        status: the kind of error.
        lines: the number of lines of the chunk before the line with the error.
        text: the text of the line.
        field: the index of the field, from 0.
        token: the text of the field.
    """

    status: Status
    lines: int
    text: str
    field: int
    token: str


@dataclass
class Chunk:
    """The rows of a chunk, stored in a Scratch that is reused after the next window.

    Attributes:
        layout: the layout of the lines, with the roles that the scan finally used.
        rows: the number of rows, without the rows dropped for a missing cell.
        lines: the number of lines of the whole chunk.
        ends: the ids of all rows.
        columns: the columns, shape [rows] each; a column of texts has packed tokens.
        bounds: smallest and largest value of each column of integers, None for floats, (0, 0) for texts.
        fault: the error that stopped the scan, or None.
        dropped: the number of rows dropped for a missing cell.
        filled: the number of missing cells replaced by a number.
        wide: maps each field that is read as floats because an integer exceeds 64 bits to a Fault for the first such
            integer.
    """

    layout: Layout
    rows: int
    lines: int
    ends: RawEnds
    columns: list[NDArray[np.int64] | NDArray[np.float64]]
    bounds: list[tuple[int, int] | None]
    fault: Fault | None
    dropped: int
    filled: int
    wide: dict[int, Fault] = a_field(default_factory=dict)


class Scratch:
    """Scratch memory for the rows of one chunk."""

    def __init__(self) -> None:
        self.capacity = 0
        self.ids = np.empty(0, dtype=np.int64)
        self.cells = np.empty(0, dtype=np.int64)
        self.odd = np.empty(4 * _ODD_CAPACITY, dtype=np.int64)
        self.result = np.zeros(9, dtype=np.int64)

    def fit(self, layout: Layout, size: int) -> None:
        """Grow to the maximum number of rows in `size` bytes of text: a field takes at least two bytes."""
        capacity = size // (2 * len(layout.fields)) + 1
        if capacity > self.capacity:
            self.capacity = capacity
            self.ids = passing(2 * capacity, np.int64)
            self.cells = passing(len(layout.columns) * capacity, np.int64)


def read_chunk(
    text: NDArray[np.uint8], first: int, end: int, layout: Layout, scratch: Scratch, signs: int = 0
) -> Chunk:
    """Scan the lines text[first:end]; the array must have READ_AHEAD more bytes after `end`.

    Args:
        text: the bytes.
        first, end: the range of the lines.
        layout: the layout of the lines.
        scratch: memory for the rows; the result refers to this memory.
        signs: bit 0 is set if an earlier chunk had an id below 0, bit 1 if an earlier chunk had an id above 2^63 - 1.
    """
    scratch.fit(layout, end - first)
    wide: dict[int, Fault] = {}
    while True:
        status = _scan(text, first, end, layout, scratch, signs)
        if status == Status.NEED_FLOAT:
            lines, place, at = (int(scratch.result[i]) for i in (_LINES, _PLACE, _FIELD))
            found = _fault(text, status, lines, place, at, layout)
            if found.token.lstrip("+-").isdigit():
                wide[at] = found
            layout = layout.with_float(at)
        elif status == Status.FINE and (field := _unfit(layout, scratch)) is not None:
            layout = layout.with_float(field)
        elif status == Status.ODD_FULL:
            scratch.odd = np.empty(8 * len(scratch.odd), dtype=np.int64)
        else:
            break
    result = scratch.result
    fault = _parse_odd(text, first, layout, scratch)
    if fault is None and status != Status.FINE:
        fault = _fault(text, status, int(result[_LINES]), int(result[_PLACE]), int(result[_FIELD]), layout)
    return replace(_chunk(text, layout, scratch, fault), wide=wide)


def _odd(scratch: Scratch) -> NDArray[np.int64]:
    """The cells that Python has to parse, int64[cells, 4]: row, field (-1 - field if missing), first byte, end."""
    count = int(scratch.result[_ODD])
    return scratch.odd[: 4 * count].reshape(count, 4)


def _unfit(layout: Layout, scratch: Scratch) -> int | None:
    """Return a field of integers whose missing cells must be replaced by a fraction; None if there is no such field."""
    if not isinstance(layout.missing, float):
        return None
    fields = -1 - _odd(scratch)[:, 1]
    return next((f for f in np.unique(fields[fields >= 0]).tolist() if layout.fields[f].role == Role.INTEGER), None)


def _scan(text: NDArray[np.uint8], first: int, end: int, layout: Layout, scratch: Scratch, signs: int) -> Status:
    low, high = (-(2**63), 2**63 - 1) if layout.declared is None else (1, layout.declared)
    base = 0 if layout.declared is None else 1
    setup = np.array(
        [layout.delimiter, layout.mark, layout.mark != 0, layout.text_ids, base, low, high, len(layout.fields),
         scratch.capacity, len(scratch.odd) // 4, signs],
        dtype=np.int64,
    )  # fmt: skip
    floats = any(f.role == Role.FLOAT for f in layout.fields)
    if _plain(layout) and kernels("integers")["scan_integers"](
        text, first, end, setup, _roles(layout), scratch.ids, scratch.cells, scratch.result
    ):
        return Status.FINE
    powers = leading_bits() if floats else np.empty(0, dtype=np.uint64)
    return Status(
        kernels("tokenize")["scan"](
            text, first, end, setup, _roles(layout), scratch.ids, scratch.cells, scratch.cells.view(np.float64),
            scratch.odd, powers, exact_tens(), _NAMES, scratch.result,
        )
    )  # fmt: skip


def _plain(layout: Layout) -> bool:
    """Return whether lines consist only of ids and columns of integers."""
    return not layout.mark and not layout.text_ids and all(
        f.role not in (Role.SKIP, Role.FLOAT, Role.TEXT) for f in layout.fields)


def _roles(layout: Layout) -> NDArray[np.int64]:
    roles = np.zeros((len(layout.fields), 2), dtype=np.int64)
    roles[:, 0] = [f.role for f in layout.fields]
    numeric = np.array([f.numeric for f in layout.fields])
    roles[numeric, 1] = np.arange(numeric.sum())
    return roles.ravel()


def _chunk(text: NDArray[np.uint8], layout: Layout, scratch: Scratch, fault: Fault | None) -> Chunk:
    result, capacity = scratch.result, scratch.capacity
    rows = int(result[_ROWS])
    source, target = scratch.ids[:rows], scratch.ids[capacity : capacity + rows]
    if not any(field.role == Role.TARGET for field in layout.fields):  # a list of vertices
        target = source
    ends = RawEnds(
        text, source, target, int(result[_SMALLEST]),
        int(result[_LARGEST]), bool(result[_NEGATIVE]), bool(result[_BIG]),
    )  # fmt: skip
    kept, filled = _resolve_missing(layout, scratch) if fault is None else (None, 0)
    if kept is not None:
        ends = _kept_ends(ends, kept)
    columns: list[NDArray[np.int64] | NDArray[np.float64]] = []
    bounds: list[tuple[int, int] | None] = []
    for slot, field in enumerate(f for f in layout.fields if f.numeric):
        cells = scratch.cells[slot * capacity : slot * capacity + rows]
        cells = cells if kept is None else cells[kept]
        columns.append(cells.view(np.float64) if field.role == Role.FLOAT else cells)
        low, high = (int(cells.min(initial=0)), int(cells.max(initial=0))) if field.role == Role.INTEGER else (0, 0)
        bounds.append(None if field.role == Role.FLOAT else (low, high))
    left = len(ends.source)
    return Chunk(layout, left, int(result[_LINES]), ends, columns, bounds, fault, rows - left, filled)


def _resolve_missing(layout: Layout, scratch: Scratch) -> tuple[NDArray[np.bool_] | None, int]:
    """Drop or fill missing cells.

    Returns a mask of the rows that stay, bool[rows] or None for all rows, and the number of filled cells.
    """
    odd = _odd(scratch)
    lacking = odd[odd[:, 1] < 0]
    if not len(lacking):
        return None, 0
    if layout.missing == "drop":
        kept = np.ones(int(scratch.result[_ROWS]), dtype=np.bool_)
        kept[lacking[:, 0]] = False
        return kept, 0
    slots = _roles(layout)[1::2]
    for field in np.unique(-1 - lacking[:, 1]).tolist():
        places = lacking[lacking[:, 1] == -1 - field, 0] + slots[field] * scratch.capacity
        cells = scratch.cells if layout.fields[field].role == Role.INTEGER else scratch.cells.view(np.float64)
        cells[places] = layout.missing
    return None, len(lacking)


def _kept_ends(ends: RawEnds, kept: NDArray[np.bool_]) -> RawEnds:
    """The ids of the kept rows. The flags `negative` and `big` may still be set because of dropped rows."""
    source, target = ends.source[kept], ends.target[kept]
    if not len(source):
        return replace(ends, source=source, target=target, smallest=2**63 - 1, largest=-(2**63))
    smallest, largest = int(min(source.min(), target.min())), int(max(source.max(), target.max()))
    return replace(ends, source=source, target=target, smallest=smallest, largest=largest)


def _parse_odd(text: NDArray[np.uint8], first: int, layout: Layout, scratch: Scratch) -> Fault | None:
    """Parse in Python the cells that the kernel could not parse; return the first error, if any.

    An error is a cell that is not a number, or a missing cell that is neither dropped nor filled.
    """
    odd = _odd(scratch)
    slots = _roles(layout)[1::2]
    floats = scratch.cells.view(np.float64)
    odd = odd[(odd[:, 1] >= 0) | _refused(layout)[np.maximum(-1 - odd[:, 1], 0)]]
    for row, field, start, end in odd.tolist():
        token = text[start:end].tobytes()
        value = 0.0
        if field < 0:
            return _fault_at(text, first, start, Status.MISSING, -1 - field, token, layout)
        if _NUMBER.fullmatch(token):
            value = float(token)
            status = Status.TOO_LARGE if np.isinf(value) else Status.FINE
        elif _INFINITY.fullmatch(token):
            value, status = float(token), Status.FINE
        else:
            status = Status.NO_NUMBER
        if status != Status.FINE:
            return _fault_at(text, first, start, status, field, token, layout)
        floats[int(slots[field]) * scratch.capacity + row] = value
    return None


def _refused(layout: Layout) -> NDArray[np.bool_]:
    """Return whether a missing cell is an error, for each field: bool[fields].

    Rows are dropped only for missing cells in needed columns, and a missing text is not replaced by a number.
    """
    if layout.missing == "error":
        return np.ones(len(layout.fields), dtype=np.bool_)
    drops = layout.missing == "drop"
    return np.array([not field.needed if drops else field.role == Role.TEXT for field in layout.fields])


def _fault_at(
    text: NDArray[np.uint8], first: int, place: int, status: Status, field: int, token: bytes, layout: Layout
) -> Fault:
    """The error for the cell at `place`, in the chunk that begins at `first`."""
    before = text[first:place].tobytes()
    fault = _fault(text, status, before.count(b"\n"), first + before.rfind(b"\n") + 1, field, layout)
    return replace(fault, token=token.decode("utf-8", errors="replace"))


def _fault(text: NDArray[np.uint8], status: Status, lines: int, place: int, field: int, layout: Layout) -> Fault:
    end = line_end(text, place, len(text))
    line = text[place:end].tobytes().decode("utf-8", errors="replace").rstrip("\r\n")
    parts = cut_line(line, chr(layout.delimiter) if layout.delimiter else "")
    at = field + (layout.mark != 0)
    return Fault(status, lines, line, field, parts[at] if at < len(parts) else "")
