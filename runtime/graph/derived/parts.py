"""Graphs that are derived from a graph: the reversed graph, and subgraphs. The edges keep their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.library import is_table
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.given import refuse_masked
from vlang.runtime.graph.edges.labelled import aligned
from vlang.runtime.graph.topology.adjacencies import Adjacencies
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.transform import listed_rows

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["component_graph", "reversed_graph", "vertex_graph"]


def reversed_graph(graph: Graph) -> Graph:
    """See `Graph.reverse`."""
    if not graph.directed:
        return graph
    kind, rows = _rows(graph.plain())
    other = Adjacencies(graph.n, True, ("out" if kind == "in" else "in", rows), threads=graph.threads)
    found = graph.plain()._varied(other, graph.m)
    found._add_note("Reversed: every edge points the other way.")
    return found


def vertex_graph(graph: Graph, vertices: Any) -> Graph:
    """See `Graph.subgraph`."""
    graph = graph.plain()
    return _induced(graph, _marked(graph, vertices), "Subgraph")


def component_graph(graph: Graph) -> Graph:
    """See `Graph.largest_component`."""
    graph = graph.plain()
    if graph.n == 0:
        return graph
    _, rows = _rows(graph)
    roots = _roots(graph.n, listed_rows(rows, graph.threads), rows.targets)
    largest = int(np.bincount(roots, minlength=graph.n).argmax())  # the first of the largest components
    return _induced(graph, roots == largest, "Largest component")


def _rows(graph: Graph) -> tuple[str, Rows]:
    """Return a direction whose adjacency lists have every edge column, and the adjacency lists of this direction."""
    base = graph.built()
    return base.kind, Rows(base.offsets, base.targets, {name: base.stored(name) for name in graph.columns})


def _marked(graph: Graph, vertices: Any) -> NDArray[np.bool_]:
    """A mask of the requested vertices, bool[n]. Raises GraphError for an id that the graph does not have."""
    if isinstance(vertices, (str, bytes)) or not isinstance(vertices, Iterable) or is_table(vertices):
        what = f"a {type(vertices).__name__}: take one of its columns" if is_table(vertices) else repr(vertices)
        raise GraphError(f"subgraph takes the ids of vertices, or a bool for each vertex, not {what}")
    refuse_masked("subgraph: the list", vertices)
    listed = vertices if isinstance(vertices, np.ndarray) else \
        list(vertices.values() if isinstance(vertices, Mapping) else vertices)
    if getattr(listed, "dtype", None) == np.bool_ or (len(listed) and isinstance(listed[0], (bool, np.bool_))):
        chosen = aligned("the condition", graph, listed if isinstance(vertices, Iterator) else vertices)
        if chosen.shape != (graph.n,) or chosen.dtype != np.bool_:
            raise GraphError(f"a bool for each vertex has shape ({graph.n},), not {chosen.shape}")
        return chosen
    if isinstance(vertices, Mapping):
        raise GraphError("subgraph takes a dict of vertex ids and bools, or a list of ids")
    marked = np.zeros(graph.n, dtype=np.bool_)
    marked[[graph.find(vertex) for vertex in listed]] = True
    return marked


def _induced(graph: Graph, marked: NDArray[np.bool_], what: str) -> Graph:
    """The marked vertices and the edges between them. The vertex ids keep their order, so that rows stay sorted."""
    kind, rows = _rows(graph)
    tails = listed_rows(rows, graph.threads)
    kept = marked[tails] & marked[rows.targets]
    numbers = np.cumsum(marked, dtype=np.int64) - 1
    count = int(marked.sum())
    lengths = np.bincount(numbers[tails[kept]], minlength=count)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    fewer = Rows(offsets, numbers[rows.targets[kept]].astype(np.uint32),
                 {name: values[kept] for name, values in rows.columns.items()})
    ids = VertexIds(graph.ids.values[marked]) if count < graph.n else graph.ids
    note = f"{what}: {count:,} of {graph.n:,} vertices."
    found = graph._with(ids, Adjacencies(count, graph.directed, (kind, fewer), threads=graph.threads), note)
    found.vertex_columns = graph.vertex_columns
    return found


def _roots(n: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The smallest vertex of the component of each vertex, uint32[n]; edge directions are ignored.

    In each round, every root that has a smaller neighbour gets its smallest neighbour as parent. At the end of a round,
    trees are flattened, and edges inside of a tree are dropped. The algorithm is from Shiloach and Vishkin, An O(log n)
    parallel connectivity algorithm (Journal of Algorithms 3, 1982).
    """
    parents = np.arange(n, dtype=np.uint32)
    while len(src):
        low, high = np.minimum(src, dst), np.maximum(src, dst)
        apart = low != high
        low, high = low[apart], high[apart]
        np.minimum.at(parents, high, low)
        above = parents[parents]
        while not np.array_equal(above, parents):
            parents, above = above, above[above]
        src, dst = parents[low], parents[high]
    return parents
