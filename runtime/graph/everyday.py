"""Methods of `Graph` for its parts, its reverse, its copies on GPUs, its files,
and its edges in the types of other libraries.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from vlang.runtime.graph.edges.given import given_path
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
        """This graph without self-loops and parallel edges, as for `require simple`. See `thinned` for the edges that
        stay.
        """
        return cast("Graph", self).thinned("drop", "drop")

    def reverse(self) -> Graph:
        """This graph with every edge reversed; an undirected graph is its own reverse.

        The result shares the adjacency lists.
        """
        from vlang.runtime.graph.derived.parts import reversed_graph  # start-up

        return reversed_graph(cast("Graph", self))

    def subgraph(self, vertices: Any) -> Graph:
        """The graph of some vertices and the edges between them.

        `vertices` are the ids of the vertices, in any order, or bool[n] with True for each vertex of the subgraph. A
        pandas Series or a dict of bools has vertex ids as labels.
        Raises GraphError for an id that the graph does not have.
        """
        from vlang.runtime.graph.derived.parts import vertex_graph  # start-up

        return vertex_graph(cast("Graph", self), vertices)

    def largest_component(self) -> Graph:
        """The subgraph of the largest connected component, ignoring edge directions.

        If several components have the largest size, the result is the component with the smallest id.
        """
        from vlang.runtime.graph.derived.parts import component_graph  # start-up

        return component_graph(cast("Graph", self))

    def contracted(self, groups: Any, weight: str = "weight") -> Graph:
        """The graph of the groups of vertices, such as the communities of a result.

        The ids of the new graph are the different values of `groups`, in increasing order. All edges between two groups
        become one edge, and all edges inside a group become a self-loop. The column `weight` (float64) of the new edge
        is the sum of the values of the old edges, or their number if this graph has no such column. Other columns are
        left out. In an undirected graph each edge counts once.

        Args:
            groups: the group of each vertex, array[n] of ids, numbers or texts. A pandas Series or a dict has vertex
                ids as labels.
            weight: the edge column that is added up, and the column of the sums.

        Raises:
            GraphError: `groups` has another shape or holds floats, or the column holds no numbers.
        """
        from vlang.runtime.graph.derived.contraction import contracted_graph  # start-up

        return contracted_graph(cast("Graph", self), groups, weight)

    def on_device(self) -> tuple[DeviceCopy, ...]:
        """The parts of this graph that GPUs keep between runs, each with `device`, `what`, `nbytes` and `used`.

        After a run on a GPU, the parts that the run copied stay on the GPU, up to the limit of its option
        `device_cache`, and later runs use these parts. A forked process, a copy of the graph and an unpickled graph
        have no parts on a device.
        """
        return tuple(copy for one in self._copied() for copy in one.listed())

    def release(self) -> None:
        """Free the parts of this graph that GPUs keep, and the GPU memory that is kept for the values of later runs.

        Parts that a run in another thread uses now are freed when that run ends. The next run copies the graph again.
        """
        for one in self._copied():
            one.release()

    def _copied(self) -> Iterable[DeviceCopies]:
        graph = cast("Graph", self)
        return dict.fromkeys((graph.device_copies, graph.in_memory.device_copies))

    def to_scipy(self, weight: str | None = None) -> Any:
        """The adjacency matrix, scipy.sparse.csr_array of shape [n, n]: row i is the vertex `ids[i]`.

        The value at [i, j] is the value of the edge i -> j in the column `weight`, in the type of the column. If
        `weight` is None, the value is 1 (int64). Each edge of an undirected graph has an entry for both directions.
        Each parallel edge has its own entry, and SciPy adds these entries. Raises GraphError if the column does not
        exist, or if SciPy is not installed.
        """
        from vlang.runtime.graph.derived.libraries import sparse_matrix  # start-up

        return sparse_matrix(cast("Graph", self), weight)

    def to_networkx(self) -> Any:
        """A NetworkX graph: the nodes are the ids, and each edge column is an attribute.

        The result is a multigraph if this graph has parallel edges.

        Raises GraphError if NetworkX is not installed.
        """
        from vlang.runtime.graph.derived.libraries import networkx_graph  # start-up

        return networkx_graph(cast("Graph", self))

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each edge: the ids in `source` and `target`, then the edge columns.

        An undirected edge is listed once. Vertices without edges are not in the frame: `Graph.from_edges(frame,
        vertices=graph.ids.values)` restores them. Raises GraphError if pandas is not installed.
        """
        from vlang.runtime.graph.derived.libraries import edge_frame  # start-up

        return edge_frame(cast("Graph", self))

    def save(
        self, path: str | Path, *, layout: str | None = None, disks: Iterable[str | Path] = ()
    ) -> tuple[str, ...]:
        """Write the graph atomically, in the format of the suffix (docs/graph-files.md); as .npz without a suffix.

        `Graph.read` reads all formats that this method writes. Returns sentences about what the file does not keep.

        Args:
            path: path of the file to write.
            layout: the order of the rows in a page file. "degree" (default) sorts by decreasing in-degree plus
                out-degree, and "ids" by vertex id. "hubs" puts first the 8 % of the vertices with the largest product
                of in-degree and out-degree, and sorts all other vertices by vertex id. The layout does not change the
                ids.
            disks: folders over which the pages of a page file are striped, with one file in each folder. If `disks` is
                empty, the page file is a single file.

        Raises:
            GraphError: no format has this suffix, the format cannot hold this graph, or `layout` or `disks` is wrong or
                does not apply to this format.
            DiskError: a file cannot be written.
        """
        from vlang.runtime.graph.formats.saving import save_graph  # start-up

        return save_graph(cast("Graph", self), given_path(path), layout, list(disks))
