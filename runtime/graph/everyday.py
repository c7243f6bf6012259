"""What users do with a graph as a whole: parts of it, its edges the other way, and its edges in other libraries."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any, cast

from vlang.runtime.graph.held import HeldGraph
from vlang.runtime.storage.device_copies import DeviceCopies, DeviceCopy

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["EverydayGraph"]


class EverydayGraph(HeldGraph):
    """A graph with the methods of this module. New graphs keep ids and edge columns."""

    def _repr_html_(self) -> str:
        """The size, the columns and the notes of the graph, for notebooks."""
        graph = cast("Graph", self)
        kind = "directed" if graph.directed else "undirected"
        columns = ", ".join(f"{name} ({dtype})" for name, dtype in graph.columns.items())
        table = graph.vertex_columns
        rows = [("vertices", f"{graph.n:,}"), ("edges", f"{graph.m:,}, {kind}"), ("edge columns", columns or "none"),
                *([("vertex columns", ", ".join(table.names))] if table is not None else []),
                *(("", note) for note in graph.notes), *(("warning", text) for text in graph.warnings)]
        cell = '<td style="text-align:left">'
        lines = [f"<tr>{cell}{escape(name)}</td>{cell}{escape(text)}</td></tr>" for name, text in rows]
        return f"<div><b>{escape(graph.name)}</b></div>\n<table>{''.join(lines)}</table>"

    def simple(self) -> Graph:
        """This graph without self-loops and parallel edges, as `require simple` asks: see `thinned` for which stay."""
        return cast("Graph", self).thinned("drop", "drop")

    def reverse(self) -> Graph:
        """This graph with every edge turned; an undirected graph is its own reverse. Shares the adjacency lists."""
        from vlang.runtime.graph.derived.parts import reversed_graph  # start-up

        return reversed_graph(cast("Graph", self))

    def subgraph(self, vertices: Any) -> Graph:
        """The graph of some vertices and the edges between them.

        vertices: their ids, in any order, or bool[n], True for those that stay. Raises GraphError for an id that the
        graph does not have.
        """
        from vlang.runtime.graph.derived.parts import vertex_graph  # start-up

        return vertex_graph(cast("Graph", self), vertices)

    def largest_component(self) -> Graph:
        """The graph of the largest set of connected vertices, directions aside; of equal ones that of the least id."""
        from vlang.runtime.graph.derived.parts import component_graph  # start-up

        return component_graph(cast("Graph", self))

    def on_device(self) -> tuple[DeviceCopy, ...]:
        """The parts of this graph that GPUs keep between runs, each with `device`, `what`, `nbytes` and `used`.

        A run on a GPU leaves there what it has copied, within its option `device_cache`, and later runs use it. In a
        forked process, in a copy and in a pickle there is nothing.
        """
        return tuple(copy for one in self._copied() for copy in one.listed())

    def release(self) -> None:
        """Free what GPUs keep of this graph, and memory that they keep for the values of later runs.

        What a run in another thread uses now is freed when that run ends. The next run copies the graph again.
        """
        for one in self._copied():
            one.release()

    def _copied(self) -> Iterable[DeviceCopies]:
        graph = cast("Graph", self)
        return dict.fromkeys((graph.device_copies, graph.in_memory.device_copies))

    def to_scipy(self, weight: str | None = None) -> Any:
        """The adjacency matrix, scipy.sparse.csr_array of shape [n, n]: row i is the vertex `ids[i]`.

        The value at [i, j] is that of the edge i -> j in the column `weight`, in its type, or 1 (int64) for None. An
        undirected graph has both directions. Parallel edges are entries of their own, which SciPy adds up. Raises
        GraphError if there is no such column, or SciPy is not installed.
        """
        from vlang.runtime.graph.derived.libraries import sparse_matrix  # start-up

        return sparse_matrix(cast("Graph", self), weight)

    def to_networkx(self) -> Any:
        """A NetworkX graph: nodes are the ids, each edge column is an attribute. A multigraph if edges are parallel.

        Raises GraphError if NetworkX is not installed.
        """
        from vlang.runtime.graph.derived.libraries import networkx_graph  # start-up

        return networkx_graph(cast("Graph", self))

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each edge: `source` and `target` are ids, then the edge columns.

        An undirected edge is listed once. Vertices without edges are in no row: `Graph.from_edges(frame,
        vertices=graph.ids.values)` has them again. Raises GraphError if pandas is not installed.
        """
        from vlang.runtime.graph.derived.libraries import edge_frame  # start-up

        return edge_frame(cast("Graph", self))
