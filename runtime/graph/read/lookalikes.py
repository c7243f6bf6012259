"""Detects texts that look like edge lists but are not: METIS, MatrixMarket without its first line, lines of counts.

If a text of this kind were read as an edge list, the graph would have a wrong edge, or raise an error for a correct
line. A text raises GraphError if it is certainly not an edge list, or if it has a second header in the middle. A
doubtful text adds a warning. All lines after a header such as `source target` are taken as edges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from vlang.errors import GraphError
from vlang.runtime.graph.edges.ends import plain_name
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.end_columns import SOURCES, TARGETS, EndColumns
from vlang.runtime.graph.read.head import SAMPLE, Head
from vlang.runtime.graph.read.layout import cut_line
from vlang.runtime.graph.read.scan import Scanned
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.table import Table
from vlang.runtime.graph.read.text_errors import problem, shortened

__all__ = ["doubts", "name_says", "refuse_by_head", "refuse_by_rows", "refuse_second_header"]

_ANYWAY = "; if these are edges, a header such as `source target` before them"
_WIDE = 4  # minimum number of columns of a square of numbers that counts as a matrix
_WINDOW = 1 << 23
_NAMED = {
    ".vg": "a page file", ".npz": "an archive of NumPy", ".npy": "an array of NumPy", ".mtx": "MatrixMarket",
    ".gr": "DIMACS", ".graph": "METIS", ".metis": "METIS", ".sg": "a graph of GAP", ".wsg": "a graph of GAP",
    ".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Feather", ".ipc": "Arrow", ".graphml": "GraphML",
    ".gexf": "GEXF", ".gml": "GML", ".net": "Pajek", ".json": "JSON", ".jsonl": "lines of JSON",
    ".ndjson": "lines of JSON", ".xml": "XML", ".dot": "DOT", ".zip": "an archive", ".tar": "an archive",
    ".xlsx": "a workbook", ".pkl": "a pickle", ".h5": "HDF5", ".hdf5": "HDF5",
}
"""The format that the suffix of a file name indicates, for suffixes of files that are not plain lists of edges."""
_MANY = 10  # lines of another length than the first line that are sufficient evidence if a part of the file is unknown


def name_says(path: Path) -> str:
    """A clause that names the format which the suffix of a text file indicates; "" if there is none."""
    suffix = path.suffix.lower()
    return f"the name ends in {suffix}, as if the file were {_NAMED[suffix]}, and the file is a text" \
        if suffix in _NAMED else ""


def refuse_by_head(file: TextFile, table: Table) -> None:
    """Raise GraphError if the numbers of columns in the first lines show that a file is METIS or MatrixMarket."""
    if table.header or table.delimiter or len(table.rows) < 2:
        return
    first, rest = _integers(table.rows[0]), [_integers(row) for row in table.rows[1:]]
    lines = [row for row in rest if row is not None]
    if first is None or len(lines) < len(rest):
        return
    whole = len(table.rows) < SAMPLE
    if len(first) == 3 and _is_matrix(first, lines, whole):
        raise _matrix(file, table)
    if 2 <= len(first) <= 4 and _is_metis(first, lines, whole):
        raise _metis(file, table, first)


def refuse_by_rows(file: TextFile, table: Table, read: Scanned) -> list[str]:
    """Warnings about the first row. Raises GraphError if the first row is certainly not an edge.

    Args:
        file: the file.
        table: the first lines of the file.
        read: all rows, which have as many columns as the first row.
    """
    first = None if table.header or table.delimiter or read.ids.text else _integers(table.rows[0])
    rows = len(read.source) - 1
    if first is None or rows < 1 or read.dropped or not 2 <= len(first) <= 4 or rows not in first:
        return []
    low, high = _range(read, 0)
    if len(first) == 3 and first[0] == first[1] and first[2] == rows and low >= 1 and high <= first[0]:
        raise _matrix(file, table)
    n, m = first[:2]
    if rows == n and _are_neighbours(first, read):
        raise _metis(file, table, first)
    if rows == first[-1] and high <= max(n, m) and len(first) < 4:
        line = f"{file.path}, line {table.first.number}: `{table.first.text.strip()}`"
        return [f"{line} may be counts, as {rows:,} lines follow; it is read as an edge. Remove it, or write a header "
                "such as `source target` before it"]
    return []


def refuse_second_header(file: TextFile, table: Table, ends: EndColumns, read: Scanned) -> None:
    """Raise GraphError if an edge has the names of the header as its ends, which happens if files were joined.

    Args:
        file: the file.
        table: its first lines.
        ends: the columns of both ends.
        read: all rows.
    """
    if not table.header or not read.ids.text:
        return
    source, target = (read.ids.lookup(table.header[end]) for end in (ends.source, ends.target))
    if source is None or target is None or not bool(((read.source == source) & (read.target == target)).any()):
        return
    path, line = _next_line(file, table)
    raise problem(path, "this is the header once more", line=line, found=table.first.text,
                  expected="one header in a file, as where files were joined")


def _next_line(file: TextFile, table: Table) -> tuple[Path, int | None]:
    """The file of the first line after the header that repeats the header, and the number of this line."""
    number, wanted, path, first = 0, table.first.text.encode(), file.path, table.first.number
    for window in file.windows(_WINDOW):
        if window.part is not None:
            first = first if path == file.path else window.line - 1
            number, path = 0, window.part
        for line in window.text[: window.size].tobytes().split(b"\n")[:-1]:
            number += 1
            if number > first and line.strip() == wanted.strip():
                return path, number
    return path, None


def doubts(file: TextFile, head: Head, table: Table, read: Scanned, asked: Asked) -> Iterator[str]:
    """Warnings about other possible meanings of a text.

    Args:
        file: the file.
        head: its first lines.
        table: these lines, cut into fields.
        read: all rows.
        asked: the options.
    """
    at = f"{file.path}, line"
    if clause := name_says(file.path):
        yield f"{file.path}: {clause}; each line is read as an edge"
    places: dict[str, list[int]] = defaultdict(list)
    for column, name in enumerate(table.header, 1):
        places[name].append(column)
    for name, (first, *more) in places.items():
        if name and more and not any(name == shown for shown in _ends_twice(table)):
            shown = " and ".join(map(str, (first, *more)))
            yield f"{at} {table.first.number}: columns {shown} are all called {shortened(name)}; the first has the name"
    for column, name in enumerate(table.header):
        says = {cell.lower() for cell in table.cells(column)}
        if name.lower() == "type" and says == {"undirected"} and asked.directed is None:
            yield (f"{at} {table.first.number}: the column {name} says that edges are undirected, and they are read as "
                   "directed ones; --undirected (directed=False) reads them so")
    if not table.header and table.width >= _WIDE and len(read.source) == table.width and not read.left_out:
        yield (f"{file.path}: {table.width} rows of {table.width} numbers may be a matrix, and each row is read as one "
               "edge; a header such as `source target` says that they are edges")
    hidden = [line for line in head.comments if table.delimiter and line.number > table.first.number
              and line.text.startswith("#") and len(cut_line(line.text, table.delimiter)) == table.width]
    if hidden:
        yield (f"{at} {hidden[0].number}: `{shortened(hidden[0].text)}` is a comment, as it begins with #; write such "
               "an id in quotes")


def _ends_twice(table: Table) -> list[str]:
    """The names in the header that are well-known names of source or target columns; `choose_ends` warns about them."""
    return [name for name in table.header if plain_name(name) in (*SOURCES, *TARGETS)]


def _integers(row: Sequence[str]) -> list[int] | None:
    """Convert a row to non-negative integers; None if a cell is anything else."""
    return [int(cell) for cell in row] if all(cell.isascii() and cell.isdigit() for cell in row) else None


def _is_matrix(first: Sequence[int], lines: Sequence[Sequence[int]], whole: bool) -> bool:
    """Return whether the first line has the numbers of rows, columns and entries, and all other lines are positions
    without values.
    """
    rows, columns, entries = first
    return (all(len(line) == 2 and 1 <= line[0] <= rows and 1 <= line[1] <= columns for line in lines)
            and (entries == len(lines) if whole else entries >= len(lines)))


def _is_metis(first: Sequence[int], lines: Sequence[Sequence[int]], whole: bool) -> bool:
    """Whether the first line has the numbers of vertices and edges, and the other lines are lists of neighbours."""
    n, m = first[:2]
    unweighted = len(first) == 2 or first[2] == 0
    if _metis_form(first) is None:
        return False
    others = sum(len(line) != len(first) for line in lines)
    if not others or not m or len(lines) > n or (unweighted and any(not 1 <= v <= n for line in lines for v in line)):
        return False
    total = sum(map(len, lines))
    return total == 2 * m if whole and unweighted else others >= min(_MANY, -(-len(lines) // 2))


def _metis_form(first: Sequence[int]) -> tuple[int, int] | None:
    """The form of METIS lines: (count of numbers before the neighbours, count per neighbour); None if invalid."""
    code = str(first[2]) if len(first) > 2 else "0"
    if len(code) > 3 or set(code) - set("01"):
        return None
    sizes, weights, edge_weights = (digit == "1" for digit in code.rjust(3, "0"))
    return sizes + weights * (first[3] if len(first) > 3 else 1), 1 + edge_weights


def _are_neighbours(first: Sequence[int], read: Scanned) -> bool:
    """Return whether the lines, which all have the same length, can be lists of neighbours. METIS has no self-loops."""
    n, m = first[:2]
    lead, each = _metis_form(first) or (len(first), 1)
    left = len(first) - lead
    if left < 1 or left % each or n * left // each != 2 * m or lead > 1:
        return False
    low, high = _range(read, lead)
    own, ids = np.arange(1, n + 1), read.ids.values
    neighbours = (read.source, read.target)[lead : lead + 1 if each == 2 else 2]
    return low >= 1 and high <= n and not any(bool((ids[end[1:]] == own).any()) for end in neighbours)


def _range(read: Scanned, column: int) -> tuple[int, int]:
    """The smallest and the largest id after the first row, in both columns of ids or, if `column` is 1, in the
    second.
    """
    ends = (read.source[1:], read.target[1:])[column:]
    low, high = (int(read.ids.label(int(f(f(end) for end in ends)))) for f in (min, max))
    return low, high


def _matrix(file: TextFile, table: Table) -> GraphError:
    kind = "real" if table.width == len(table.rows[1]) else "pattern"
    return problem(
        file.path, "this looks like MatrixMarket without its first line, which says what the numbers are",
        line=table.first.number, found=table.first.text,
        expected=f"before it: %%MatrixMarket matrix coordinate {kind} general{_ANYWAY}",
    )  # fmt: skip


def _metis(file: TextFile, table: Table, first: Sequence[int]) -> GraphError:
    return problem(
        file.path, f"this looks like METIS ({first[0]:,} vertices, {first[1]:,} edges, and a line of neighbours for "
        "each vertex), which the name decides", line=table.first.number, found=table.first.text,
        expected=f"a name that ends in .graph, or two vertices on each line{_ANYWAY}",
    )  # fmt: skip
