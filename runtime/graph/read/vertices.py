"""Reads the vertices of a graph from the option `vertices`: a file, a count, a range or an array of ids."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError, plural
from vlang.records import dataclass
from vlang.runtime.graph.arrow.files import FileTable, table_files
from vlang.runtime.graph.arrow.vertex_table import VertexTable
from vlang.runtime.graph.edges.building.from_arrays import ends_of, vertex_ids
from vlang.runtime.graph.edges.building.space import IN_MEMORY, Space
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.ends import VERTEX_NAMES, plain_name, vertex_column
from vlang.runtime.graph.edges.kinds import named_values
from vlang.runtime.graph.edges.naming import located
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.head import Format, read_head
from vlang.runtime.graph.read.layout import Field, Layout, Role, cut_line
from vlang.runtime.graph.read.named_cells import typed
from vlang.runtime.graph.read.scan import Scanned, TextIdFound, scan_edges
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.table import INTEGER, Table, delimiter_of, first_text_id
from vlang.runtime.graph.read.text_errors import problem, shortened
from vlang.runtime.storage.inputs.spool import seekable_parts
from vlang.times import UNITS

__all__ = ["Vertices", "column_of", "header_of", "parse_vertices", "within"]

_MOST = (1 << 32) - 2
_BLOCK = 1 << 18
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)", re.ASCII)

Array = NDArray[Any]


@dataclass(frozen=True)
class Vertices:
    """All vertices of a graph, as given by the option `vertices`.

    Attributes:
        ids: the ids of the vertices.
        source: the origin of the vertices for messages, such as "people.v".
        warnings: sentences about values that may be misinterpreted.
    """

    ids: VertexIds
    source: str
    warnings: tuple[str, ...] = ()


def parse_vertices(given: object, workers: Workers, space: Space = IN_MEMORY, column: object = None) -> Vertices:
    """Parse the option `vertices`.

    Args:
        given: the value of the option. The value is a count N for 0..N-1, as int or text; the text "LO..HI"; the path
            of a file with a column of ids; an array of distinct ids; or a VertexTable.
        workers: the threads to use.
        space: allocates the arrays for the ids of a file.
        column: name of the column of ids in a Parquet or Arrow file; None looks for a well-known name.

    Raises:
        GraphError: `given` is none of these values, or the file is wrong.
        DiskError: the file cannot be read.
    """
    if isinstance(given, VertexTable):
        return _of_table(given)
    if column is not None and not isinstance(given, (str, os.PathLike)):
        raise GraphError(f"id={column!r} names a column of a table, and `vertices` is {type(given).__name__}")
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return _between(0, int(given) - 1)
    if isinstance(given, (str, os.PathLike)):
        text = os.fspath(given)
        if isinstance(text, str) and not os.path.exists(text):
            if text.isascii() and text.isdigit():
                return _between(0, int(text) - 1)
            if ends := _RANGE.fullmatch(text):
                return _between(int(ends[1]), int(ends[2]))
        with seekable_parts(given, "a file of vertices") as path:
            files = table_files(path)
            return _of_file(TextFile(path, "a list of vertices"), workers, space) if files is None else \
                _of_table(VertexTable.of(FileTable.open(path, files), column, ()))
    if given is None or isinstance(given, (bool, float, complex)):
        raise GraphError(f"vertices={given!r}: write a count, \"LO..HI\", the name of a file, or an array of ids")
    return _of_array(given)


def _of_table(table: VertexTable) -> Vertices:
    return Vertices(_distinct(table.ids, table.name), table.name)


def _between(low: int, high: int) -> Vertices:
    count = high - low + 1
    if not 0 <= count <= _MOST or low < -(2**63) or high >= 2**64 or (low < 0 and high >= 2**63):
        raise GraphError(f"vertices from {low} to {high}: a graph has 0 to {_MOST:,} vertices, with ids of 64 bits")
    return Vertices(VertexIds(base=low, count=count), f"{low}..{high}" if count else "no vertices")


def _of_array(given: Any) -> Vertices:
    return Vertices(_distinct(ends_of("vertices", given), "the array `vertices`"), "the array `vertices`")


def _distinct(given: Array, source: str) -> VertexIds:
    """Sort ids. Raises GraphError if an id is given twice."""
    values = np.sort(given)
    same = np.flatnonzero(values[1:] == values[:-1])
    if len(same):
        raise GraphError(f"{source}: the vertex {values[same].tolist()[0]!r} is given twice")
    return vertex_ids(values)


def _of_file(file: TextFile, workers: Workers, space: Space) -> Vertices:
    """The distinct ids in a text, from the column with a well-known name, or else from the first column."""
    table, column = _table(file)
    read = _scan(file, table, column, None, workers, space)
    return Vertices(read.ids, str(file.path), tuple(_doubts(file, table, column, len(read.source) - len(read.ids))))


def header_of(file: TextFile) -> tuple[str, ...]:
    """The names of the columns in a text of vertices, without the column of ids; () if there is no header."""
    table, column = _table(file)
    return tuple(name for i, name in enumerate(table.header) if i != column)


def column_of(file: TextFile, name: str, workers: Workers, type_: str = "") -> tuple[VertexIds, Array, Array]:
    """Read a column of a text of vertices.

    Args:
        file: the file.
        name: the name of the column.
        workers: the threads to use.
        type_: "category", "bool" or a type of times for a column that is read as text; any other value means numbers.

    Returns:
        The distinct ids; for each row the index of its id among these, uint32[rows]; and the values, shape [rows]:
        numbers, names as objects, or datetime64.

    Raises:
        GraphError: there is no such column, or a cell is not a number.
    """
    table, column = _table(file)
    if name not in table.header or table.header.index(name) == column:
        there = ", ".join(header_of(file))
        raise problem(file.path, f"there is no column {name!r} of values",
                      expected=f"one of: {there}" if there else "a header with names of columns beside the ids")
    try:
        read = _scan(file, table, column, table.header.index(name), workers, IN_MEMORY, type_)
    except GraphError as error:
        raise GraphError(str(error).partition("; or --missing")[0]) from None
    values, kind = read.columns[name], read.kinds.get(name)
    return read.ids, read.source, values if kind is None else named_values(values, kind)


def _table(file: TextFile) -> tuple[Table, int]:
    """The first lines of a text of vertices, and the index of the column of ids."""
    head = read_head(file)
    if head.format != Format.EDGE_TEXT:
        raise problem(file.path, f"this is {head.format.value}, a list of edges",
                      expected="a column of vertex ids, one on a line")
    if not head.data:
        raise problem(file.path, "the file lists no vertices: all its lines are comments or empty")
    delimiter = delimiter_of(head.data)
    rows = tuple(cut_line(line.text, delimiter) for line in head.data)
    column, header = _column(rows)
    return Table(delimiter, rows[0] if header else (), rows[header:], head.data[header:], head.data[0]), column


def _scan(
    file: TextFile, table: Table, column: int, values: int | None, workers: Workers, space: Space, type_: str = ""
) -> Scanned:
    """Scan the column of ids as if they were sources of edges, and a column of values.

    Args:
        file, workers, type_: see `column_of`.
        table: the first lines of the file.
        column, values: the indices of the columns; None for no values.
        space: allocates the arrays.
    """
    roles = [Role.SOURCE if i == column else Role.INTEGER if i == values else Role.SKIP for i in range(table.width)]
    fields = tuple(Field(table.header[i] if i == values else "", role, table.header[i] if table.header else "")
                   for i, role in enumerate(roles))
    named = type_ if type_ in ("category", "bool", *UNITS) else ""
    fields = tuple(typed(field, named if i == values else "", table.cells(i)) for i, field in enumerate(fields))
    start, line = table.start
    layout = Layout(
        fields, start=start, line=line, delimiter=ord(table.delimiter) if table.delimiter else 0,
        shape=f"{plural(table.width, 'column')}, as on line {table.first.number}",
        text_ids=first_text_id(table, [column]) is not None,
    )  # fmt: skip
    try:
        return scan_edges(file, layout, workers, space)
    except TextIdFound:
        return scan_edges(file, replace(layout, text_ids=True), workers, space)


def _column(rows: tuple[tuple[str, ...], ...]) -> tuple[int, bool]:
    """Returns (the index of the column of ids, whether the first line is a header)."""
    found = vertex_column(rows[0])
    if found is not None:
        return found, True
    rest = [row[0] for row in rows[1:] if row]
    return 0, bool(rest) and not INTEGER.fullmatch(rows[0][0]) and all(map(INTEGER.fullmatch, rest))


def _doubts(file: TextFile, table: Table, column: int, twice: int) -> list[str]:
    doubts = []
    if table.header and table.width > 1 and plain_name(table.header[column]) not in VERTEX_NAMES:
        doubts.append(f"{file.path}, line {table.first.number}: no column is called like ids of vertices, so column 1 "
                      f"({shortened(table.header[0])}) is taken; such names are {', '.join(VERTEX_NAMES)}")
    if twice:
        doubts.append(f"{file.path}: {plural(twice, 'line')} of vertices that are listed before")
    return doubts


def within(
    vertices: Vertices, src: Array, dst: Array, ids: VertexIds, what: str, space: Space = IN_MEMORY
) -> tuple[Array, Array]:
    """Renumber the ends of edges by `vertices`; returns source and target, uint32[E] each.

    Args:
        vertices: all vertices.
        src, dst: the ends of the edges, uint32[E], as indices into `ids`.
        ids: the ids that occur in the edges.
        what: the name of the edges, for messages.
        space: allocates the arrays of edges.

    Raises:
        GraphError: an end of an edge is not one of the vertices; the message names the id and the edge.
    """
    known = vertices.ids
    if len(ids) and len(known) and ids.text != known.text:
        kinds = ("strings", "integers") if ids.text else ("integers", "strings")
        raise GraphError(f"{what}: the ids of the edges are {kinds[0]}, such as {ids.label(len(ids) - 1)!r}, and those "
                         f"of the vertices ({vertices.source}) {kinds[1]}, such as {known.label(0)!r}")
    space.check_ids(len(known) + len(ids), ids.text)
    ranks, there = located(known, ids.values)
    if not there.all():
        edge = int(np.flatnonzero(~there[src] | ~there[dst])[0])
        ends = int(src[edge]), int(dst[edge])
        lost = ends[0] if not there[ends[0]] else ends[1]
        raise GraphError(
            f"{what}: vertex {ids.label(lost)!r} is not in the list of vertices ({vertices.source}, "
            f"{plural(len(known), 'vertex', 'vertices')}); it is an end of edge {edge + 1:,}: "
            f"{ids.label(ends[0])!r} -> {ids.label(ends[1])!r}")
    if len(ids) == len(known):
        return src, dst
    numbers = ranks.astype(np.uint32)
    placed = []
    for end in (src, dst):
        kept = space.empty(len(end), np.uint32)
        for first in range(0, len(end), _BLOCK):
            kept[first : first + _BLOCK] = numbers[end[first : first + _BLOCK]]
        placed.append(kept)
    return placed[0], placed[1]
