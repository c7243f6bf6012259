"""Reads MatrixMarket coordinate files. The entry in row i and column j is the edge i -> j.

The format is described at https://math.nist.gov/MatrixMarket/formats.html.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

import numpy as np

from vlang.errors import plural
from vlang.records import dataclass
from vlang.runtime.graph.edges.building.space import IN_MEMORY, Space
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.edge_rows import blocks, column_values, listed_edges, lost, only_column
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.direction import both_directions
from vlang.runtime.graph.read.finish import Facts, finish
from vlang.runtime.graph.read.head import Head, Line
from vlang.runtime.graph.read.layout import Field, Layout, Role
from vlang.runtime.graph.read.scan import scan_edges
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.text_columns import choose_weight
from vlang.runtime.graph.read.text_errors import problem
from vlang.runtime.storage.output import csv_texts

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["matrix_counts", "read_matrix_market", "write_matrix_market"]

_BANNER = "%%MatrixMarket matrix coordinate pattern|integer|real general|symmetric|skew-symmetric"
_FIELDS = ("pattern", "integer", "unsigned-integer", "real")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
_MOST = (1 << 32) - 2


@dataclass(frozen=True)
class _Banner:
    field: str
    symmetry: str


def read_matrix_market(
    file: TextFile, head: Head, asked: Asked, workers: Workers, space: Space = IN_MEMORY
) -> EdgeList:
    """Read a square sparse matrix. The vertex ids are 1..n.

    A symmetric matrix gives undirected edges or, with directed=True, directed edges in both directions. A
    skew-symmetric matrix gives directed edges in both directions, with values of opposite signs.

    Args:
        file: the file.
        head: the first lines of the file.
        asked: the options.
        workers: the threads to use.
        space: allocates the arrays of edges and ids.

    Raises:
        GraphError: the header is wrong or does not describe a graph, a line is wrong, or the number of entries differs
            from the declared number.
    """
    banner = _banner(file, head.comments[0])
    size = head.data[0] if head.data else None
    if size is None:
        raise problem(file.path, "the size line is missing", expected="a line: rows columns entries")
    count, entries = _sizes(file, size)
    role = {"pattern": None, "real": Role.FLOAT}.get(banner.field, Role.INTEGER)
    fields = [Field("row", Role.SOURCE), Field("column", Role.TARGET)]
    fields += [Field("weight", role)] if role is not None else []
    layout = Layout(
        choose_weight(file.path, fields, asked), start=size.end, line=size.number + 1, declared=count,
        missing=asked.missing,
        shape=f"{'row column' if role is None else 'row column value'} ({banner.field}, as line 1 says)",
    )  # fmt: skip
    read = scan_edges(file, layout, workers, space)
    if len(read.source) + read.dropped != entries:
        raise problem(
            file.path, f"{plural(len(read.source) + read.dropped, 'entry', 'entries')} in the file", line=size.number,
            found=size.text, expected=f"{plural(entries, 'entry', 'entries')}, as this line declares",
        )  # fmt: skip
    notes: list[str] = []
    if banner.symmetry == "skew-symmetric":
        read = both_directions(read, -1, space)
        notes.append("Each entry of a skew-symmetric matrix gives both directions, the second with the value negated.")
    elif banner.symmetry == "symmetric" and asked.directed:
        read = both_directions(read, 1, space)
        notes.append("Each entry of a symmetric matrix gives both directions.")
    facts = Facts(
        f"MatrixMarket, {banner.field}, {banner.symmetry}{file.packed}",
        directed=banner.symmetry != "symmetric",
        why=f"as the matrix is {banner.symmetry}", notes=notes,
    )  # fmt: skip
    return finish(read, facts, asked, space)


def matrix_counts(lines: Sequence[str]) -> tuple[int, int]:
    """The numbers of edges and of vertices that the size line declares; (0, 0) if there are no data."""
    if not lines:
        return 0, 0
    rows, columns, entries = (int(word) for word in lines[0].split()[:3])
    return entries, max(rows, columns)


def _banner(file: TextFile, line: Line) -> _Banner:
    words = line.text.lower().split()
    if len(words) != 5 or words[1] != "matrix":
        raise problem(file.path, "a wrong header", line=line.number, found=line.text, expected=_BANNER)
    layout, values, symmetry = words[2:]
    reason = ""
    if layout != "coordinate":
        reason = f"a matrix in {layout!r} format lists all its values and has no edges" if layout == "array" else ""
        reason = reason or f"the format {layout!r} is unknown"
    elif values == "complex" or symmetry == "hermitian":
        reason = "complex values cannot be weights"
    elif values not in _FIELDS:
        reason = f"the kind of values {values!r} is unknown"
    elif symmetry not in _SYMMETRIES:
        reason = f"the symmetry {symmetry!r} is unknown"
    elif values == "pattern" and symmetry == "skew-symmetric":
        reason = "a pattern has no values whose sign could change"
    if reason:
        raise problem(file.path, reason, line=line.number, found=line.text, expected=_BANNER)
    return _Banner(values, symmetry)


def _sizes(file: TextFile, line: Line) -> tuple[int, int]:
    """Parse the size line: (number of vertices, number of entries)."""
    words: Sequence[str] = line.text.split()
    if len(words) != 3 or not all(word.isascii() and word.isdigit() for word in words):
        raise problem(
            file.path, "a wrong size line", line=line.number, found=line.text,
            expected="three integers: rows columns entries",
        )  # fmt: skip
    rows, columns, entries = map(int, words)
    if rows != columns:
        raise problem(
            file.path, "the matrix is not square", line=line.number, found=line.text,
            expected="as many rows as columns: row i and column i are the same vertex",
        )  # fmt: skip
    if rows > _MOST:
        raise problem(
            file.path, "too many vertices", line=line.number, found=line.text, expected=f"at most {_MOST:,} rows"
        )
    return rows, entries


def write_matrix_market(graph: Graph, file: IO[bytes], path: str, _suffix: str) -> list[str]:
    """Write a graph, and return notes about what the file does not keep.

    An undirected graph is written as the lower triangle of a symmetric matrix.

    Args:
        graph, file, path, _suffix: see `GraphFormat.write`.

    Raises:
        GraphError: the graph has several columns, and none is called `weight`.
    """
    name, notes = only_column(graph, path)
    edges = listed_edges(graph)
    rows, columns = (edges.src, edges.dst) if graph.directed else (edges.dst, edges.src)
    kind = "pattern" if name is None else "real" if edges.columns[name].dtype.kind == "f" else "integer"
    file.write(f"%%MatrixMarket matrix coordinate {kind} {'general' if graph.directed else 'symmetric'}\n"
               f"{graph.n} {graph.n} {len(edges.src)}\n".encode())
    for part in blocks(len(edges.src)):
        cells = [csv_texts(end[part].astype(np.int64) + 1, None) for end in (rows, columns)]
        cells += [] if name is None else [csv_texts(column_values(edges, name, part), None)]
        file.write(("\n".join(map(" ".join, zip(*cells))) + "\n").encode())
    return [*notes, *lost(graph, ids=1)]
