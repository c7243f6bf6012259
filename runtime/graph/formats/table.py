"""The table of the formats of graph files."""

from __future__ import annotations

from pathlib import Path

from vlang.runtime.graph.formats.format import Beginning, GraphFormat
from vlang.runtime.graph.formats.gap import GAP
from vlang.runtime.graph.formats.json_lines import JSON_LINES
from vlang.runtime.graph.formats.metis import METIS
from vlang.runtime.graph.formats.npz import NPZ
from vlang.runtime.graph.formats.page_file import PAGE_FILE
from vlang.runtime.graph.formats.tables import TABLES
from vlang.runtime.graph.formats.text import TEXT
from vlang.runtime.graph.formats.through_networkx import GEXF, GML, GRAPHML, PAJEK

__all__ = ["FORMATS", "recognised"]

FORMATS: tuple[GraphFormat, ...] = (PAGE_FILE, NPZ, TABLES, GAP, METIS, JSON_LINES, GRAPHML, GEXF, GML,
                                    PAJEK, TEXT)
"""The formats in the order in which a path is tested for them. The last format accepts every path, and its reader
raises the errors for paths that are no files."""


def recognised(path: Path) -> GraphFormat:
    """The format of a file by its content, or of a folder or glob by the content of its files."""
    beginning = Beginning(path)
    return next(one for one in FORMATS if one.recognises(beginning))
