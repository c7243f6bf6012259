"""The text formats, which are recognised by their first lines (`texts/text_table.py` lists them)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vlang.runtime.graph.formats.format import Beginning, ListFormat

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.edges.pool import Workers
    from vlang.runtime.graph.edges.shape import Shape
    from vlang.runtime.graph.edges.space import Space
    from vlang.runtime.graph.read.asked import Asked

__all__ = ["TEXT"]


class _Text(ListFormat):
    name = "a text"

    def recognises(self, beginning: Beginning) -> bool:
        """Every path. The reader raises an error for a file that is not a text, and for a path that is not a file."""
        return True

    def edges(self, path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
        from vlang.runtime.graph.formats.texts.text_table import read_text  # start-up

        return read_text(path, asked, workers, space)

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        if not path.is_file():  # several files, or a pipe, which can be read once
            return None
        from vlang.runtime.graph.formats.texts.estimate_text import estimate_text  # start-up

        return estimate_text(path, asked.directed, threads)


TEXT = _Text()
