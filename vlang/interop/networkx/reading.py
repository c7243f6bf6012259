"""Arrays from NetworkX graphs: the ends of edges by the positions of their nodes, and numeric edge attributes."""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass

__all__ = ["Ends", "Rows", "Weights", "ends_of", "rows_of", "weights_of"]

EXACT = 2**53
"""Integers below this are exact in 64-bit floats."""

LARGE = 2.0**500
"""Sums of products of floats below this are finite."""

_PACKED = 1 << 14
"""Integers that are handed to `struct` at a time."""

Array = NDArray[Any]

Rows = list[dict[Any, Any]]
"""The adjacency of each node, in the order of the nodes: the data of its edges by neighbour."""


@dataclass(frozen=True)
class Ends:
    """The pairs of adjacent nodes of a graph. Parallel edges count as one pair, and an undirected pair is listed once.

    Attributes:
        src, dst: positions of the nodes in the order of the graph, uint32[pairs].
        count: how many edges a pair has, int64[pairs]; None if each pair has one edge.
        listed: whether each entry of the adjacency is listed as a pair, bool[entries]; None if every entry is listed
            (directed graphs).
        opposite: in a view of an undirected graph, the entry in the other direction of each entry, int64[entries]; None
            for graphs whose two entries share their data.
    """

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    count: NDArray[np.int64] | None
    listed: NDArray[np.bool_] | None
    opposite: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Weights:
    """An edge attribute as numbers: the least value and the sum over the edges of each pair.

    Attributes:
        least, total: the least value and the sum for each pair, float64 or int64, [pairs]; None if all values are 1.
        integral: whether all values are integers.
        low: the least value of all edges; 0 if there are no edges.
    """

    least: Array | None
    total: Array | None
    integral: bool
    low: float


def ends_of(graph: Any, nodes: list[Any], rows: Rows) -> Ends:
    """The pairs of adjacent nodes of a NetworkX graph.

    Args:
        nodes: all nodes of the graph.
        rows: the result of `rows_of` for these nodes.

    Raises NotImplementedError for a view of an undirected graph that has an edge in one direction only.
    """
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    src = np.repeat(np.arange(len(rows), dtype=np.uint32), lengths)
    dst = _positions(nodes, chain.from_iterable(rows), len(src)).astype(np.uint32)
    listed = None if graph.is_directed() else src <= dst
    count = opposite = None
    if listed is not None and type(graph._adj) is not dict:
        opposite = _opposite(src, dst, len(nodes))
    if graph.is_multigraph():
        counted = np.fromiter(map(len, _data(rows)), np.int64, len(src))
        _refuse_one_way(opposite, counted)
        count = None if (counted == 1).all() else _kept(counted, listed)
    return Ends(_kept(src, listed), _kept(dst, listed), count, listed, opposite)


def _opposite(src: NDArray[np.uint32], dst: NDArray[np.uint32], n: int) -> NDArray[np.int64]:
    """The entry (v, u) of each entry (u, v) of an adjacency of n nodes."""
    there, back = src.astype(np.int64) * n + dst, dst.astype(np.int64) * n + src
    order = np.argsort(there)
    found = order[np.minimum(np.searchsorted(there, back, sorter=order), max(0, len(there) - 1))]
    _refuse_one_way(found, there, back)
    return found


def _refuse_one_way(opposite: NDArray[np.int64] | None, values: Array, back: Array | None = None) -> None:
    """Raise NotImplementedError unless each entry has the value of its opposite (in `back`, by default in `values`)."""
    if opposite is not None and not np.array_equal(values[opposite], values if back is None else back):
        raise NotImplementedError("this view of an undirected graph has other edges, or other data, from v to u than "
                                  "from u to v; a copy has one edge for both: graph.copy()")


