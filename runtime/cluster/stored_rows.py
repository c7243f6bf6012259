"""Reads the rows of ranges of vertices from a page file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.graph.topology.stored import StoredEdges
from vlang.runtime.storage.memory import empty, page_aligned

__all__ = ["stored_rows"]


def stored_rows(stored: StoredEdges, kind: str, names: tuple[str, ...], runs: Sequence[tuple[int, int]]) -> Rows:
    """Return the rows of some vertices. Only the pages that contain these rows are read.

    Args:
        stored: the edges.
        kind: the adjacency direction; "in" for an undirected graph.
        names: the columns.
        runs: ranges of vertices: the first vertex, and the last vertex plus 1. The rows are in the order of these
            ranges.

    Raises DiskError and GraphError.
    """
    before = np.zeros(stored.n + 1, np.uint64)
    for one in stored.kinds() if kind == "both" else (kind,):
        before[1:] += stored.degrees(one)
    offsets = np.zeros(1 + sum(last - first for first, last in runs), np.uint64)
    np.cumsum(np.concatenate([before[:0], *(before[first + 1 : last + 1] for first, last in runs)]), out=offsets[1:])
    np.cumsum(before, out=before)
    targets: NDArray[np.uint32] = empty(int(offsets[-1]), np.uint32)
    columns = {name: empty(len(targets), stored.columns[name].dtype) for name in names}
    at = 0
    for first, last in runs:
        low, high = int(before[first]), int(before[last])
        part = {name: values[at : at + high - low] for name, values in columns.items()}
        _read(stored, kind, before, (low, high), targets[at : at + high - low], part)
        at += high - low
    return Rows(offsets, targets, columns)


def _read(
    stored: StoredEdges, kind: str, before: NDArray[np.uint64], entries: tuple[int, int], targets: NDArray[np.uint32],
    columns: Mapping[str, NDArray[Any]],
) -> None:
    """Read consecutive entries of an adjacency direction.

    Args:
        stored, kind: as for `stored_rows`.
        before: uint64[n + 1], the number of entries before the row of each vertex.
        entries: the first entry, and the last entry plus 1.
        targets, columns: the arrays that are filled.
    """
    low, high = entries
    cuts = stored.cuts(kind)
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
