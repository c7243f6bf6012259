"""Writes text edge lists: .txt in the style of SNAP, .csv and .tsv with a header."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING, Any

from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_rows import blocks, column_values, listed_edges, lost
from vlang.runtime.graph.read.asked import is_missing
from vlang.runtime.storage.output import csv_texts

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["MARKS", "write_edges"]

MARKS = {".txt": "\t", ".csv": ",", ".tsv": "\t"}
"""The mark between columns, by the suffix of the file."""

_QUOTED = re.compile(r'[\s",;#%/\'(]|^$')
_CONTROL = re.compile(r"[\0-\x08\n\r\x0b\x0c\x0e-\x1f]")


def write_edges(graph: Graph, file: IO[bytes], path: str, suffix: str) -> list[str]:
    """Write the edges of a graph, and return notes about what the file does not keep.

    A .txt begins with comments on the direction and the counts. The columns of a .txt have a header unless the only
    column is `weight` and the ids are integers. A .csv and a .tsv always have a header, and no comments.

    Args:
        graph: the graph.
        file: the output.
        path: the path, for messages.
        suffix: a key of `MARKS`.

    Raises:
        GraphError: an id or a name cannot be written.
    """
    mark, edges = MARKS[suffix], listed_edges(graph)
    names = list(edges.columns)
    if suffix == ".txt":
        file.write(f"# {'Directed' if graph.directed else 'Undirected'} graph\n"
                   f"# Nodes: {graph.n} Edges: {len(edges.src)}\n".encode())
    if suffix != ".txt" or names not in ([], ["weight"]) or graph.ids.text:
        file.write((mark.join(_quoted(path, ["source", "target", *names])) + "\n").encode())
    for name, kind in edges.kinds.items():
        bad = next((text for text in getattr(kind, "names", ()) if is_missing(text)), None)
        if bad is not None:
            raise GraphError(f"{path}: the value {bad!r} of column {name!r} would be read as a missing cell; write a "
                             ".parquet")
    for part in blocks(len(edges.src)):
        ends = [edges.ids.values[end[part]] for end in (edges.src, edges.dst)]
        columns = [_cells(path, values, mark) for values in (*ends, *(column_values(edges, n, part) for n in names))]
        file.write(("\n".join(map(mark.join, zip(*columns))) + "\n").encode())
    return lost(graph, vertices=True, direction=suffix != ".txt")


def _cells(path: str, values: NDArray[Any], mark: str) -> list[str]:
    if values.dtype == object:
        return _quoted(path, values.tolist())
    return list(csv_texts(values, None, mark))


def _quoted(path: str, texts: list[str]) -> list[str]:
    """Quote each text that a reader could cut, trim or take for a comment."""
    if not _QUOTED.search("\n".join(texts).replace("\n", "a")) and "" not in texts:
        return texts
    for text in texts:
        if not text or _CONTROL.search(text):
            raise GraphError(f"{path}: {text!r} cannot be written to a line of text; write a .parquet or .jsonl")
    return ['"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text for text in texts]
