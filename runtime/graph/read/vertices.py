"""The vertices of a graph, where they are given apart from its edges: a file, a count, a range or an array of ids."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.files import FileTable, seekable_parts, table_files
from vlang.runtime.graph.arrow.library import is_table
from vlang.runtime.graph.arrow.tables import Frame
from vlang.runtime.graph.arrow.vertex_table import VertexTable
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.ends import VERTEX_NAMES, plain_name, vertex_column
from vlang.runtime.graph.edges.from_arrays import ends_of, vertex_ids
from vlang.runtime.graph.edges.naming import located
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.edges.space import IN_MEMORY, Space
from vlang.runtime.graph.read.head import Format, read_head
from vlang.runtime.graph.read.layout import Field, Layout, Role, cut_line
from vlang.runtime.graph.read.scan import TextIdFound, scan_edges
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.table import INTEGER, Table, delimiter_of, first_text_id
from vlang.runtime.graph.read.text_errors import plural, problem, shortened

__all__ = ["Vertices", "parse_vertices", "within"]

_MOST = (1 << 32) - 2
_BLOCK = 1 << 18
_RANGE = re.compile(r"(-?\d+)\.\.(-?\d+)", re.ASCII)

Array = NDArray[Any]


@dataclass(frozen=True)
class Vertices:
    """All vertices of a graph.

    Attributes:
        ids: their ids.
        source: where they come from, for messages: "people.v".
        warnings: sentences about what may be read wrongly.
    """

    ids: VertexIds
    source: str
    warnings: tuple[str, ...] = ()


def parse_vertices(given: object, workers: Workers, space: Space = IN_MEMORY, column: object = None) -> Vertices:
    """The vertices that were asked for.

    Args:
        given: a count N for 0..N-1; a text: a count, "LO..HI", or the path of a file with a column of ids; an array
            of distinct ids; or a table with a column of distinct ids.
        workers: the threads to use.
        space: where the ids of a file are kept.
        column: the column of ids of a table; None for the one with a well-known name, else the first.

    Raises:
        GraphError: it is none of these, or the file is wrong.
        DiskError: the file cannot be read.
    """
    if is_table(given):
        return _of_table(VertexTable.of(Frame(given, "the table `vertices`"), column, ()))
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
            return _of_file(TextFile(path), workers, space) if files is None else \
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
    """Ids in increasing order. Raises GraphError for one that is given twice."""
    values = np.sort(given)
    same = np.flatnonzero(values[1:] == values[:-1])
    if len(same):
        raise GraphError(f"{source}: the vertex {values[same].tolist()[0]!r} is given twice")
    return vertex_ids(values)


def _of_file(file: TextFile, workers: Workers, space: Space) -> Vertices:
    """The distinct ids of a column of a text: the one with a well-known name, else the first."""
    head = read_head(file)
    if head.format != Format.EDGE_TEXT:
        raise problem(file.path, f"this is {head.format.value}, a list of edges",
                      expected="a column of vertex ids, one on a line")
    if not head.data:
        raise problem(file.path, "the file lists no vertices: all its lines are comments or empty")
    delimiter = delimiter_of(head.data)
    rows = tuple(cut_line(line.text, delimiter) for line in head.data)
    column, header = _column(rows)
    table = Table(delimiter, rows[0] if header else (), rows[header:], head.data[header:], head.data[0])
    fields = tuple(Field("", Role.SOURCE if i == column else Role.SKIP, table.header[i] if header else "")
                   for i in range(table.width))
    start, line = table.start
    layout = Layout(
        fields, start=start, line=line, delimiter=ord(delimiter) if delimiter else 0,
        shape=f"{plural(table.width, 'column')}, as on line {table.first.number}",
        text_ids=first_text_id(table, [column]) is not None,
    )  # fmt: skip
    try:
        read = scan_edges(file, layout, workers, space)
    except TextIdFound:
        read = scan_edges(file, replace(layout, text_ids=True), workers, space)
    return Vertices(read.ids, str(file.path), tuple(_doubts(file, table, column, len(read.source) - len(read.ids))))


def _column(rows: tuple[tuple[str, ...], ...]) -> tuple[int, bool]:
    """(the column of ids, whether the first line is a header)."""
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
    """The ends of edges as numbers of `vertices`, uint32[E] each.

    Args:
        vertices: all vertices.
        src, dst: the ends as numbers of `ids`, uint32[E].
        ids: the ids that occur.
        what: the edges, for messages.
        space: where edges are kept.

    Raises:
        GraphError: an end is not among the vertices; the message names it and its edge.
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
