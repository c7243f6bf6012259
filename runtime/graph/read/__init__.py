"""Graph files to edge lists: one module per format, and detection of the format by content.

`read_edges` opens the file (`source`), detects its format (`head`), and calls the reader of that format, which
describes the lines (`layout`). `scan` runs the kernels over all lines, `numbering` turns ids into ranks, and `finish`
decides the direction and writes the notes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.ends import OF_FILE, Ends
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.edges.space import IN_MEMORY, Space
from vlang.runtime.graph.read.asked import Asked, parse_missing
from vlang.runtime.graph.read.dimacs import read_dimacs
from vlang.runtime.graph.read.edge_text import read_edge_text
from vlang.runtime.graph.read.head import Format, read_head
from vlang.runtime.graph.read.matrix_market import read_matrix_market
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.text_errors import problem

__all__ = ["read_edges"]

_TABLES = (".v", ".v.gz")
_READERS = {
    Format.EDGE_TEXT: read_edge_text,
    Format.MATRIX_MARKET: read_matrix_market,
    Format.DIMACS: read_dimacs,
}


def read_edges(
    path: str | os.PathLike[str], *, directed: bool | None = None, weights: str | None = None,
    columns: Iterable[str] | None = None, missing: object = "error", threads: int = 0,
    ends: Ends = OF_FILE, space: Space = IN_MEMORY,
) -> EdgeList:  # fmt: skip
    """Read a text edge list, csv, tsv, MatrixMarket or DIMACS file, plain or gzip, recognised by its content.

    Args:
        path: the file.
        directed: None uses the direction of the format. MatrixMarket symmetric: undirected. DIMACS arcs: directed.
            Text: the direction in a comment such as "# Undirected graph", else directed. An undirected file may list
            each edge once or both ways: see `direction`.
        weights: the name or number (from 1) of the column that becomes "weight". None keeps names: those of the header,
            else "weight" for the third column and "column4", ... for further ones.
        columns: names of columns in which every cell must be a number; None means "weight". Any other column of a text
            list that has a cell which is not a number is left out, and `left_out` gives the reason. The column of
            `weights` is always needed.
        missing: how to treat cells without a value (`asked.MISSING`): "error"; "drop", which removes a row if such a
            cell is in a needed column; or a number, which replaces every such cell.
        threads: 0 for one per processor.
        ends: the columns of the ends of an edge, and the vertices; for a text list.
        space: where edges and ids are kept.

    Returns:
        The edges. Columns of integers are int32 or int64, others float64; all rows decide. The ids are the integers of
        the file (int64, or uint64 if one is above 2^63 - 1), or texts if one is not an integer. The vertices are
        1..n where the format declares n, else those that occur.

    Raises:
        GraphError: the content is wrong; the message gives the line, its text and what was expected.
        DiskError: the file is missing or cannot be read.
    """
    asked = Asked(directed, weights, None if columns is None else frozenset(columns), parse_missing(missing), ends)
    file = TextFile(path)
    head = read_head(file)
    _check_ends(file, head.format, ends)
    with Workers(threads) as workers:
        return _READERS[head.format](file, head, asked, workers, space)


def _check_ends(file: TextFile, found: Format, ends: Ends) -> None:
    """Refuse a list of vertices, and a choice of columns or vertices for a format that declares both."""
    if found == Format.EDGE_TEXT and file.path.name.endswith(_TABLES):
        base = str(file.path).removesuffix(".gz").removesuffix(".v")
        raise problem(file.path, "files that end in .v are lists of vertices (LDBC), not of edges",
                      expected=f"{base}.e with --vertices {file.path} (vertices=\"{file.path}\"), or another name "
                               "if these are edges")  # fmt: skip
    if found != Format.EDGE_TEXT and ends != OF_FILE:
        option = "vertices" if ends.vertices is not None else "source-column" if ends.source else "target-column"
        raise problem(file.path, f"this is {found.value}, which declares its vertices and columns",
                      expected=f"no --{option} ({option.replace('-', '_')}=)")
