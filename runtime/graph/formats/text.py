"""The text formats, which are recognised by their first lines (`texts/text_table.py` lists them)."""

from __future__ import annotations

from pathlib import Path
from typing import IO, TYPE_CHECKING

from vlang.runtime.graph.formats.format import Beginning, ListFormat

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.building.space import Space
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.edges.pool import Workers
    from vlang.runtime.graph.edges.shape import Shape
    from vlang.runtime.graph.edges.share import Share
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.graph.read.asked import Asked

__all__ = ["TEXT"]


class _Text(ListFormat):
    name = "a text"
    suffixes = (".txt", ".csv", ".tsv", ".mtx", ".gr", ".e")

    def recognises(self, beginning: Beginning) -> bool:
        """True for every path. The reader raises an error for a path that is no file, or that is not a text."""
        return True

    def edges(self, path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
        from vlang.runtime.graph.formats.texts.text_table import read_text  # start-up

        return read_text(path, asked, workers, space)

    def share(self, path: Path, asked: Asked, workers: Workers, place: int, parts: int) -> Share | None:
        from vlang.runtime.graph.formats.texts.text_shares import read_text_share  # start-up

        return read_text_share(path, asked, workers, place, parts)

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        if not path.is_file():  # several files, or a pipe, which can be read only once
            return None
        from vlang.runtime.graph.formats.texts.estimate_text import estimate_text  # start-up

        return estimate_text(path, asked.directed, threads)

    def write(self, graph: Graph, file: IO[bytes], path: str, suffix: str) -> list[str]:
        from vlang.runtime.graph.formats.texts.dimacs import write_dimacs  # start-up
        from vlang.runtime.graph.formats.texts.ldbc import write_ldbc  # start-up
        from vlang.runtime.graph.formats.texts.matrix_market import write_matrix_market  # start-up
        from vlang.runtime.graph.formats.texts.write_edges import write_edges  # start-up

        writers = {".mtx": write_matrix_market, ".gr": write_dimacs, ".e": write_ldbc}
        return writers.get(suffix, write_edges)(graph, file, path, suffix)


TEXT = _Text()
