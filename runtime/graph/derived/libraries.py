"""The edges of a graph in the types of SciPy, NetworkX and pandas; each library is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang.errors import GraphError
from vlang.runtime.graph.edges.kinds import Names, named_values

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["edge_frame", "networkx_graph", "sparse_matrix"]


def sparse_matrix(graph: Graph, weight: str | None) -> Any:
    """See `Graph.to_scipy`."""
    sparse = _library("scipy.sparse", "to_scipy", "scipy")
    graph = graph.plain()
    if weight is not None and weight not in graph.columns:
        known = ", ".join(graph.columns) or "none"
        raise GraphError(f"to_scipy: there is no edge column {weight!r}; there are: {known}. None stands for ones")
    if weight in graph.kinds:
        raise GraphError(f"to_scipy: the edge column {weight!r} holds values of type {graph.kinds[str(weight)]}, which "
                         "are no numbers")
    rows = graph.adjacency("out", [] if weight is None else [weight])
    values = np.ones(len(rows.targets), dtype=np.int64) if weight is None else rows.stored(weight).copy()
    wide = np.int64 if max(graph.n, graph.m) >= 2**31 else np.int32
    entries = values, rows.targets.astype(wide), rows.offsets.astype(wide)
    return sparse.csr_array(entries, shape=(graph.n, graph.n))


def networkx_graph(graph: Graph) -> Any:
    """See `Graph.to_networkx`."""
    networkx = _library("networkx", "to_networkx", "networkx")
    edges = graph.edges()
    kinds = {(False, False): networkx.Graph, (True, False): networkx.DiGraph, (False, True): networkx.MultiGraph,
             (True, True): networkx.MultiDiGraph}
    found = kinds[graph.directed, graph.plain().excess()[1] > 0](name=graph.name)
    ids = graph.ids.values.tolist()
    found.add_nodes_from(ids)
    ends = ([ids[end] for end in part.tolist()] for part in (edges.src, edges.dst))
    if not edges.columns:
        found.add_edges_from(zip(*ends))
        return found
    cells = zip(*(list(named_values(values, edges.kinds[name])) if name in edges.kinds else values.tolist()
                  for name, values in edges.columns.items()))
    found.add_edges_from((u, v, dict(zip(edges.columns, row))) for u, v, row in zip(*ends, cells))
    return found


def edge_frame(graph: Graph) -> Any:
    """See `Graph.to_pandas`."""
    pandas = _library("pandas", "to_pandas", "pandas")
    taken = {"source", "target"} & set(graph.columns)
    if taken:
        raise GraphError(f"to_pandas: the edge column `{min(taken)}` has the name of an end; read the graph with "
                         "another name for it")
    edges, ids = graph.edges(), graph.ids.values
    columns: dict[str, Any] = {name: values.copy() for name, values in edges.columns.items()}
    for name, kind in edges.kinds.items():
        columns[name] = pandas.Categorical.from_codes(columns[name].astype(np.int32), list(kind.names)) \
            if isinstance(kind, Names) else named_values(columns[name], kind)
    return pandas.DataFrame({"source": ids[edges.src], "target": ids[edges.dst], **columns})


def _library(module: str, method: str, package: str) -> Any:
    """Import a library. Raises GraphError if the library is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise GraphError(f"{method} needs {package}: pip install {package}") from None
