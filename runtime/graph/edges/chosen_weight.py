"""Selects the edge column of a stored graph that becomes `weight`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_list import LeftOut

__all__ = ["as_weight", "check_weights", "without_weight"]

T = TypeVar("T")


def check_weights(path: Path, weights: str | None, there: list[str], left_out: Mapping[str, LeftOut]) -> None:
    """Raise GraphError if the column that should become `weight` does not exist.

    Args:
        path: the file, for the message.
        weights: name of the column; None if no column was chosen.
        there: names of the columns that the file has.
        left_out: columns that could not be read: name -> reason.
    """
    if weights in left_out:
        raise GraphError(left_out[str(weights)].reason)
    if weights is not None and weights not in there:
        held = f"its columns are {', '.join(there)}" if there else "it has no edge columns"
        raise GraphError(f"{path}: the column {weights!r} to take as weight is not there; {held}")


def as_weight(columns: Mapping[str, T], chosen: str) -> dict[str, T]:
    """The columns with `chosen` renamed to `weight`; an existing `weight` is left out."""
    return {"weight" if name == chosen else name: values
            for name, values in columns.items() if name != "weight"}


def without_weight(left_out: Mapping[str, LeftOut]) -> dict[str, LeftOut]:
    """`left_out` without the column `weight`."""
    return {name: why for name, why in left_out.items() if name != "weight"}
