"""Where a result comes from, so that a run on a changed graph can go on from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from vlang.runtime.graph.graph import Graph

__all__ = ["Origin"]


@dataclass(frozen=True, eq=False)
class Origin:
    """The run that a result is of.

    source: the text of the program. precision, derive: as it was compiled. parameters: as the caller gave them. fields:
    arrays of vertex fields that the caller gave, as stored. told: by number of a loop and field, what each vertex has
    told its neighbours when the loop ended, as stored.
    """

    source: str
    precision: int
    derive: str | None
    graph: Graph
    parameters: Mapping[str, Any]
    fields: Mapping[str, NDArray[Any]]
    told: Mapping[int, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
