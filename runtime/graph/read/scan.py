"""Scans all lines of a file: threads scan the chunks of a window of text, and rows are stored in file order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.building.numbering import BadText, DeclaredIds, Ids
from vlang.runtime.graph.edges.building.space import IN_MEMORY, Space
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.kinds import Kind
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.chunk import Chunk, Fault, Scratch, Status, read_chunk
from vlang.runtime.graph.read.layout import Layout, Role
from vlang.runtime.graph.read.named_cells import NamedCells, WrongCell
from vlang.runtime.graph.read.source import TextFile, Window, line_end
from vlang.runtime.graph.read.text_errors import explain_cell, problem, shortened

__all__ = ["Scanned", "TextIdFound", "reading_bytes", "scan_edges"]

_INT32 = (-(2**31), 2**31 - 1)


def reading_bytes(threads: int, fields: int, size: int) -> int:
    """Bytes that reading uses in addition to edges and ids: two windows of text, and scratch memory for the rows of one
    window. `threads` is the number of threads that read, `fields` the number of fields in a line, and `size` the number
    of bytes of the text.
    """
    window, chunk = IN_MEMORY.window_for(threads), IN_MEMORY.chunk
    pieces = -(-min(size, window) // chunk)
    return (1 if size < window else 2) * window + pieces * 8 * (chunk // (2 * fields) + 1) * fields


class _ColumnFound(Exception):
    """Raised for a wrong cell in a column that is not needed.

    The arguments are the field, and the reason to leave it out.
    """


class TextIdFound(Exception):
    """Raised for an id that is not an integer if integers were assumed.

    The arguments are the line number and the text of the id.
    """


@dataclass(frozen=True)
class Scanned:
    """The scanned edges of a file.

    Attributes:
        source, target: uint32[E], dense vertex numbers.
        ids: the ids of the vertices.
        columns: name -> array[E], for each column of numbers.
        left_out: field (from 0) -> the reason why its column was left out.
        dropped: the number of rows dropped for a missing cell.
        filled: the number of missing cells replaced by a number.
        rounded: field -> a sentence that says that integers beyond 64 bits were read as floats.
        kinds: the meaning of the integers in columns of categories and times, by name of the column.
    """

    source: NDArray[np.uint32]
    target: NDArray[np.uint32]
    ids: VertexIds
    columns: dict[str, NDArray[Any]]
    left_out: dict[int, str] = field(default_factory=dict)
    dropped: int = 0
    filled: int = 0
    rounded: dict[int, str] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)


def scan_edges(file: TextFile, layout: Layout, workers: Workers, space: Space = IN_MEMORY) -> Scanned:
    """Scan the lines that `layout` describes.

    If a column that is not needed has a cell that is not a number, the scan starts again without that column. The scan
    takes memory for 8 bytes per edge, the columns, the table of ids, and about 4 windows of 8 MB (more with many
    threads).

    Args:
        file: the file.
        layout: the layout of its lines.
        workers: the threads to use.
        space: allocates the arrays of edges and ids.

    Raises:
        GraphError: a line is wrong; the message shows the first wrong line.
        TextIdFound: an id is not an integer, but `layout` expects integers.
        DiskError: the file cannot be read.
    """
    left_out: dict[int, str] = {}
    while True:
        ids: Ids
        if layout.declared is not None:
            ids = DeclaredIds(layout.declared)
        else:
            ids = space.texts() if layout.text_ids else space.integers()
        scanner = _Scanner(file, layout, ids, workers, space)
        try:
            scanner.run()
        except _ColumnFound as found:
            place, why = found.args
            left_out[place] = why
            layout = layout.without(place)
        else:
            return replace(scanner.finish(), left_out=left_out)


class _Scanner:
    def __init__(self, file: TextFile, layout: Layout, ids: Ids, workers: Workers, space: Space) -> None:
        self._file, self._layout, self._ids, self._workers, self._space = file, layout, ids, workers, space
        self._store = space.store(len(layout.columns))
        self._named = {slot: NamedCells(field.type) for slot, field in enumerate(layout.numeric) if field.type}
        for slot, cells in self._named.items():
            self._store.columns[slot].become(cells.dtype, 0)
        self._line, self._path = layout.line, file.path
        self._signs = 0
        self._begun = False  # whether the first of several files has begun
        self._dropped = self._filled = 0
        self._rounded: dict[int, str] = {}
        self._scratches: list[Scratch] = []

    def run(self) -> None:
        """Scan window by window. Another thread reads or decompresses the next window meanwhile."""
        size = self._space.window_for(self._workers.threads)
        windows = self._file.windows(size)
        skip = self._layout.start
        coming = self._workers.submit(lambda: next(windows, None))
        while (window := coming.result()) is not None:
            coming = self._workers.submit(lambda: next(windows, None))
            if window.part is not None:
                if self._begun:
                    skip, self._line = window.skip, window.line
                self._path, self._begun = window.part, True
            first = min(skip, window.size)
            skip -= first
            self._take(window, first)

    def _take(self, window: Window, first: int) -> None:
        pieces = list(_pieces(window, first, self._space.chunk))
        while len(self._scratches) < len(pieces):
            self._scratches.append(Scratch())
        layout = self._layout
        chunks = self._workers.map(
            lambda job: read_chunk(window.text, job[0][0], job[0][1], layout, job[1]), zip(pieces, self._scratches)
        )
        line = self._line
        for chunk, piece in zip(chunks, pieces):
            self._check(chunk, window, piece)
        if chunks:
            self._read_named(chunks, window, first, line)
            self._keep(chunks, window.fraction)
        self._space.progress(window.fraction)
        if window.damage is not None:
            raise problem(self._path, window.damage, line=self._line)

    def _check(self, chunk: Chunk, window: Window, piece: tuple[int, int]) -> None:
        signs = chunk.ends.negative | chunk.ends.big << 1
        fault = chunk.fault
        if self._signs | signs == 3 and fault is None:
            fault = read_chunk(window.text, *piece, self._layout, Scratch(), self._signs).fault
        if fault is not None:
            raise self._error(fault)
        self._signs |= signs
        for place, wide in chunk.wide.items():
            if self._layout.fields[place].role == Role.INTEGER:
                self._rounded.setdefault(place, _rounded(self._path, self._layout, self._line, wide))
        self._line += chunk.lines
        self._dropped += chunk.dropped
        self._filled += chunk.filled

    def _read_named(self, chunks: list[Chunk], window: Window, first: int, line: int) -> None:
        """Replace the tokens of names, times and bools by numbers. `line` is the number of the line at byte `first`."""
        for slot, cells in self._named.items():
            for chunk in chunks:
                try:
                    chunk.columns[slot] = cells.numbers(window.text, chunk.columns[slot].view(np.int64))
                except WrongCell as wrong:
                    text = window.text[first : wrong.place].tobytes()
                    begin = first + text.rfind(b"\n") + 1
                    found = window.text[begin : line_end(window.text, begin, window.size)].tobytes()
                    field = next(i for i, one in enumerate(self._layout.fields)
                                 if one is self._layout.numeric[slot])
                    raise problem(
                        self._path, f"{shortened(wrong.cell)!r} in {self._layout.label(field)} {wrong.why}",
                        line=line + text.count(b"\n"), found=found.decode("utf-8", errors="replace"),
                        expected=wrong.expected) from None

    def _keep(self, chunks: list[Chunk], fraction: float) -> None:
        """Append the rows of a window to the store."""
        store = self._store
        starts = np.cumsum([store.count, *(chunk.rows for chunk in chunks)]).tolist()
        if store.count == 0:
            store.reserve(math.ceil(starts[-1] / fraction * 1.02) if fraction < 1 else starts[-1])
        store.reserve(starts[-1])
        self._widen_columns(chunks)
        plain = self._ids.plain(store, [chunk.ends for chunk in chunks])

        def copy(job: tuple[Chunk, int]) -> None:
            chunk, at = job
            end = at + chunk.rows
            if plain:
                store.source.array[at:end] = chunk.ends.source
                store.target.array[at:end] = chunk.ends.target
            for column, values in zip(store.columns, chunk.columns):
                column.array[at:end] = values

        self._workers.map(copy, zip(chunks, starts))
        if not plain:
            for chunk, at in zip(chunks, starts):
                end = at + chunk.rows
                self._ids.number(chunk.ends, store.source.array[at:end], store.target.array[at:end])
        store.count = starts[-1]

    def _widen_columns(self, chunks: list[Chunk]) -> None:
        """Convert the columns that are stored so far to int64 or float64 if a value in these chunks requires it."""
        for slot, column in enumerate(self._store.columns):
            bounds = [chunk.bounds[slot] for chunk in chunks]
            dtype: Any = column.array.dtype
            if any(b is None for b in bounds):
                dtype = np.dtype(np.float64)
            elif dtype == np.int32 and any(b[0] < _INT32[0] or b[1] > _INT32[1] for b in bounds if b is not None):
                dtype = np.dtype(np.int64)
            if dtype != column.array.dtype:
                column.become(dtype, self._store.count)
        for chunk in chunks:
            for place, (mine, found) in enumerate(zip(self._layout.fields, chunk.layout.fields)):
                if mine.role != found.role:
                    self._layout = self._layout.with_float(place)

    def finish(self) -> Scanned:
        """Replace provisional vertex numbers by final numbers, and return the edges."""
        store = self._store
        self._scratches.clear()
        try:
            ids = self._ids.finish(store, self._workers)
        except BadText as bad:
            raise self._not_utf8(bad.args[0]) from None
        except GraphError as error:
            raise GraphError(f"{self._file.path}: {error}") from None
        columns = {name: c.finish(store.count) for name, c in zip(self._layout.columns, store.columns)}
        kinds = {}
        for slot, cells in self._named.items():
            name = self._layout.columns[slot]
            kind = cells.finish(columns[name], f"{self._file.path}: {name}")
            if kind is not None:
                kinds[name] = kind
        return Scanned(store.source.finish(store.count), store.target.finish(store.count), ids, columns,
                       dropped=self._dropped, filled=self._filled, rounded=self._rounded, kinds=kinds)

    def _not_utf8(self, token: bytes) -> GraphError:
        line, path = 1, self._file.path
        for window in self._file.windows(self._space.window_for(1)):
            if window.part is not None:
                line, path = 1, window.part
            text = window.text[: window.size].tobytes()
            at = text.find(token)
            line += text.count(b"\n", 0, at if at >= 0 else len(text))
            if at >= 0:
                break
        what = f"the id {shortened(token.decode('utf-8', errors='backslashreplace'))} is not UTF-8"
        return problem(path, what, line=line, expected="text in UTF-8; convert the file, say with iconv")

    def _error(self, fault: Fault) -> Exception:
        line = self._line + fault.lines
        if fault.status == Status.ID_TEXT and self._layout.declared is None:
            return TextIdFound(line, fault.token)
        what, expected = _explain(fault, self._layout)
        error = problem(self._path, what, line=line, found=fault.text, expected=expected)
        if fault.status in (Status.NO_NUMBER, Status.MISSING, Status.TOO_LARGE) \
                and not self._layout.fields[fault.field].needed:
            return _ColumnFound(fault.field, str(error))
        return error


def _rounded(path: Path, layout: Layout, line: int, wide: Fault) -> str:
    return (f"{path}, line {line + wide.lines}: {shortened(wide.token)} in {layout.label(wide.field)} is beyond "
            "the integers of 64 bits (-2^63 to 2^63 - 1), so the column is read as floats, which round it")


def _pieces(window: Window, first: int, chunk: int) -> Iterator[tuple[int, int]]:
    while first < window.size:
        end = line_end(window.text, min(first + chunk, window.size) - 1, window.size)
        yield first, end
        first = end


def _explain(fault: Fault, layout: Layout) -> tuple[str, str]:
    """Returns (what is wrong, what was expected) for a message."""
    column = layout.label(min(fault.field, len(layout.fields) - 1))  # for EXTRA, the field is one beyond the last
    token = shortened(fault.token)
    match fault.status:
        case Status.SHORT:
            return "a column is missing", layout.shape
        case Status.EMPTY:
            return f"{column} is empty", f"a value in each of {layout.shape}"
        case Status.EXTRA:
            return "there is more on this line than there should be", layout.shape
        case Status.ID_TEXT:
            return f"{token!r} is not a vertex number", f"an integer from 1 to {layout.declared}"
        case Status.ID_WIDE:
            return f"the id {token} does not fit 64 bits", "integers from -2^63 to 2^64 - 1"
        case Status.ID_RANGE:
            return f"vertex {token} is out of range", f"an integer from 1 to {layout.declared}"
        case Status.MIXED_SIGNS:
            return (
                f"the id {token}: the file has negative ids and ids above 2^63 - 1",
                "ids that fit one integer type: -2^63 to 2^63 - 1, or 0 to 2^64 - 1",
            )
        case Status.ZERO_BYTE:
            return "a NUL byte; this is not a file of text", layout.shape
        case Status.OPEN_QUOTE:
            return "a quoted field does not end as it should", "a closing quote, then the next column, on the same line"
        case Status.NO_MARK:
            return f"the line does not begin with '{chr(layout.mark)}'", f"{layout.shape}, or a comment: c ..."
        case Status.TOO_LARGE:
            return f"{token} in {column} is too large", "a number that fits a 64-bit float"
        case _:
            return explain_cell(fault.token, column, layout.missing)
