"""Writes the two files of LDBC Graphalytics graphs: NAME.e lists the edges, and NAME.v the vertices.

The format is described in Iosup et al., The LDBC Graphalytics Benchmark (arXiv 2011.15028), section 2.2. Lists of edges
are read as other texts are (`text_table.py`), and lists of vertices by `--vertices`.
"""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_rows import blocks, column_values, listed_edges, lost, only_column
from vlang.runtime.graph.packed_text import packed_output
from vlang.runtime.storage.output import csv_texts, whole_file

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["write_ldbc"]


def write_ldbc(graph: Graph, file: IO[bytes], path: str, _suffix: str) -> list[str]:
    """Write the edges of a graph to `file` and its vertices to NAME.v, and return notes about what is not kept.

    Args:
        graph, file, _suffix: see `GraphFormat.write`.
        path: NAME.e, with the suffix of a compression if there is one; NAME.v is compressed in the same way.

    Raises:
        GraphError: the ids are texts, the graph has columns of which none is a weight, or NAME.v exists.
    """
    if graph.ids.text:
        raise GraphError(f"{path}: ids are integers in a .e, and the graph has texts; write a .csv")
    name, notes = only_column(graph, path)
    stem, _, packed = path.rpartition(".e")
    vertices = f"{stem}.v{packed}"
    if os.path.exists(vertices):  # it may be a table of the caller, with columns that the list would lose
        raise GraphError(f"{path}: the list of vertices would replace {vertices}; remove that file, or choose another "
                         "name")
    with whole_file(vertices) as other, packed_output(other, packed) as out:
        for part in blocks(graph.n):
            out.write(("\n".join(csv_texts(graph.ids.values[part], None)) + "\n").encode())
    edges = listed_edges(graph)
    for part in blocks(len(edges.src)):
        cells = [csv_texts(edges.ids.values[end[part]], None) for end in (edges.src, edges.dst)]
        cells += [] if name is None else [csv_texts(column_values(edges, name, part), None)]
        file.write(("\n".join(map(" ".join, zip(*cells))) + "\n").encode())
    listed = f"The vertices are listed in {vertices}: --vertices {vertices} (vertices=\"{vertices}\") reads them."
    return [*notes, listed, *lost(graph, direction=True)]
