"""Graph files to edge lists: one module per format, and detection by content.

`read_edges` opens the file (`source`), looks at its beginning (`head`), and gives it to the reader of its format, which
describes the lines (`layout`); `scan` runs the kernels over all of them and `numbering` turns ids into ranks; `finish`
decides the direction and writes the notes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.asked import Asked, parse_missing
from vlang.runtime.graph.read.dimacs import read_dimacs
from vlang.runtime.graph.read.edge_text import read_edge_text
from vlang.runtime.graph.read.head import Format, read_head
from vlang.runtime.graph.read.matrix_market import read_matrix_market
from vlang.runtime.graph.read.source import TextFile

__all__ = ["read_edges"]

_READERS = {
    Format.EDGE_TEXT: read_edge_text,
    Format.MATRIX_MARKET: read_matrix_market,
    Format.DIMACS: read_dimacs,
}


def read_edges(
    path: str | os.PathLike[str], *, directed: bool | None = None, weights: str | None = None,
    columns: Iterable[str] | None = None, missing: object = "error", threads: int = 0,
) -> EdgeList:  # fmt: skip
    """Read a text edge list, csv, tsv, MatrixMarket or DIMACS file, plain or gzip, recognised by its content.

    Args:
        directed: None decides by the format (MatrixMarket symmetric: undirected; DIMACS arcs: directed; text: what a
            comment such as "# Undirected graph" says, else directed). An undirected file may list each edge once or
            both ways: see `direction`.
        weights: the name or number (from 1) of the column that becomes "weight"; None keeps names: the third is
            "weight", further ones "column4", ..., or as a header says.
        columns: names of columns in which every cell must be a number; None stands for "weight". Another column of a
            text list in which one is not a number is left out, and `left_out` says why; the column of `weights` is
            always needed.
        missing: what becomes of cells without a value (`asked.MISSING`): "error"; "drop" leaves a row out if such a
            cell is in a column that is needed; a number takes the place of every such cell.
        threads: 0 for one per processor.

    Columns of integers are int32 or int64, others float64; all rows decide.

    The ids are the integers of the file (int64, or uint64 if one is above 2^63 - 1), or, if one is not an integer,
    texts; the vertices are those that occur, but 1..n where the format declares n.

    Raises GraphError for wrong content, with the line, what stands there and what was expected; DiskError if the file
    is missing or cannot be read.
    """
    asked = Asked(directed, weights, None if columns is None else frozenset(columns), parse_missing(missing))
    file = TextFile(path)
    head = read_head(file)
    with Workers(threads) as workers:
        return _READERS[head.format](file, head, asked, workers)
