"""Reads and writes DIMACS files of shortest paths (`p sp`, `a u v w`) and of plain graphs (`p edge`, `p col`; `e u v`).

The format is described at http://www.diag.uniroma1.it/challenge9/format.shtml.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

import numpy as np

from vlang.errors import GraphError, plural
from vlang.runtime.graph.edges.building.space import IN_MEMORY, Space
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.edge_rows import blocks, column_values, listed_edges, lost, only_column
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.asked import Asked
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

__all__ = ["dimacs_counts", "read_dimacs", "write_dimacs"]

_EXPECTED = "p sp VERTICES ARCS, or p edge VERTICES EDGES"
_MOST = (1 << 32) - 2


def read_dimacs(
    file: TextFile, head: Head, asked: Asked, workers: Workers, space: Space = IN_MEMORY
) -> EdgeList:
    """Read a DIMACS graph. The vertex ids are 1..n. Arcs (`p sp`) are directed, edges are undirected.

    Args:
        file: the file.
        head: the first lines of the file.
        asked: the options.
        workers: the threads to use.
        space: allocates the arrays of edges and ids.

    Raises:
        GraphError: the problem line or another line is wrong, or the number of arcs differs from the declared number.
    """
    problem_line = head.data[0]
    kind, count, edges = _problem(file, problem_line)
    first = head.data[1] if len(head.data) > 1 else None
    fields = [Field("source", Role.SOURCE), Field("target", Role.TARGET)]
    if kind == "sp" or (first is not None and len(first.text.split()) == 4):
        fields.append(Field("weight", Role.INTEGER))
    mark = "a" if kind == "sp" else "e"
    layout = Layout(
        choose_weight(file.path, fields, asked), start=problem_line.end, line=problem_line.number + 1, mark=ord(mark),
        shape=" ".join([mark, *(field.name for field in fields)]), declared=count,
        missing=asked.missing,
    )  # fmt: skip
    read = scan_edges(file, layout, workers, space)
    if len(read.source) + read.dropped != edges:
        raise problem(
            file.path, f"{plural(len(read.source) + read.dropped, 'edge')} in the file", line=problem_line.number,
            found=problem_line.text, expected=f"{plural(edges, 'edge')}, as this line declares",
        )  # fmt: skip
    facts = Facts(f"DIMACS, p {kind}{file.packed}", directed=kind == "sp", why=f"as p {kind} says")
    return finish(read, facts, asked, space)


def dimacs_counts(lines: Sequence[str]) -> tuple[int, int]:
    """The numbers of edges and of vertices that the problem line declares; (0, 0) if there is no such line."""
    for line in lines:
        words = line.split()
        if words and words[0] == "p":
            return int(words[-1]), int(words[-2])
    return 0, 0


def _problem(file: TextFile, line: Line) -> tuple[str, int, int]:
    """Parse the problem line: (kind, number of vertices, number of edges)."""
    words = line.text.split()
    kind = words[1]
    if kind not in ("sp", "edge", "edges", "col"):
        raise problem(
            file.path, f"the DIMACS problem {kind!r} is not a graph of weighted or plain edges", line=line.number,
            found=line.text, expected=_EXPECTED,
        )  # fmt: skip
    if len(words) != 4 or not all(word.isascii() and word.isdigit() for word in words[2:]):
        raise problem(file.path, "a wrong problem line", line=line.number, found=line.text, expected=_EXPECTED)
    count, edges = map(int, words[2:])
    if count > _MOST:
        raise problem(
            file.path, "too many vertices", line=line.number, found=line.text, expected=f"at most {_MOST:,} vertices"
        )
    return kind, count, edges


def write_dimacs(graph: Graph, file: IO[bytes], path: str, _suffix: str) -> list[str]:
    """Write a graph, and return notes about what the file does not keep. A directed graph becomes `p sp`, and an
    undirected one `p edge`.

    Args:
        graph, file, path, _suffix: see `GraphFormat.write`.

    Raises:
        GraphError: weights are no integers, or a directed graph has none.
    """
    name, notes = only_column(graph, path)
    edges = listed_edges(graph)
    if name is None and graph.directed:
        raise GraphError(f"{path}: arcs of DIMACS (`p sp`) have weights, and the graph has none: --weights 1..1 "
                         "(weights=\"1..1\") gives each edge the weight 1")
    if name is not None and edges.columns[name].dtype.kind == "f":
        raise GraphError(f"{path}: DIMACS has weights that are integers, and column {name!r} has floats")
    kind, mark = ("sp", "a") if graph.directed else ("edge", "e")
    file.write(f"p {kind} {graph.n} {len(edges.src)}\n".encode())
    for part in blocks(len(edges.src)):
        cells = [csv_texts(end[part].astype(np.int64) + 1, None) for end in (edges.src, edges.dst)]
        cells += [] if name is None else [csv_texts(column_values(edges, name, part), None)]
        file.write("".join(f"{mark} {' '.join(row)}\n" for row in zip(*cells)).encode())
    return [*notes, *lost(graph, ids=1)]
