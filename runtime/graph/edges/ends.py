"""The options for the two columns of vertex ids in a text, and for the set of vertices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vlang.errors import GraphError
from vlang.records import dataclass

__all__ = ["OF_FILE", "VERTEX_NAMES", "Ends", "parse_column", "plain_name", "vertex_column"]

VERTEX_NAMES = ("id", "vertex", "vertexid", "node", "nodeid", "key", "name", "label")
"""Well-known names for a column of vertex ids, in the form of `plain_name`, preferred names first (docs/command.md)."""


@dataclass(frozen=True)
class Ends:
    """The options that determine the vertex ids of a text.

    Attributes:
        source, target: columns of the source and target ids, by name or number from 1; None lets the reader choose.
        vertices: the option `vertices` of `Graph.read`; None takes the ids that occur in edges.
    """

    source: str | None = None
    target: str | None = None
    vertices: object = None


OF_FILE = Ends()
"""No options: the reader chooses the columns, and takes the ids that occur."""


def parse_column(option: str, value: object) -> str | None:
    """Convert a column's name, or its number from 1, to text; None stays None.

    Raises GraphError for any other value.
    """
    if value is None or (isinstance(value, str) and value):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 1:
        return str(int(value))
    raise GraphError(f"{option}={value!r}: write the name of a column of the file, or its number from 1")


def plain_name(name: str) -> str:
    """The name of a column in lower case, without underscores, hyphens, spaces and colons."""
    return "".join(c for c in name.lower() if c not in "_- :")


def vertex_column(header: Sequence[str]) -> int | None:
    """The index of the column whose name comes first in VERTEX_NAMES; None if no column has such a name."""
    names = [plain_name(name) for name in header]
    return next((names.index(name) for name in VERTEX_NAMES if name in names), None)
