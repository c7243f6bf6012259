"""Columns of a table of vertices, which are joined by id to the vertices of a graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError, plural
from vlang.records import dataclass
from vlang.runtime.graph.arrow.files import FileTable, table_files
from vlang.runtime.graph.arrow.library import is_table
from vlang.runtime.graph.arrow.tables import Frame
from vlang.runtime.graph.arrow.vertex_table import VertexTable
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.naming import located
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.vertices import column_of, header_of
from vlang.runtime.storage.inputs.remote import local
from vlang.runtime.threads.processors import available_threads

__all__ = ["VertexColumns", "columns_of_file", "columns_of_vertices", "opened_vertices"]

Array = NDArray[Any]


class VertexColumns(Protocol):
    """Columns of values by vertex id.

    Attributes:
        source: name of the table, for messages.
        names: names of the columns, without the column of ids.
    """

    @property
    def source(self) -> str: ...
    @property
    def names(self) -> Sequence[str]: ...

    def joined(self, name: str, ids: VertexIds, type_: str = "") -> tuple[Array, int]:
        """A column in the order of `ids`, shape [vertices], and the number of rows whose id is not in `ids`.

        `type_` is the type of the program's field that takes the column; "" means numbers.

        Raises GraphError if there is no such column, or if a vertex does not have exactly one row.
        """


@dataclass(frozen=True)
class _OfTable:
    """The columns of an Arrow table in memory."""

    table: VertexTable

    @property
    def source(self) -> str:
        return self.table.name

    @property
    def names(self) -> Sequence[str]:
        return self.table.names

    def joined(self, name: str, ids: VertexIds, type_: str = "") -> tuple[Array, int]:
        """See VertexColumns."""
        if name not in self.names:
            raise GraphError(f"{self.source}: there is no column {name!r}; there are {', '.join(self.names) or 'none'}")
        return _joined(self.source, self.table.ids, self.table.values(name), ids)


@dataclass(frozen=True)
class _OfFile:
    """The columns of a file, which is read again for each column.

    `stamp` is the file's size and modification time (ns).
    """

    path: Path
    names: tuple[str, ...]
    stamp: tuple[int, int]

    @property
    def source(self) -> str:
        return str(self.path)

    def joined(self, name: str, ids: VertexIds, type_: str = "") -> tuple[Array, int]:
        """See VertexColumns. Raises GraphError if the file has changed since the graph was read."""
        if _stamp(self.path) != self.stamp:
            raise GraphError(f"{self.path}: the file has changed since the graph was read; read it again")
        files = table_files(self.path)
        if files is not None:
            return _OfTable(VertexTable.of(FileTable.open(self.path, files), None, {name})).joined(name, ids)
        with Workers(available_threads()) as workers:
            found, places, values = column_of(TextFile(self.path, "a table of vertices"), name, workers, type_)
        return _joined(self.source, found.values[places], values, ids)


def columns_of_file(path: str | Path) -> VertexColumns:
    """The columns of a text, Parquet or Arrow file of vertices. Raises GraphError, DiskError."""
    file = path if isinstance(path, Path) else Path(path)
    files = table_files(file)
    names = header_of(TextFile(file, "a table of vertices")) if files is None else \
        VertexTable.of(FileTable.open(file, files), None, ()).names
    return _OfFile(file, names, _stamp(file))


def opened_vertices(vertices: object, column: object = None) -> object:
    """Read a table of vertices, which may be a stream, into a VertexTable; return any other value unchanged.

    The URL of a table becomes the path of a copy.

    `column` is the name of the column of ids; None looks for a well-known name.
    """
    if is_table(vertices):
        with closing(Frame(vertices, "the table `vertices`")) as table:
            return VertexTable.of(table, column)
    if hasattr(vertices, "collect"):
        raise GraphError(f"the table `vertices` is a {type(vertices).__name__}, which is not computed yet; collect it "
                         "first: frame.collect()")
    return local(vertices) if isinstance(vertices, str) else vertices


def columns_of_vertices(vertices: object) -> VertexColumns | None:
    """The columns of vertices that `opened_vertices` returned; None for a count, a range, an array or a pipe."""
    if isinstance(vertices, VertexTable):
        return _OfTable(vertices)
    return columns_of_file(vertices) if isinstance(vertices, (str, Path)) and os.path.isfile(vertices) else None


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return -1, -1
    return found.st_size, found.st_mtime_ns


def _joined(source: str, rows: Array, values: Array, ids: VertexIds) -> tuple[Array, int]:
    """See `VertexColumns.joined`. `rows` has the id of each row, shape [rows], and `values` the value of each row."""
    if len(rows) and len(ids) and (rows.dtype.kind == "O") != ids.text:
        kinds = ("texts", "integers") if ids.text else ("integers", "texts")
        raise GraphError(f"{source}: the ids are {kinds[1]}, such as {rows.tolist()[0]!r}, and those of the graph "
                         f"{kinds[0]}, such as {ids.label(0)!r}")
    ranks, there = located(ids, rows)
    counts = np.bincount(ranks[there], minlength=len(ids))
    for wrong, what in ((counts > 1, "has more than one row"), (counts == 0, "has no row")):
        if wrong.any():
            first = ids.label(int(np.flatnonzero(wrong)[0]))
            count = plural(int(wrong.sum()), "vertex", "vertices")
            raise GraphError(f"{source}: {what} for {count} of the graph, such as {first!r}")
    found = np.empty(len(ids), values.dtype)
    found[ranks[there]] = values[there]
    return found, int((~there).sum())
