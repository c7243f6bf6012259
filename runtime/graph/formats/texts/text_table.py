"""The table of the text formats that the scanner of `runtime/graph/read` reads, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vlang.records import dataclass
from vlang.runtime.graph.edges.building.space import Space
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.ends import OF_FILE, Ends
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.formats.texts.dimacs import dimacs_counts, read_dimacs
from vlang.runtime.graph.formats.texts.edge_text import read_edge_text
from vlang.runtime.graph.formats.texts.matrix_market import matrix_counts, read_matrix_market
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.head import Format, Head, read_head
from vlang.runtime.graph.read.part_files import TextParts, opened_text
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.text_errors import problem

__all__ = ["TEXTS", "TextReader", "read_text"]

_TABLES = (".v", ".v.gz")


def _unknown(_lines: Sequence[str]) -> tuple[int, int]:
    return 0, 0


@dataclass(frozen=True)
class TextReader:
    """The reader of a text format. `read/head.py` recognises the format by the first lines.

    Attributes:
        read: reads the edges of a file; see `read_edge_text` for the arguments.
        counts: the numbers of edges and of vertices that the first lines declare; (0, 0) if they declare none.
        first: the index of the source id among the fields of a line.
    """

    read: Callable[[TextFile, Head, Asked, Workers, Space], EdgeList]
    counts: Callable[[Sequence[str]], tuple[int, int]] = _unknown
    first: int = 0


TEXTS: Mapping[Format, TextReader] = {
    Format.EDGE_TEXT: TextReader(read_edge_text),
    Format.MATRIX_MARKET: TextReader(read_matrix_market, matrix_counts),
    Format.DIMACS: TextReader(read_dimacs, dimacs_counts, 1),
}


def read_text(path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
    """The edges of a text edge list, csv, tsv, MatrixMarket or DIMACS file, plain or compressed.

    Args:
        path, asked, workers, space: see `ListFormat.edges`.
    """
    file = opened_text(path)
    head = read_head(file)
    _check_ends(file, head.format, asked.ends)
    if isinstance(file, TextParts) and head.format != Format.EDGE_TEXT:
        raise problem(path, f"this is {head.format.value}, which is read from one file, not from several",
                      expected="the name of one of them")
    return TEXTS[head.format].read(file, head, asked, workers, space)


def _check_ends(file: TextFile, found: Format, ends: Ends) -> None:
    """Raise GraphError for a file of vertices, and for options on columns or vertices that the format declares."""
    if found == Format.EDGE_TEXT and file.path.name.endswith(_TABLES):
        base = str(file.path).removesuffix(".gz").removesuffix(".v")
        raise problem(file.path, "files that end in .v are lists of vertices (LDBC), not of edges",
                      expected=f"{base}.e with --vertices {file.path} (vertices=\"{file.path}\"), or another name "
                               "if these are edges")  # fmt: skip
    if found != Format.EDGE_TEXT and ends != OF_FILE:
        option = "vertices" if ends.vertices is not None else "source-column" if ends.source else "target-column"
        raise problem(file.path, f"this is {found.value}, which declares its vertices and columns",
                      expected=f"no --{option} ({option.replace('-', '_')}=)")
