"""The edges of a graph in the order in which files list them, and their values as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.kinds import named_values
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.storage.output import BLOCK

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["blocks", "column_values", "listed_edges", "lost", "only_column", "refuse_infinite"]

_INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)


def listed_edges(graph: Graph, both: bool = False) -> EdgeList:
    """The edges in the order of their sources, then of their targets.

    An undirected edge is listed once, with the smaller number first, or in both directions if `both` is True.
    """
    plain = graph.plain()
    rows = plain.adjacency("out", list(plain.columns))
    src: NDArray[np.uint32] = np.empty(len(rows.targets), np.uint32)
    kernels("rows")["expand"](rows.offsets, 0, plain.n, src)
    dst, columns = rows.targets, {name: rows.stored(name) for name in plain.columns}
    if not plain.directed and not both:
        once = src <= dst
        src, dst, columns = src[once], dst[once], {name: values[once] for name, values in columns.items()}
    return EdgeList(src, dst, plain.ids, columns, plain.directed, kinds=dict(plain.kinds))


def blocks(count: int) -> Iterator[slice]:
    """Cut the range of `count` rows into blocks that are formatted at a time."""
    return (slice(first, min(first + BLOCK, count)) for first in range(0, count, BLOCK))


def column_values(edges: EdgeList, name: str, part: slice) -> NDArray[Any]:
    """The values of some rows of a column: numbers, names as objects, or datetime64. Floats have 64 bits."""
    values = edges.columns[name][part]
    if name in edges.kinds:
        return named_values(values, edges.kinds[name])
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def only_column(graph: Graph, path: str) -> tuple[str | None, list[str]]:
    """Return the column for a format with one weight per edge (`weight` or, without a `weight`, the only column), and
    notes about the other columns.

    Raises GraphError if the column has names or times, or if there are several columns and no column is called
    `weight`.
    """
    names = list(graph.columns)
    if len(names) > 1 and "weight" not in names:
        raise GraphError(f"{path}: this format has one weight for each edge, and the graph has the columns "
                         f"{', '.join(names)}; --weights NAME (weights=\"NAME\") chooses one")
    chosen = "weight" if "weight" in names else next(iter(names), None)
    if chosen in graph.kinds:
        raise GraphError(f"{path}: this format has numbers as weights, and {chosen} holds {graph.kinds[str(chosen)]}")
    others = [name for name in names if name != chosen]
    notes = [f"Not written: {', '.join(others)}."] if others else []
    if chosen not in (None, "weight"):
        notes.append(f"Written as `weight`: {chosen}.")
    return chosen, notes


def lost(
    graph: Graph, *, vertices: bool = False, ids: int | None = None, direction: bool = False, typed: bool = False
) -> list[str]:
    """Notes about properties of a graph that a format does not keep.

    Args:
        graph: the graph.
        vertices: whether the format lists only edges, so that vertices without edges are lost.
        ids: the first number if the format numbers the vertices; None if the format keeps the ids.
        direction: whether the format cannot mark edges as undirected.
        typed: whether the format distinguishes texts from integers.
    """
    notes = []
    if ids is not None and not (graph.ids.consecutive and graph.ids.base == ids):
        notes.append(f"Not written: the ids of the vertices, which are numbered from {ids} in the order of their ids.")
    alone = np.zeros(graph.n, np.bool_)
    if vertices:
        rows = graph.plain().adjacency("both" if graph.directed else "in")
        alone = rows.offsets[1:] == rows.offsets[:-1]
        if alone.any():
            notes.append(f"Not written: {int(alone.sum()):,} vertices without edges; --vertices names them when the "
                         "file is read.")
    if ids is None and not typed and graph.ids.text and not alone.all() \
            and all(map(_INTEGER.fullmatch, graph.ids.values[~alone].tolist())):
        notes.append("The ids are texts that look like integers, and will be read as integers.")
    if direction and not graph.directed:
        notes.append("The file does not say that the edges are undirected: read it with --undirected (directed=False).")
    return notes


def refuse_infinite(path: str, edges: EdgeList, names: Sequence[str]) -> None:
    """Raise GraphError if a column of floats has an infinite value, for a format without such values."""
    for name in names:
        values = edges.columns[name]
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise GraphError(f"{path}: column {name!r} has infinite values, which this format does not have")
