"""Reads stored graphs into edges on disk: page files, vlang's archives, and matrices of scipy.sparse.save_npz."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.convert.edges import Edges, RuleColumn, Source, StoredColumn, stored_columns
from vlang.runtime.convert.texts import Texts, TextVertexIds
from vlang.runtime.graph.archive import Archive
from vlang.runtime.graph.edges.chosen_weight import as_weight, check_weights, without_weight
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.from_arrays import refuse_nan
from vlang.runtime.graph.edges.kinds import Kind
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.npz import is_own, matrix_entries, matrix_note, own_graph
from vlang.runtime.storage.disk_arrays import DiskArrays
from vlang.runtime.storage.page_file import PageFile
from vlang.runtime.threads.workers import over

__all__ = ["from_archive", "from_page_file"]

_BLOCK = 1 << 18

Array = NDArray[Any]


def from_page_file(path: Path, weights: str | None, room: DiskArrays, _threads: int) -> Source:
    """Read the edges of a page file from its in-edges.

    Args:
        path: the file.
        weights: the edge column that becomes `weight`; None if no column was chosen.
        room: allocates the arrays of edges on disk.
        _threads: how many threads may be used; pages are read by one, in order.
    """
    file = PageFile.open(path)
    check_weights(path, weights, list(file.columns), file.left_out)
    order = file.permutation()
    src, dst = room.empty(file.m, np.uint32), room.empty(file.m, np.uint32)
    columns = {name: room.empty(file.m, info.dtype) for name, info in file.columns.items()}
    d = file.directory("in")
    for page, view in enumerate(file.pages("in")):
        low, high = d.starts[page : page + 2].tolist()
        rows = dst[low:high]
        offsets = view.offsets.astype(np.uint64)
        kernels("rows")["expand"](offsets, 0, len(offsets) - 1, rows)
        rows += np.uint32(d.firsts[page])
        if order is None:
            src[low:high] = view.targets
        else:
            src[low:high] = order[view.targets]
            rows[:] = order[rows]
        for name, values in view.columns.items():
            columns[name][low:high] = values
    ids = _ids_of(file, room)
    return _source(Edges(src, dst, file.n, {}, file.directed), columns, weights, ids,
                   list(file.description.notes), dict(file.left_out), order is None, file.named)  # fmt: skip


def _ids_of(file: PageFile, room: DiskArrays) -> VertexIds:
    stored = file.stored_texts(room.empty)
    return file.ids() if stored is None else TextVertexIds(Texts(*stored))


def _source(
    edges: Edges, values: dict[str, Array], weights: str | None, ids: VertexIds, notes: list[str],
    left_out: dict[str, Any], ordered: bool, kinds: Mapping[str, Kind],
) -> Source:  # fmt: skip
    if weights not in (None, "weight"):
        values, left_out = as_weight(values, str(weights)), without_weight(left_out)
        kinds = as_weight(kinds, str(weights))
    columns = {name: StoredColumn(column, column.dtype) for name, column in values.items()}
    edges = Edges(edges.src, edges.dst, edges.n, columns, edges.directed)
    return Source(edges, ids, notes, left_out, sorted=ordered, kinds=kinds)


def from_archive(path: Path, weights: str | None, room: DiskArrays, threads: int) -> Source:
    """Read the edges of an .npz file.

    Args:
        path, weights, room: see `from_page_file`.
        threads: how many threads check and expand a graph that vlang has saved.
    """
    with Archive(path, room.empty) as archive:
        if is_own(archive):
            return _own(own_graph(Graph, archive, path, weights, threads), room, threads)
        check_weights(path, weights, ["weight"], {})
        return _matrix(path, archive, room)


def _own(graph: Graph, room: DiskArrays, threads: int) -> Source:
    """The edges of a graph whose adjacency was read into arrays on disk."""
    base = graph.built()
    rows = room.empty(graph.m, np.uint32)
    over(graph.n, threads, lambda first, last: kernels("rows")["expand"](base.offsets, first, last, rows))
    src, dst = (base.targets, rows) if base.kind == "in" else (rows, base.targets)
    columns: dict[str, Any] = {name: StoredColumn(base.stored(name), dtype) for name, dtype in graph.columns.items()
                               if graph.rule is None or name != "weight"}  # fmt: skip
    if graph.rule is not None:
        columns["weight"] = RuleColumn(graph.rule, src, dst, graph.directed)
    edges = Edges(src, dst, graph.n, columns, graph.directed)
    return Source(edges, graph.ids, list(graph.notes[:-1]), graph.left_out, kinds=graph.kinds)


def _matrix(path: Path, archive: Archive, room: DiskArrays) -> Source:
    kind, n, row, col, data = matrix_entries(archive, path)
    try:
        refuse_nan(row, col, data)
        ends = [_positions(given, n, room) for given in (row, col)]
        columns = stored_columns({"weight": data})
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None
    edges = Edges(ends[0], ends[1], n, columns, True)
    return Source(edges, VertexIds(base=0, count=n), [matrix_note(kind)], sorted=False, fresh=True)


def _positions(given: Array, n: int, room: DiskArrays) -> NDArray[np.uint32]:
    """Convert rows or columns of entries to vertex numbers, uint32 on disk.

    Raises GraphError unless all are in 0..n-1.
    """
    low, high = 0, -1
    kept = room.empty(len(given), np.uint32)
    for first in range(0, len(given), _BLOCK):
        part = given[first : first + _BLOCK]
        low, high = min(low, int(part.min())), max(high, int(part.max()))
        kept[first : first + _BLOCK] = part
    if low < 0 or high >= n:
        raise GraphError(f"an edge ends at vertex {low if low < 0 else high}; with n={n} vertices are 0 to {n - 1}")
    return kept
