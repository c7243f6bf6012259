"""The options of a reader, and the texts that mean a missing cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field

import numpy as np

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.ends import OF_FILE, Ends

__all__ = ["MISSING", "Asked", "Missing", "is_missing", "parse_missing"]

Missing = str | int | float
"""How to treat a missing cell: "error", "drop" (the row is dropped), or the number that replaces the cell."""

MISSING = frozenset(["", "-", "na", "n/a", "<na>", "#na", "#n/a", "#n/a n/a", "nan", "+nan", "-nan", "null", "none",
                     "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"])  # fmt: skip
"""Texts that mean a missing cell, in lower case: the defaults of pandas, and `-`. Case is ignored."""


@dataclass(frozen=True)
class Asked:
    """The options of a reader.

    Attributes:
        directed: whether the edges are directed; None uses the direction of the file.
        weights: the column that becomes "weight", by name or by number from 1; None if no column was chosen.
        columns: the columns in which every cell must be a number. While the program is not known, `columns` is None,
            which means the column "weight".
        missing: the treatment of missing cells.
        ends: the columns of the source and target ids, and the option `vertices`.
        types: the types in which programs read columns of names, times or bools, by name of the column.
    """

    directed: bool | None = None
    weights: str | None = None
    columns: frozenset[str] | None = None
    missing: Missing = "error"
    ends: Ends = OF_FILE
    types: Mapping[str, str] = field(default_factory=dict)


def is_missing(cell: str) -> bool:
    """Return whether the text of a cell means a missing value."""
    return cell.lower() in MISSING


def parse_missing(value: object) -> Missing:
    """Parse "error", "drop", a number, or the text of a number.

    Raises GraphError for any other value, including NaN.
    """
    number = _number(value)
    if number is not None:
        return number
    if isinstance(value, str) and value in ("error", "drop"):
        return value
    raise GraphError(f"missing={value!r}: write 'error', 'drop' or a number, which replaces missing cells")


def _number(value: object) -> int | float | None:
    """Convert a value to an int if it is a 64-bit integer, else to a float; None if it is not a number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (str, int, float, np.number)):
        return None
    try:
        whole = int(value) if isinstance(value, (str, int, np.integer)) else None
    except ValueError:
        whole = None
    if whole is not None and -(2**63) <= whole < 2**63:
        return whole
    try:
        number = float(value if whole is None else whole)
    except (ValueError, OverflowError, TypeError):
        return None
    return None if math.isnan(number) else number
