"""Which columns of a text have the ends of an edge, and which vertices there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vlang.errors import GraphError

__all__ = ["OF_FILE", "Ends", "parse_column"]


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
