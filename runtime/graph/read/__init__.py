"""Reads graph files into edge lists: one module per format, and detection of the format by content.

`read_edges` opens the file (source.py), detects its format (head.py), and calls the reader of that format, which
describes the lines as a `Layout` (layout.py). Then scan.py runs the kernels over all lines, edges/numbering.py replaces
ids by ranks, and finish.py decides the direction and writes the notes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.ends import OF_FILE, Ends
from vlang.runtime.graph.edges.given import named_types
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
        directed: whether the edges are directed. If `directed` is None, the format decides: symmetric MatrixMarket
            files are undirected, DIMACS arcs are directed, and a text has the direction of a comment such as "#
            Undirected graph", else it is directed. An undirected file may list each edge once or in both directions
            (see direction.py).
        weights: the name or number (from 1) of the column that becomes "weight". If `weights` is None, columns keep the
            names of the header. A file without a header has the columns "weight" (the third), "column4", "column5", and
            so on.
        columns: names of columns in which every cell must be a number, or a mapping from such names to types: "number",
            "bool", "category", "date", "time", "time[ms]", "time[us]" or "time[ns]". If `columns` is None, only the
            cells of the column "weight" must be numbers. Any other column of a text list is left out if a cell is not a
            number, and `left_out` gives the reason. In the column of `weights`, too, every cell must be a number.
        missing: how to treat cells without a value (the texts in `asked.MISSING`). "error" raises GraphError. "drop"
            drops a row with such a cell in one of `columns`. A number replaces every such cell.
        threads: how many threads to use; 0 for one per processor.
        ends: the columns of the source and target ids, and the option `vertices`; only for a text list.
        space: allocates the arrays of edges and ids.

    Returns:
        The edges. A column has dtype int32 or int64 if the values of all rows are integers, else float64. The ids have
        dtype int64, or uint64 if an id is above 2^63 - 1; if any id is not an integer, all ids are texts. The vertex
        ids are 1..n if the format declares n, else the ids that occur.

    Raises:
        GraphError: the content is wrong; the message gives the line, its text and what was expected.
        DiskError: the file is missing or cannot be read.
    """
    asked = Asked(directed, weights, None if columns is None else frozenset(columns), parse_missing(missing), ends,
                  named_types(columns))
    file = TextFile(path)
    head = read_head(file)
    _check_ends(file, head.format, ends)
    with Workers(threads) as workers:
        return _READERS[head.format](file, head, asked, workers, space)


def _check_ends(file: TextFile, found: Format, ends: Ends) -> None:
    """Raise GraphError for a file of vertices, and for options on columns or vertices if the format declares them."""
    if found == Format.EDGE_TEXT and file.path.name.endswith(_TABLES):
        base = str(file.path).removesuffix(".gz").removesuffix(".v")
        raise problem(file.path, "files that end in .v are lists of vertices (LDBC), not of edges",
                      expected=f"{base}.e with --vertices {file.path} (vertices=\"{file.path}\"), or another name "
                               "if these are edges")  # fmt: skip
    if found != Format.EDGE_TEXT and ends != OF_FILE:
        option = "vertices" if ends.vertices is not None else "source-column" if ends.source else "target-column"
        raise problem(file.path, f"this is {found.value}, which declares its vertices and columns",
                      expected=f"no --{option} ({option.replace('-', '_')}=)")
