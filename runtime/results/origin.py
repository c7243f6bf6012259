"""The origin of a result, so that a run on a changed graph can resume from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from vlang.runtime.graph.graph import Graph

__all__ = ["Origin"]


@dataclass(frozen=True, eq=False)
class Origin:
    """The run that computed a result.

    Attributes:
        source: the text of the program.
        precision, derive: compiler options.
        graph: the graph.
        parameters: as given by the caller.
        fields: arrays of vertex fields given by the caller, as stored.
        sent: by number of a loop and by field, the values that each vertex had last sent when the loop ended, as
            stored.
    """

    source: str
    precision: int
    derive: str | None
    graph: Graph
    parameters: Mapping[str, Any]
    fields: Mapping[str, NDArray[Any]]
    sent: Mapping[int, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
