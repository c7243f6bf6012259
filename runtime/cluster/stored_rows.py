"""Reads the rows of consecutive vertices from a page file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.stored import StoredEdges
from vlang.runtime.storage.memory import empty, page_aligned

__all__ = ["stored_rows"]


def stored_rows(stored: StoredEdges, kind: str, names: tuple[str, ...], first: int, last: int) -> Rows:
    """Return the rows of the vertices from `first` to `last` - 1. Only the pages that contain these rows are read.

    Args:
        stored: the edges.
        kind: the adjacency direction; "in" for an undirected graph.
        names: the columns.
        first, last: the first vertex, and the last vertex plus 1.

    Raises DiskError and GraphError.
    """
    before = np.zeros(stored.n + 1, np.uint64)
    for one in stored.kinds() if kind == "both" else (kind,):
        before[1:] += stored.degrees(one)
    np.cumsum(before, out=before)
    low, high = int(before[first]), int(before[last])
    cuts = stored.cuts(kind)
    targets: NDArray[np.uint32] = empty(high - low, np.uint32)
    columns = {name: empty(high - low, stored.columns[name].dtype) for name in names}
    for page in range(cuts.count):
        begin, end = cuts.starts[page : page + 2].tolist()
        a, b = max(low, begin), min(high, end)
        if a >= b:
            continue
        check, _ = stored.read(kind, page, page_aligned(stored.nbytes(kind, page)))
        view = check()
        start = int(cuts.firsts[page])
        expected = np.clip(before[start : start + len(view.offsets)], begin, end) - np.uint64(begin)
        if not np.array_equal(expected, view.offsets):
            raise GraphError(f"{stored.name}: the rows of page {page} have other lengths than the table of degrees")
        targets[a - low : b - low] = view.targets[a - begin : b - begin]
        for name, values in columns.items():
            values[a - low : b - low] = view.columns[name][a - begin : b - begin]
    return Rows(before[first : last + 1] - np.uint64(low), targets, columns)
