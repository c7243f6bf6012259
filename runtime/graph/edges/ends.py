"""Which columns of a text have the ends of an edge, and which vertices there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vlang.errors import GraphError

__all__ = ["OF_FILE", "VERTEX_NAMES", "Ends", "parse_column", "plain_name", "vertex_column"]

VERTEX_NAMES = ("id", "vertex", "vertexid", "node", "nodeid", "key", "name", "label")
"""Names of a column of vertex ids, the best first, as `plain_name` writes them; docs/command.md lists them."""


@dataclass(frozen=True)
class Ends:
    """Where the vertices of a text come from.

    Attributes:
        source, target: the columns of the ends of an edge, names or numbers from 1; None for those of the file.
        vertices: all vertices (see `vertices.py`); None for those that occur.
    """

    source: str | None = None
    target: str | None = None
    vertices: object = None


OF_FILE = Ends()
"""The ends as the file has them."""


def parse_column(option: str, value: object) -> str | None:
    """The name of a column, or its number from 1, as text; None for None. Raises GraphError for anything else."""
    if value is None or (isinstance(value, str) and value):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
        return str(int(value))
    raise GraphError(f"{option}={value!r}: write the name of a column of the file, or its number from 1")


def plain_name(name: str) -> str:
    """A name of a column in lower case, without underscores, hyphens, spaces and colons."""
    return "".join(c for c in name.lower() if c not in "_- :")


def vertex_column(header: Sequence[str]) -> int | None:
    """The column with the best well-known name of vertex ids; None if there is none."""
    names = [plain_name(name) for name in header]
    return next((names.index(name) for name in VERTEX_NAMES if name in names), None)
