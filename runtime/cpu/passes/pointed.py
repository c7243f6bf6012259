"""Lists of vertices: for each vertex v, the vertices whose field points at v. A change of the field rebuilds the lists.

A pass along pointers pulls over these lists like a pass over edges. The counting sort that builds the rows of edges
also builds these lists. The time of the sort is proportional to the number of vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cpu.paged.source import Columns
from vlang.runtime.engine.state import State
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.pages import DEFAULT_PAGE_SIZE, Pages
from vlang.runtime.graph.topology.pointers import pointed_lists
from vlang.runtime.plan.plan import pointer_of

__all__ = ["Pointed"]


class Pointed:
    """The vertices that point at each vertex, for each field along which passes gather.

    In a row, vertices are in increasing order of their dense numbers (see `Order`).

    Args:
        graph: the graph.
        state: the state of the run, which has the fields.
        threads: the number of threads that build lists.
    """

    def __init__(self, graph: Graph, state: State, threads: int) -> None:
        self._graph, self._state, self._threads = graph, state, threads
        self._known: dict[str, tuple[NDArray[Any], Pages, NDArray[np.uint64]]] = {}

    def follow(self, field: str) -> None:
        """Rebuild the lists of a field if its values have changed; does nothing if `field` is ""."""
        if not field:
            return
        values = self._state.arrays[f"field:{field}"]
        known = self._known.pop(field, None)
        if known is not None and np.array_equal(known[0], values):
            self._known[field] = known
            return
        del known
        pages = Pages.cut(pointed_lists(values, self._graph.order, self._threads), DEFAULT_PAGE_SIZE)
        self._known[field] = values.copy(), pages, pages.table([])

    def pages(self, kind: str) -> Pages:
        """The lists of a domain "pointing:FIELD", cut into pages. `follow` updates the lists."""
        field = pointer_of(kind)
        if field not in self._known:
            self.follow(field)
        return self._known[field][1]

    def table(self, kind: str, columns: Columns) -> NDArray[np.uint64]:
        """The page table of a pass along pointers. Pointers have no columns."""
        return self._known[pointer_of(kind)][2]
