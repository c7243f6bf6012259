"""The format of Parquet and Arrow files: one file, a folder, or a glob."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.files import FileTable, table_files
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.graph.edges.kinds import Names, named_values
from vlang.runtime.graph.edges.share import Share
from vlang.runtime.graph.formats.format import Beginning, ListFormat

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.building.space import Space
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.edges.pool import Workers
    from vlang.runtime.graph.edges.shape import Shape
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.graph.read.asked import Asked

__all__ = ["TABLES", "refuse_taken"]


class _Tables(ListFormat):
    name = "a table"
    typed = True
    suffixes = (".parquet", ".arrow", ".feather")
    packs = False

    def recognises(self, beginning: Beginning) -> bool:
        return table_files(beginning.path) is not None

    def edges(self, path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
        from vlang.runtime.graph.formats.table_edges import read_table  # start-up

        return read_table(_opened(path), asked, workers, space)

    def share(self, path: Path, asked: Asked, workers: Workers, place: int, parts: int) -> Share | None:
        """See `ListFormat.share`. A share has whole row groups of Parquet, or record batches of Arrow files."""
        from vlang.runtime.graph.formats.table_edges import read_table  # start-up

        table = _opened(path)
        if table.groups < parts:
            return None
        edges = read_table(table.share(place, parts), replace(asked, directed=True), workers)
        return Share(edges, directed=True, why="as tables are unless asked otherwise")

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        from vlang.runtime.graph.formats.table_shape import estimate_table  # start-up

        return estimate_table(_opened(path), asked)

    def write(self, graph: Graph, file: IO[bytes], path: str, suffix: str) -> list[str]:
        """See `GraphFormat.write`. Columns of names are written as dictionaries, and times as dates or timestamps."""
        from vlang.runtime.graph.edges.edge_rows import blocks, listed_edges, lost  # start-up

        pa, edges = pyarrow(f"writing {path}"), listed_edges(graph)
        refuse_taken(path, edges.columns)
        table = _arrow_table(pa, edges)
        if suffix == ".parquet":
            import pyarrow.parquet as parquet  # optional

            parquet.write_table(table, file)
        else:
            with pa.ipc.new_file(file, table.schema) as out:
                for part in blocks(table.num_rows):
                    out.write_table(table.slice(part.start, part.stop - part.start))
        return lost(graph, vertices=True, direction=True, typed=True)


def _arrow_table(pa: Any, edges: EdgeList) -> Any:
    """The edges as a table with the columns `source` and `target` and the edge columns."""
    texts = pa.string() if edges.ids.values.dtype.kind == "O" else None  # also of a column without rows
    columns = {end: pa.array(edges.ids.values[numbers], texts)
               for end, numbers in (("source", edges.src), ("target", edges.dst))}
    for name, values in edges.columns.items():
        kind = edges.kinds.get(name)
        if isinstance(kind, Names):
            columns[name] = pa.DictionaryArray.from_arrays(values.astype(np.int32), pa.array(kind.names, pa.string()))
        else:
            columns[name] = pa.array(values if kind is None else named_values(values, kind))
    return pa.table(columns)


def refuse_taken(path: str, names: Iterable[str]) -> None:
    """Raise GraphError if an edge column is called `source` or `target`."""
    taken = sorted({"source", "target"} & set(names))
    if taken:
        raise GraphError(f"{path}: the edge column {taken[0]!r} has the name of an end; read the graph with another "
                         "name for it")


def _opened(path: Path) -> FileTable:
    return FileTable.open(path, table_files(path) or ())


TABLES = _Tables()
