"""A NetworkX graph as arrays. NetworkX caches the converted graph, and passes it to the functions of this backend."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

from vlang.interop.networkx.reading import Ends, Weights, ends_of, rows_of, weights_of
from vlang.runtime.graph.edges.edge_list import EdgeList, VertexIds
from vlang.runtime.graph.graph import Graph

__all__ = ["VlangGraph", "convert_from_nx", "convert_to_nx"]


class VlangGraph:
    """The nodes and edges of a NetworkX graph as arrays, and the vlang graphs that are built from the arrays on
    request.

    Vertex i of these graphs is the node `nodes[i]`. NetworkX drops its cached copy when a method changes the graph.

    Attributes: nodes: the nodes, in the order of the graph.
        directed, multigraph: whether the graph is directed, and whether it is a multigraph.
        ends: the pairs of adjacent nodes.
        original: the graph itself if a function needs all of its attributes, else None.
    """

    __networkx_backend__ = "vlang"

    def __init__(
        self, nodes: list[Any], directed: bool, multigraph: bool, ends: Ends, weights: Mapping[Hashable, Weights],
        original: Any = None,
    ) -> None:
        """Take over the arrays of a graph.

        Args: nodes: the nodes, in the order of the graph.
            directed: whether edges have a direction.
            multigraph: whether edges may be parallel.
            ends: the pairs of adjacent nodes.
            weights: the edge attributes that were converted, by name.
            original: the graph itself; None if it is not needed later.
        """
        self.nodes = nodes
        self.directed = directed
        self.multigraph = multigraph
        self.ends = ends
        self.original = original
        self._weights = dict(weights)
        self._graphs: dict[tuple[str, Hashable, bool], Graph] = {}
        self._totals: dict[Hashable, NDArray[np.float64]] = {}

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""
        return self.directed

    def is_multigraph(self) -> bool:
        """Return whether edges may be parallel."""
        return self.multigraph

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.nodes)

    def __contains__(self, node: object) -> bool:
        try:
            return node in self.index
        except TypeError:  # not hashable, so no node
            return False

    def number_of_nodes(self) -> int:
        """The number of nodes."""
        return len(self.nodes)

    def number_of_edges(self) -> int:
        """The number of edges, including parallel edges."""
        return len(self.ends.src) if self.ends.count is None else int(self.ends.count.sum())

    @cached_property
    def index(self) -> dict[Any, int]:
        """The position of each node."""
        return {node: place for place, node in enumerate(self.nodes)}

    @cached_property
    def loops(self) -> NDArray[np.int64]:
        """The number of self-loops of each node, int64[nodes]."""
        at = self.ends.src == self.ends.dst
        count = None if self.ends.count is None else self.ends.count[at]
        return np.bincount(self.ends.src[at], count, len(self)).astype(np.int64)

    def weights(self, name: Hashable) -> Weights:
        """Return the values of an edge attribute. For the name None, every value is 1.

        Raises NotImplementedError if the attribute is not numeric.
        """
        if name is None:
            return Weights(None, self.ends.count, True, 1.0)
        if name not in self._weights:
            if self.original is None:
                raise NotImplementedError(f"this graph was converted without the edge attribute {name!r}")
            self._weights[name] = weights_of(self.original, rows_of(self.original, self.nodes), self.ends, name, 1)
        return self._weights[name]

    def simple(self, loops: bool = True, backwards: bool = False) -> Graph:
        """The graph with one edge for each pair of adjacent nodes.

        Args:
            loops: whether to keep self-loops.
            backwards: whether to reverse every edge.
        """
        kind = "simple" if loops else "loopless"
        return self._graph(kind, None, backwards, None)

    def nearest(self, name: Hashable | None, backwards: bool = False) -> Graph:
        """Return the graph with a column `weight`: the least value of an attribute for each pair of adjacent nodes.

        Args:
            name: the attribute; None for a graph without this column.
            backwards: whether to reverse every edge.
        """
        return self._graph("nearest", name, backwards, self.weights(name).least)

    def summed(self, name: Hashable | None) -> Graph:
        """Return the graph with a column `weight`: the sum of an attribute over parallel edges.

        Args:
            name: the attribute; None for the number of parallel edges.
        """
        return self._graph("summed", name, False, self.weights(name).total)

    def totals(self, name: Hashable | None) -> NDArray[np.float64]:
        """The sum of an attribute over the out-edges of each node, float64[nodes]. A self-loop counts once.

        Args:
            name: the attribute; None for the number of edges.
        """
        if name not in self._totals:
            src, dst, values = self.ends.src, self.ends.dst, self.weights(name).total
            found = np.bincount(src, values, len(self)).astype(np.float64)
            if not self.directed:
                apart = src != dst
                found += np.bincount(dst[apart], None if values is None else values[apart], len(self))
            self._totals[name] = found
        return self._totals[name]

    def _graph(self, kind: str, name: Hashable, backwards: bool, values: NDArray[Any] | None) -> Graph:
        backwards = backwards and self.directed
        key = (kind if values is not None or kind == "loopless" else "simple", name if values is not None else None,
               backwards)
        if key not in self._graphs:
            self._graphs[key] = self._made(*key, values)
        return self._graphs[key]

    def _made(self, kind: str, name: Hashable, backwards: bool, values: NDArray[Any] | None) -> Graph:
        if backwards:
            return self._graph(kind, name, False, values).reverse()
        if kind == "loopless":
            return self.simple().thinned(self_loops="drop") if self.loops.any() else self.simple()
        columns = {} if values is None else {"weight": values}
        return Graph(EdgeList(self.ends.src, self.ends.dst, VertexIds(base=0, count=len(self)), columns, self.directed))


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: Mapping[Hashable, Any] | None = None,
    node_attrs: Mapping[Hashable, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> VlangGraph:
    """Convert a NetworkX graph. NetworkX calls this function to convert its arguments for the backend, and keeps the
    result with the graph. For a view, this function turns that off.

    Args:
        graph: the graph.
        edge_attrs: names and defaults of the edge attributes that are needed.
        node_attrs: names and defaults of node attributes; ignored, because no function of this backend reads node
            attributes.
        preserve_edge_attrs, preserve_node_attrs: whether all attributes are needed; if so, the graph itself is kept.
        preserve_graph_attrs: ignored; attributes of the graph stay in the graph itself.
        name, graph_name: the names of the function and of its graph parameter; ignored.

    Raises:
        NotImplementedError: a needed attribute has a value that is not a finite number.
    """
    if hasattr(graph, "_graph"):  # a view: NetworkX does not drop its copy when the graph behind it changes
        graph.__networkx_cache__ = None
    nodes = list(graph)
    rows = rows_of(graph, nodes)
    ends = ends_of(graph, nodes, rows)
    weights = {attribute: weights_of(graph, rows, ends, attribute, default)
               for attribute, default in (edge_attrs or {}).items()}
    whole = graph if preserve_edge_attrs or preserve_node_attrs else None
    return VlangGraph(nodes, graph.is_directed(), graph.is_multigraph(), ends, weights, whole)


def convert_to_nx(found: Any, *, name: str | None = None) -> Any:
    """Convert a result for NetworkX: graphs of this backend become NetworkX graphs, other results stay unchanged.

    The NetworkX graph has the nodes and edges, with the edge attributes that were converted. Raises NotImplementedError
    for a multigraph with converted attributes, since only sums and minima of attributes are stored.

    Args:
        name: the name of the function.
    """
    if not isinstance(found, VlangGraph):
        return found
    if found.original is not None:
        return found.original
    kinds = {(False, False): networkx.Graph, (True, False): networkx.DiGraph, (False, True): networkx.MultiGraph,
             (True, True): networkx.MultiDiGraph}
    graph = kinds[found.directed, found.multigraph]()
    graph.add_nodes_from(found.nodes)
    if found.multigraph and found._weights:
        raise NotImplementedError("the edge attributes of a converted multigraph are not kept one by one")
    ones = np.ones(len(found.ends.src), dtype=np.int64)
    columns = {name: (ones if weights.least is None else weights.least).tolist()
               for name, weights in found._weights.items()}
    count = (ones if found.ends.count is None else found.ends.count).tolist()
    for edge, (u, v) in enumerate(zip(found.ends.src.tolist(), found.ends.dst.tolist())):
        pairs = [(found.nodes[u], found.nodes[v], {name: values[edge] for name, values in columns.items()})]
        graph.add_edges_from(pairs * count[edge])
    return graph
