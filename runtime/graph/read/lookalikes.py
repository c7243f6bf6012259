"""Detects texts that look like edge lists but are not: METIS, MatrixMarket without its first line, lines of counts.

If such a text were read as an edge list, it would have a wrong edge, or raise an error for a correct line. A text that
is certainly not an edge list raises GraphError; a doubtful one adds a warning. With a header such as `source target`,
all lines after it are taken as edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vlang.errors import GraphError
from vlang.runtime.graph.read.head import SAMPLE
from vlang.runtime.graph.read.scan import Scanned
from vlang.runtime.graph.read.source import TextFile
from vlang.runtime.graph.read.table import Table
from vlang.runtime.graph.read.text_errors import problem

__all__ = ["refuse_by_head", "refuse_by_rows"]

_ANYWAY = "; if these are edges, a header such as `source target` before them"
_MANY = 10  # lines of another length than the first; so many are evidence enough if only a part of the file is known


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


def _integers(row: Sequence[str]) -> list[int] | None:
    """Convert a row to non-negative integers; None if a cell is anything else."""
    return [int(cell) for cell in row] if all(cell.isascii() and cell.isdigit() for cell in row) else None


def _is_matrix(first: Sequence[int], lines: Sequence[Sequence[int]], whole: bool) -> bool:
    """Whether the first line counts rows, columns and entries, and the other lines are positions without values."""
    rows, columns, entries = first
    return (all(len(line) == 2 and 1 <= line[0] <= rows and 1 <= line[1] <= columns for line in lines)
            and (entries == len(lines) if whole else entries >= len(lines)))


def _is_metis(first: Sequence[int], lines: Sequence[Sequence[int]], whole: bool) -> bool:
    """Whether the first line counts vertices and edges, and the other lines are lists of neighbours."""
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
    """Whether the lines, which all have the same length, can be lists of neighbours. METIS has no self-loops."""
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
    """The smallest and the largest id after the first row, in both columns of ids (`column` 0) or in the second (1)."""
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
        "each vertex), which is not read", line=table.first.number, found=table.first.text,
        expected=f"two vertices on each line{_ANYWAY}",
    )  # fmt: skip
