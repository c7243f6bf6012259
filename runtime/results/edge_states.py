"""The edge states of a result: one value for each stored directed edge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.edge_list import VertexIds
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan

__all__ = ["EdgeStates", "states_of"]


class EdgeStates(Mapping[str, NDArray[Any]]):
    """The values of the edge states of a program at the end of a run: name -> array of shape [stored edges].

    Entry i belongs to the edge `sources[i] -> targets[i]`. The edges are ordered by target, then by source, both as in
    `Result.ids`; parallel edges keep the order of the input. An edge of an undirected graph has two entries, one for
    each direction, and a self-loop has one. `Graph.edges(both=True)` has the same order if the adjacency of in-edges
    was built first.
    """

    def __init__(self, ids: VertexIds, offsets: NDArray[np.uint64], others: NDArray[np.uint32],
                 values: Mapping[str, NDArray[Any]]) -> None:
        """Keep the lists of in-edges and the values.

        Args:
            ids: the user's ids of the vertices.
            offsets: uint64[n + 1], where the in-edges of each vertex begin.
            others: uint32[m], the dense number of the source of each in-edge.
            values: name -> array[m].
        """
        self._ids, self._offsets, self._others, self._values = ids, offsets, others, dict(values)

    @cached_property
    def sources(self) -> NDArray[Any]:
        """The user's ids of the sources, in the order of the values."""
        found: NDArray[Any] = self._ids.values[self._others]
        return found

    @cached_property
    def targets(self) -> NDArray[Any]:
        """The user's ids of the targets, in the order of the values."""
        return np.repeat(self._ids.values, np.diff(self._offsets).astype(np.int64))

    def table(self) -> dict[str, NDArray[Any]]:
        """The columns `source` and `target` and one for each edge state, for `pandas.DataFrame` or `pyarrow.table`."""
        return {"source": self.sources, "target": self.targets, **self._values}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<EdgeStates of {len(self._others):,} edges: {', '.join(self._values) or 'none'}>"


def states_of(plan: Plan, graph: Graph, values: Mapping[str, NDArray[Any]]) -> EdgeStates:
    """The edge states of a run.

    Args:
        plan: the plan that was run.
        graph: the graph that it ran on.
        values: name -> the stored array of each edge state.
    """
    if not plan.states:
        return EdgeStates(graph.ids, np.zeros(1, np.uint64), np.zeros(0, np.uint32), {})
    rows = graph.adjacency("in")
    shown = {spec.name: values[spec.name].view(np.bool_) if spec.type == "bool" else values[spec.name]
             for spec in plan.states}
    return EdgeStates(graph.ids, rows.offsets, rows.targets, shown)
