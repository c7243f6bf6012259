"""The format of Parquet and Arrow files: one file, a folder, or a glob."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vlang.runtime.graph.arrow.files import FileTable, table_files
from vlang.runtime.graph.formats.format import Beginning, ListFormat

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.edges.pool import Workers
    from vlang.runtime.graph.edges.shape import Shape
    from vlang.runtime.graph.edges.space import Space
    from vlang.runtime.graph.read.asked import Asked

__all__ = ["TABLES"]


class _Tables(ListFormat):
    name = "a table"
    typed = True

    def recognises(self, beginning: Beginning) -> bool:
        return table_files(beginning.path) is not None

    def edges(self, path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
        from vlang.runtime.graph.formats.table_edges import read_table  # start-up

        return read_table(_opened(path), asked, workers, space)

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        from vlang.runtime.graph.formats.table_shape import estimate_table  # start-up

        return estimate_table(_opened(path), asked)


def _opened(path: Path) -> FileTable:
    return FileTable.open(path, table_files(path) or ())


TABLES = _Tables()
