"""The run from which a result comes, so that a run on a changed graph can resume from the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.graph import Graph

__all__ = ["Origin"]


@dataclass(frozen=True, eq=False)
class Origin:
    """The run that computed a result.

    Attributes:
        source: the text of the program.
        precision, derive: compiler options.
        graph: the graph that the program ran on.
        parameters: the parameters of the program, as given by the caller.
        fields: the arrays of vertex fields that the caller gave, in the format of the engine.
        sent: loop number -> field -> the values that vertices had last sent when the loop ended, in the format of the
            engine.
        names: the names of the categories of the run, in increasing order.
        constants: the values of the program's constants that do not have their defaults.
    """

    source: str
    precision: int
    derive: str | None
    graph: Graph
    parameters: Mapping[str, Any]
    fields: Mapping[str, NDArray[Any]]
    sent: Mapping[int, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    constants: Mapping[str, int] = field(default_factory=dict)