def weights_of(graph: Any, rows: Rows, ends: Ends, name: Hashable, default: Any) -> Weights:
    """An edge attribute of a NetworkX graph.

    Args:
        graph: the graph.
        rows: the result of `rows_of` for all nodes of the graph.
        ends: the pairs of adjacent nodes of the graph.
        name: the name of the attribute.
        default: the value for edges without the attribute.

    Raises:
        NotImplementedError: a value is not a real number below 2^500, or is an integer of at least 2^53, or differs
            between the two directions of a view.
    """
    if graph.is_multigraph():
        groups = [[edge.get(name, default) for edge in edges.values()] for edges in _data(rows)]
        numbers = _numbers([value for group in groups for value in group], name)
        starts = np.cumsum([0, *map(len, groups)])[:-1]
        least, total = (np.minimum.reduceat(numbers, starts), np.add.reduceat(numbers, starts)) if groups \
            else (numbers, numbers)
    elif default == 1 and not any(map(any, map(dict.values, rows))):  # no edge has any attribute: no look-up for each
        return Weights(None, _as_weights(ends.count), True, float(len(ends.src) > 0))
    else:
        numbers = least = total = _numbers([edge.get(name, default) for edge in _data(rows)], name)
    for values in (least, total):
        _refuse_one_way(ends.opposite, values)
    low = float(numbers.min()) if len(numbers) else 0.0
    return Weights(_as_weights(_kept(least, ends.listed)), _as_weights(_kept(total, ends.listed)),
                   numbers.dtype.kind == "i", low)


def rows_of(graph: Any, nodes: list[Any]) -> Rows:
    """The adjacency of each node of a NetworkX graph. Views become dictionaries, which are read faster.

    Args:
        nodes: all nodes of the graph.
    """
    adjacency = graph._adj  # the public `adj` wraps every row in a view
    in_order = type(adjacency) is dict and list(adjacency) == nodes  # then no row is looked up
    rows: Rows = list(adjacency.values() if in_order else map(adjacency.__getitem__, nodes))
    if set(map(type, rows)) <= {dict}:
        return rows
    return [row if type(row) is dict else dict(row.items()) for row in rows]  # the length of a view may be wrong


def _data(rows: Rows) -> Iterable[Any]:
    """The edge data of all adjacency entries, in order."""
    return chain.from_iterable(map(dict.values, rows))


def _kept(values: Array, listed: NDArray[np.bool_] | None) -> Array:
    return values if listed is None else values[listed]


def _as_weights(values: Array | None) -> Array | None:
    return None if values is None or bool((values == 1).all()) else values


def _positions(nodes: list[Any], keys: Iterable[Any], count: int) -> Array:
    """The position of each key in `nodes`. Integers are looked up in arrays, because dictionaries are slower."""
    numbers, keys = _whole(nodes), iter(keys)
    if numbers is not None:
        wanted = _packed(keys, count)
        low, span = int(numbers.min()), int(numbers.max()) - int(numbers.min()) + 1
        if span <= 32 * len(nodes) + (1 << 16):
            places = np.zeros(span, dtype=np.int64)
            places[numbers - low] = np.arange(len(nodes))
            return places[wanted - low]
        order = np.argsort(numbers)
        return order[np.searchsorted(numbers, wanted, sorter=order)]
    index = {node: place for place, node in enumerate(nodes)}
    return np.fromiter(map(index.__getitem__, keys), np.int64, count)


def _whole(nodes: list[Any]) -> NDArray[np.int64] | None:
    """The nodes as int64; None unless all are integers that fit."""
    if set(map(type, nodes)) != {int}:
        return None
    try:
        return np.array(nodes, dtype=np.int64)
    except OverflowError:
        return None


def _packed(keys: Iterator[Any], count: int) -> NDArray[np.int64]:
    """Integers as an array, by the module `struct`, which takes half the time of `numpy.fromiter`."""
    found = np.empty(count, dtype=np.int64)
    for first in range(0, count, _PACKED):
        some = tuple(islice(keys, min(_PACKED, count - first)))
        try:
            struct.pack_into(f"{len(some)}q", found.data, 8 * first, *some)
        except struct.error:  # a float that equals a node
            found[first : first + len(some)] = some
    return found


def _numbers(values: list[Any], name: Hashable) -> Array:
    """The values as int64 or float64. Raises NotImplementedError for other values."""
    try:
        array = np.array(values) if values else np.empty(0, dtype=np.int64)
    except (ValueError, TypeError, OverflowError):
        array = np.empty(1, dtype=object)
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise NotImplementedError(f"vlang reads numbers, and the edge attribute {name!r} has other values")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise NotImplementedError(f"vlang reads finite numbers; the edge attribute {name!r} has NaN or infinity")
        if len(array) and max(-array.min(), array.max()) >= LARGE:
            raise NotImplementedError(f"the edge attribute {name!r} has numbers of 2^500 or more, whose sums and "
                                      "squares may be infinite")
        return array
    if array.dtype.kind != "b" and len(array) and not -EXACT < int(array.min()) <= int(array.max()) < EXACT:
        raise NotImplementedError(f"the edge attribute {name!r} has integers beyond 2^53, which 64-bit floats round")
    return array.astype(np.int64)
