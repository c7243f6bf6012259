"""Edge lists from Python objects: arrays, sparse matrices, NetworkX graphs.

All arrays are copied, so the caller may change the originals at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vlang.errors import GraphError, plural
from vlang.runtime.graph.edges.building.numbering import IntegerIds, RawEnds
from vlang.runtime.graph.edges.building.store import Store
from vlang.runtime.graph.edges.columns import narrowed
from vlang.runtime.graph.edges.edge_list import EdgeList, LeftOut, VertexIds
from vlang.runtime.graph.edges.given import given_array
from vlang.runtime.graph.edges.kinds import Kind, encoded
from vlang.runtime.graph.edges.pool import Workers

__all__ = ["edge_list", "edges_of_matrix", "edges_of_networkx", "ends_of", "refuse_nan", "vertex_ids"]

CHUNK = 1 << 20
MOST = 2**32 - 2

Array = NDArray[Any]


def edge_list(
    src: ArrayLike,
    dst: ArrayLike,
    columns: Mapping[str, ArrayLike],
    directed: bool,
    n: int | None,
    ids: ArrayLike | None,
    threads: int,
) -> EdgeList:
    """The edges src[e] -> dst[e]; see `Graph.from_edges`.

    Args:
        src, dst: vertex ids, shape [E]; indices into `ids` if `ids` is given.
        columns: edge columns by name, shape [E] each.
        directed: False if each edge is listed once and means both directions.
        n: the number of vertices, whose ids are 0..n-1; None takes the ids that occur.
        ids: the ids of all vertices, shape [n]; None if not given.
        threads: how many threads number the vertices.

    Raises:
        GraphError: the shapes or types of the arguments do not match.
    """
    ends = ends_of("src", src), ends_of("dst", dst)
    if len(ends[0]) != len(ends[1]):
        raise GraphError(f"src has {len(ends[0])} entries and dst {len(ends[1])}: give one of each for an edge")
    values, kinds = _columns(columns)
    if ids is not None:
        if n is not None and n != len(given_array("ids", ids)):
            raise GraphError(f"n is {n}, but there are {len(given_array('ids', ids))} ids: give one of the two")
        known, ranks = _given_ids(ids)
        tails, heads = (ranks[_positions(end, len(known), "the ids given")] for end in ends)
        return EdgeList(tails, heads, known, values, directed, kinds=kinds)
    if n is not None:
        if not 0 <= n <= MOST:
            raise GraphError(f"n is {n}; a graph has 0 to {MOST} vertices")
        tails, heads = (_positions(end, n, f"n={n}") for end in ends)
        return EdgeList(tails, heads, VertexIds(base=0, count=n), values, directed, kinds=kinds)
    numbers, found = _numbered(*ends, threads)
    return EdgeList(*numbers, found, values, directed, kinds=kinds)


def edges_of_matrix(matrix: Any, weight: str, directed: bool) -> EdgeList:
    """The edges of a scipy.sparse matrix (any object with `tocoo`); A[i, j] is the edge i -> j."""
    if not hasattr(matrix, "tocoo"):
        raise GraphError(f"a scipy.sparse matrix is needed, not {type(matrix).__name__}")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"the matrix must be square; its shape is {' x '.join(map(str, matrix.shape))}")
    entries = matrix.tocoo()
    return edges_of_entries(entries.row, entries.col, entries.data, matrix.shape[0], weight, directed)


def edges_of_entries(row: Array, col: Array, data: Array, n: int, weight: str, directed: bool) -> EdgeList:
    """The edges of an n x n matrix given by its entries.

    Args:
        row, col: integers in 0..n-1, shape [entries].
        data: values, shape [entries].
        n: the number of rows, which is also the number of columns.
        weight: name of the edge column of the values.
        directed: False takes the entries on and above the diagonal of a symmetric matrix as undirected edges.

    Raises:
        GraphError: a value is NaN, or directed is False and the matrix is not symmetric.
    """
    refuse_nan(row, col, data)
    if not directed:
        if not _symmetric(row, col, data):
            raise GraphError("directed=False: the matrix is not symmetric; leave it directed, or symmetrize=True")
        upper = row <= col
        row, col, data = row[upper], col[upper], data[upper]
    return edge_list(row, col, {weight: data}, directed, n, None, 1)


def refuse_nan(row: Array, col: Array, data: Array) -> None:
    """Raise GraphError if a value of a matrix is NaN. See `edges_of_entries` for the arguments."""
    if data.dtype.kind != "f":
        return
    lacking = [first + np.flatnonzero(np.isnan(data[first : first + CHUNK])) for first in range(0, len(data), CHUNK)]
    if count := sum(map(len, lacking)):
        at = next(int(places[0]) for places in lacking if len(places))
        more = f", and {count - 1:,} more: a weight is a number; take these entries out" if count > 1 else \
            ": a weight is a number; take this entry out"
        raise GraphError(f"the value at [{row[at]}, {col[at]}] is NaN{more}, or put a number there")


def _symmetric(row: Array, col: Array, data: Array) -> bool:
    """Return whether the entries above the diagonal mirror the entries below it."""
    upper, lower = row < col, row > col
    above, below = (row[upper], col[upper], data[upper]), (col[lower], row[lower], data[lower])
    orders = (np.lexsort(part[::-1]) for part in (above, below))
    return len(above[0]) == len(below[0]) and all(
        np.array_equal(*parts) for parts in zip(*([one[order] for one in part] for part, order
                                                  in zip((above, below), orders))))


def edges_of_networkx(graph: Any) -> EdgeList:
    """The edges of a NetworkX graph: Graph, DiGraph, MultiGraph or MultiDiGraph."""
    if not (hasattr(graph, "is_directed") and hasattr(graph, "nodes") and hasattr(graph, "edges")):
        raise GraphError(f"a NetworkX graph is needed, not {type(graph).__name__}")
    nodes = list(graph.nodes)
    position = {node: i for i, node in enumerate(nodes)}
    edges = list(graph.edges(data=True))
    src = np.fromiter((position[u] for u, _, _ in edges), dtype=np.int64, count=len(edges))
    dst = np.fromiter((position[v] for _, v, _ in edges), dtype=np.int64, count=len(edges))
    columns, left_out, notes = _attributes([data for _, _, data in edges])
    ids = _node_ids(nodes)
    if len(ids) and isinstance(ids[0], str) and not all(isinstance(node, str) for node in nodes):
        kinds = sorted({type(node).__name__ for node in nodes})
        known: dict[str, Any] = {}
        for node, text in zip(nodes, ids):
            if (other := known.setdefault(text, node)) is not node:
                raise GraphError(f"the nodes {other!r} and {node!r} have the same text, which would be the id of both; "
                                 "relabel one: networkx.relabel_nodes(graph, {...})")
        notes.append(f"The ids are the texts of the nodes, which are of type {', '.join(kinds)}.")
    result = edge_list(src, dst, columns, bool(graph.is_directed()), None, ids, 1)
    result.notes += notes
    result.left_out = left_out
    return result


def ends_of(name: str, values: ArrayLike) -> Array:
    """Check the ids at one end of all edges and return them as an array of integers or str objects.

    Raises GraphError.
    """
    array = given_array(name, values)
    if array.ndim != 1:
        raise GraphError(f"{name} must have one dimension, not {array.ndim}")
    if array.dtype.kind in "iu":
        return array
    if len(array) == 0:
        return array.astype(np.int64) if array.dtype.kind in "bf" else np.empty(0, dtype=np.int64)
    if array.dtype.kind in "UT":
        if isinstance(values, (list, tuple)) and not all(isinstance(one, str) for one in values):
            raise GraphError(f"{name} holds texts and other values; vertex ids are all integers or all strings")
        return _texts(name, array.astype(object))
    if array.dtype.kind == "O":
        return _objects(name, array)
    hint = "; convert them with .astype(int) if they are whole" if array.dtype.kind == "f" else ""
    raise GraphError(f"{name} holds {array.dtype}; vertex ids are integers or strings{hint}")


def _objects(name: str, array: Array) -> Array:
    """Convert an object array to integers or strings."""
    kinds = {type(value) for value in array.tolist()}
    if all(issubclass(kind, str) for kind in kinds):
        return _texts(name, array)
    if all(issubclass(kind, (int, np.integer)) and not issubclass(kind, bool) for kind in kinds):
        least, most = int(array.min()), int(array.max())
        if least < -(2**63) or most >= 2**64 or (least < 0 and most >= 2**63):
            raise GraphError(f"{name} holds ids from {least} to {most}, which need more than 64 bits")
        return array.astype(np.uint64 if most >= 2**63 else np.int64)
    shown = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise GraphError(f"{name} holds {shown}; vertex ids are all integers or all strings")


def _texts(name: str, array: Array) -> Array:
    """Check ids that are strings. Raises GraphError for a string with surrogates, which cannot be written to a file."""
    texts = array.tolist()
    try:
        "".join(texts).encode("utf-8")
    except UnicodeEncodeError as error:
        bad = next(text for text in texts if any("\ud800" <= c <= "\udfff" for c in text))
        raise GraphError(f"{name} holds {bad!a}, which is not Unicode text ({error.reason})") from None
    return array


def _columns(columns: Mapping[str, ArrayLike]) -> tuple[dict[str, Array], dict[str, Kind]]:
    """Copies of edge columns in the dtypes that a graph stores, and the kinds of the columns of names and times."""
    values: dict[str, Array] = {}
    kinds: dict[str, Kind] = {}
    for name, column in columns.items():
        given = given_array(f"edge column {name!r}", column)
        numbers, kind = encoded(f"edge column {name!r}", given)
        stored = narrowed(name, numbers)
        values[name] = stored.copy() if np.may_share_memory(stored, given) else stored
        if kind is not None:
            kinds[name] = kind
    return values, kinds


def _positions(end: Array, n: int, what: str) -> NDArray[np.uint32]:
    """Copy the vertex numbers as uint32. Raises GraphError unless the numbers lie in 0..n-1."""
    if end.dtype.kind == "O":
        raise GraphError(f"src and dst must be integers from 0 to {n - 1} with {what}, not strings")
    if len(end) and (int(end.min()) < 0 or int(end.max()) >= n):
        worst = int(end.min()) if int(end.min()) < 0 else int(end.max())
        raise GraphError(f"an edge ends at vertex {worst}; with {what} vertices are 0 to {n - 1}")
    return end.astype(np.uint32)


def _given_ids(ids: ArrayLike) -> tuple[VertexIds, NDArray[np.uint32]]:
    """The given ids in increasing order, and the rank of each given id, uint32[n]."""
    values = ends_of("ids", ids)
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values), dtype=np.uint32)
    ranks[order] = np.arange(len(values), dtype=np.uint32)
    values = values[order]
    same = np.flatnonzero(values[1:] == values[:-1])
    if len(same):
        raise GraphError(f"the id {values[same].tolist()[0]!r} is given twice")
    return vertex_ids(values), ranks


def vertex_ids(values: Array) -> VertexIds:
    """Convert ids in increasing order to `VertexIds`; consecutive integers are not stored."""
    if values.dtype.kind == "O":
        return VertexIds(values)
    if len(values) == 0 or int(values[-1]) - int(values[0]) + 1 == len(values):
        return VertexIds(base=int(values[0]) if len(values) else 0, count=len(values))
    return VertexIds(values.astype(np.uint64 if int(values[-1]) >= 2**63 else np.int64, copy=False))


def _numbered(src: Array, dst: Array, threads: int) -> tuple[tuple[Array, Array], VertexIds]:
    """The ranks of the ids at both ends of the edges, uint32[E] each, and the distinct ids."""
    if "O" in (src.dtype.kind, dst.dtype.kind):
        if len(src) and src.dtype.kind != dst.dtype.kind:
            raise GraphError("one of src and dst holds strings and the other integers")
        texts, inverse = np.unique(np.concatenate([src, dst]), return_inverse=True)
        ranks = inverse.astype(np.uint32)
        return (ranks[: len(src)], ranks[len(src) :]), VertexIds(texts)
    low, high = _span(src, dst)
    if low < 0 and high >= 2**63:
        raise GraphError(f"vertex ids from {low} to {high}: no integer type of 64 bits holds both")
    ids, store = IntegerIds(), Store(0)
    store.reserve(len(src))
    for first in range(0, len(src), CHUNK):
        last = min(first + CHUNK, len(src))
        source, target = _words(src[first:last]), _words(dst[first:last])
        raw = RawEnds(np.empty(0, dtype=np.uint8), source, target, low, high, negative=low < 0, big=high >= 2**63)
        ends = store.source.array[first:last], store.target.array[first:last]
        if ids.plain(store, [raw]):
            ends[0][:], ends[1][:] = source, target
        else:
            ids.number(raw, *ends)
        store.count = last
    with Workers(threads) as workers:
        found = ids.finish(store, workers)
    return store.ends, found


def _span(src: Array, dst: Array) -> tuple[int, int]:
    """The smallest and the largest id; (0, 0) if there are no edges."""
    if len(src) == 0:
        return 0, 0
    return min(int(src.min()), int(dst.min())), max(int(src.max()), int(dst.max()))


def _words(end: Array) -> NDArray[np.int64]:
    """The ids as 64-bit words."""
    wide = end if end.dtype == np.uint64 else end.astype(np.int64, copy=False)
    return np.ascontiguousarray(wide).view(np.int64)


def _node_ids(nodes: list[Any]) -> Array:
    """The ids of nodes: the nodes themselves if all are integers or all are strings, else the str() of each node."""
    kinds = {type(node) for node in nodes}
    integral = all(issubclass(kind, (int, np.integer)) and not issubclass(kind, bool) for kind in kinds)
    if not integral and not all(issubclass(kind, str) for kind in kinds):
        nodes = [str(node) for node in nodes]
    array = np.empty(len(nodes), dtype=object)
    array[:] = nodes
    return array


def _attributes(data: list[dict[str, Any]]) -> tuple[dict[str, Array], dict[str, LeftOut], list[str]]:
    """Numeric edge attributes as columns, the attributes that were left out, and notes.

    A missing `weight` is 1, as in NetworkX.
    """
    names = list(dict.fromkeys(name for attributes in data for name in attributes))
    columns, left_out, notes = {}, {}, []
    for name in names:
        missing = sum(name not in attributes for attributes in data)
        values = np.asarray([attributes.get(name, 1) for attributes in data])
        named = not missing and all(isinstance(attributes[name], str) and attributes[name] for attributes in data)
        if (values.dtype.kind not in ("biufM" if not missing else "biuf") and not named) or values.ndim != 1:
            notes.append(f"Edge attribute {name!r} is not a number and is left out.")
            left_out[str(name)] = LeftOut(f"edge attribute {name!r} is not a number, or a text, on every edge",
                                          numbers=False)
        elif missing and name != "weight":
            why = f"attribute {name!r} is missing on {plural(missing, 'edge')}"
            notes.append(f"Edge {why} and is left out.")
            left_out[str(name)] = LeftOut(f"edge {why}", numbers=True)
        else:
            columns[str(name)] = values
            if missing:
                notes.append(f"Weight is 1 on {plural(missing, 'edge')} that {'has' if missing == 1 else 'have'} none.")
    return columns, left_out, notes
