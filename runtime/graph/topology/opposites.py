"""The opposite edge of each edge: the index of the entry (b, a) for each entry (a, b) of an adjacency."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.build import Rows, RowScan, build_rows

__all__ = ["OneWay", "opposites"]


class OneWay(GraphError):
    """Raised for an edge without an opposite edge.

    Attributes:
        head: the dense number of its head.
        tail: the dense number of its tail.
    """

    def __init__(self, head: int, tail: int) -> None:
        super().__init__(f"the edge {tail} -> {head} has no opposite edge")
        self.head, self.tail = head, tail


def opposites(adjacency: Adjacency, threads: int) -> NDArray[np.uint32]:
    """For each entry (a, b) of an adjacency, the index of the entry (b, a), uint32.

    The entries are transposed by one counting sort, which keeps the order of parallel edges. If each edge has an
    opposite edge, the transposed lists equal the original lists, and the sorted indices are the opposites.

    Raises GraphError for 2^32 entries or more, and if an edge has no opposite edge. The message names vertices by their
    dense numbers.
    """
    entries = len(adjacency)
    if entries >= 1 << 32:
        raise GraphError("the opposite edge of each edge is looked up in graphs of less than 2^32 stored edges")
    places = np.arange(entries, dtype=np.uint32)
    turned = build_rows(RowScan(adjacency.offsets, adjacency.targets), len(adjacency.offsets) - 1, {"at": places},
                        threads)
    alone = _first_alone(adjacency, turned)
    if alone is not None:
        raise OneWay(*alone)
    return turned.columns["at"]


def _first_alone(adjacency: Adjacency, turned: Rows) -> tuple[int, int] | None:
    """The ends of an entry without an opposite entry, as row and neighbour; None if there is no such entry."""
    if np.array_equal(adjacency.offsets, turned.offsets) and np.array_equal(adjacency.targets, turned.targets):
        return None
    size = min(len(adjacency), len(turned.targets))
    n = len(adjacency.offsets) - 1
    rows = np.arange(n, dtype=np.uint64)
    mine, theirs = (np.repeat(rows, np.diff(offsets).astype(np.int64)) * np.uint64(n) + targets
                    for offsets, targets in ((adjacency.offsets, adjacency.targets), (turned.offsets, turned.targets)))
    at = int(np.flatnonzero(mine[:size] != theirs[:size])[0])  # both lists increase
    row, other = divmod(int(min(mine[at], theirs[at])), n)
    return (row, other) if mine[at] < theirs[at] else (other, row)
