"""The graph of groups of vertices: the edges between two groups become one edge, with the sum of their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.labelled import aligned
from vlang.runtime.graph.topology.build import EdgeScan, Rows, build_rows

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["contracted_graph"]


def contracted_graph(graph: Graph, groups: Any, weight: str) -> Graph:
    """See `Graph.contracted`."""
    graph = graph.plain()
    given = aligned("groups", graph, groups)
    given = given if given.size else np.zeros(0, np.int64)
    if given.shape != (graph.n,):
        raise GraphError(f"contracted takes the group of each vertex, an array of shape ({graph.n},), not "
                         f"{given.shape}")
    if given.dtype.kind == "f":
        raise GraphError("contracted takes groups that are ids, numbers or texts, and these are floats: round them")
    names, label = np.unique(given, return_inverse=True)
    edges = graph.edges()
    if weight in graph.kinds:
        raise GraphError(f"contracted adds up numbers, and the column {weight!r} holds names or times")
    values = np.asarray(edges.columns[weight] if weight in edges.columns else np.ones(len(edges.src)), np.float64)
    src, dst = label[edges.src].astype(np.uint32), label[edges.dst].astype(np.uint32)
    if not graph.directed:
        src, dst = np.minimum(src, dst), np.maximum(src, dst)
    src, dst, sums = _merged(src, dst, values, len(names), graph.threads)
    found = type(graph).from_edges(src, dst, ids=names, directed=graph.directed, columns={weight: sums})
    counted = "" if weight in edges.columns else f" `{weight}` is the number of edges; the graph has no such column."
    found._add_note(f"Contracted: {len(names):,} groups of {graph.n:,} vertices.{counted}")
    return found


def _merged(
    src: NDArray[np.uint32], dst: NDArray[np.uint32], values: NDArray[np.float64], n: int, threads: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]:
    """Each distinct pair of ends, with the sum of the values of the edges between both ends; values are added in the
    order of the edges.
    """
    rows: Rows = build_rows(EdgeScan(src, dst, mirror=False), n, {"": values}, threads)
    tails = np.repeat(np.arange(n, dtype=np.uint32), np.diff(rows.offsets).astype(np.int64))
    first = np.ones(len(tails), np.bool_)
    first[1:] = (tails[1:] != tails[:-1]) | (rows.targets[1:] != rows.targets[:-1])
    at = np.flatnonzero(first)
    with np.errstate(all="ignore"):  # inf - inf
        return tails[at], rows.targets[at], np.add.reduceat(rows.columns[""], at) if len(at) else rows.columns[""]
