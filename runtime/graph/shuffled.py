"""A graph with randomly ordered rows, so that contributions arrive in a random order (to test rule R)."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.build import Rows

__all__ = ["ShuffledGraph"]


class ShuffledGraph(Graph):
    """A graph with the vertices and edges of another graph, but with each row in a random order.

    Both graphs share the original adjacency lists. Each adjacency in use takes 8 bytes per edge for its random order,
    and a copy of its neighbours and columns.
    """

    def __init__(self, graph: Graph, rng: np.random.Generator) -> None:
        self._notes, self._kept, self.left_out = list(graph.notes), (), graph.left_out
        self.warnings, self.kinds = graph.warnings, graph.kinds
        self._codings, self._coded = graph._codings, {}
        self._take(graph.name, graph.ids, graph.m, graph._adjacencies, graph.order)
        self._rng = rng
        self._shuffled: dict[str, Adjacency] = {}

    def adjacency(self, kind: str, columns: Iterable[str] = ()) -> Adjacency:
        """The adjacency with the entries of each row in a random order, which is drawn once per adjacency."""
        kind = kind if self.directed else "in"
        base = super().adjacency(kind, columns)
        if kind not in self._shuffled:
            self._shuffled[kind] = self._shuffled_lists(kind, base)
        return self._shuffled[kind]

    def _shuffled_lists(self, kind: str, base: Adjacency) -> Adjacency:
        degrees = np.diff(base.offsets).astype(np.int64)
        rows = np.repeat(np.arange(self.n), degrees)
        order = np.lexsort((self._rng.random(len(base)), rows))
        return Adjacency(kind, Rows(base.offsets, base.targets[order], {}), base.columns,
                         lambda name: base.stored(name)[order], threading.RLock())
