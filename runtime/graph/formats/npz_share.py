"""Reads one of several equal parts of a graph that vlang saved as an .npz file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.edges.chosen_weight import as_weight, without_weight
from vlang.runtime.graph.edges.columns import narrowed
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.edges.share import SavedShare
from vlang.runtime.graph.formats.archive import Archive
from vlang.runtime.graph.formats.npz_arrays import COLUMN, NAMES, SEAL, UNIT, is_own, own_head, own_ids, unfit
from vlang.runtime.graph.kernels import kernels

__all__ = ["read_npz_share"]


def read_npz_share(path: Path, weights: str | None, place: int, parts: int) -> SavedShare | None:
    """Some of the edges of a graph that vlang saved; None for a matrix, a compressed or unsealed file, or columns of
    names or times.

    Args:
        path, weights, place, parts: see `StoredFormat.share`.

    Raises the errors of `npz_arrays.load`.
    """
    with Archive(path) as archive:
        if not is_own(archive) or not archive.sealed(SEAL):
            return None
        kind, directed, notes, left_out, rule, names = own_head(archive, path, weights)
        members = ["targets", *(COLUMN + name for name in names)]
        named = any(name.startswith((NAMES, UNIT)) for name in archive.names)
        if named or not all(map(archive.stored, members)):
            return None
        offsets, edges = archive.array("offsets", "u", (None,)), archive.length("targets")
        got = [archive.part(name, "biuf", place, parts) for name in members]
        (targets, *values), checks = zip(*got)
        if unfit(kind, offsets, edges, targets) or any(archive.length(name) != edges for name in members):
            return None
        ids = own_ids(archive, len(offsets) - 1)
    columns = {name: narrowed(name, array) for name, array in zip(names, values)}
    if weights not in (None, "weight"):
        columns, rule, left_out = as_weight(columns, str(weights)), None, without_weight(left_out)
    rows = _rows(offsets, *(edges * i // parts for i in (place, place + 1)))
    src, dst = (targets, rows) if kind == "in" or not directed else (rows, targets)
    listed = EdgeList(src, dst, ids, columns, directed, notes, left_out)
    limits = None if rule is None else (rule.low, rule.high)
    return SavedShare(listed, directed, "", frozenset(), (len(ids), edges), limits, tuple(checks))


def _rows(offsets: NDArray[np.uint64], first: int, last: int) -> NDArray[np.uint32]:
    """The row of each of the edges first..last-1."""
    rows = np.empty(last - first, np.uint32)
    inside: Any = np.clip(offsets, first, last) - np.uint64(first)
    kernels("rows")["expand"](inside, 0, len(offsets) - 1, rows)
    return rows
