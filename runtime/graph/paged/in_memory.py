"""Writes a graph in memory to a page file, and reads a page file into memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.chosen_weight import as_weight, check_weights, without_weight
from vlang.runtime.graph.edges.order import Order
from vlang.runtime.graph.paged.order import order_by_degree, order_by_hubs
from vlang.runtime.graph.paged.page_writer import DEFAULT_PAGE_BYTES, IdTable, PageWriter
from vlang.runtime.graph.topology.build import EdgeScan, Rows, build_rows
from vlang.runtime.graph.topology.transform import degrees as row_lengths
from vlang.runtime.graph.topology.transform import listed_rows
from vlang.runtime.storage.memory import Empty, empty
from vlang.runtime.storage.page_file import PageFile
from vlang.runtime.storage.page_file.form import LAYOUTS
from vlang.runtime.threads.activity import reach

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["load", "order_of", "rows_of", "save"]

_STEP = 1 << 20  # edges that are passed to the writer at a time
_COMPARED = 1 << 12  # offsets that are compared at a time, as their copies are part of no budget

Array = NDArray[Any]


def save(
    graph: Graph, path: Path, *, layout: str = "degree", disks: Sequence[str | os.PathLike[str]] = (),
    page_bytes: int = DEFAULT_PAGE_BYTES,
) -> None:  # fmt: skip
    """Write a graph as a page file, atomically.

    Args:
        graph: the graph.
        path: path of the file to write.
        layout: the order of the rows: "degree" by decreasing in-degree plus out-degree, "ids" by vertex id, "hubs" with
            the hubs first (`order_by_hubs`).
        disks: folders of the stripes; () for a single file.
        page_bytes: the size in bytes at which a page ends and the next one begins.

    Raises:
        GraphError: `layout` is unknown.
        DiskError: a file cannot be written.
    """
    if layout not in LAYOUTS:
        raise GraphError(f"layout={layout!r}: give {' or '.join(map(repr, LAYOUTS))}")
    graph = graph.plain()
    order = order_by_degree([graph.degree]) if layout == "degree" else \
        order_by_hubs(graph.in_degree, graph.out_degree) if layout == "hubs" else None
    kinds = ("in", "out") if graph.directed else ("in",)
    types = {name: graph.columns[name] for name in graph.columns}
    with PageWriter(path, graph.n, types, directed=graph.directed, layout=layout, disks=disks,
                    page_bytes=page_bytes) as writer:  # fmt: skip
        for kind in kinds:
            adjacency = graph.adjacency(kind, tuple(types))
            rows = Rows(adjacency.offsets, adjacency.targets, {name: adjacency.stored(name) for name in types})
            if order is not None:
                rows = _renumbered(rows, order, graph.threads)
            writer.begin(kind, row_lengths(rows.offsets))
            for first in range(0, len(rows.targets), _STEP):
                part = slice(first, first + _STEP)
                writer.write(rows.targets[part], [values[part] for values in rows.columns.values()])
            writer.end()
        writer.finish(IdTable.of(graph.ids), order, graph.notes[:-1], graph.left_out, graph.kinds)


def _renumbered(rows: Rows, order: NDArray[np.uint32], threads: int) -> Rows:
    """Renumber the vertices: vertex order[i] becomes vertex i."""
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    scan = EdgeScan(ranks[listed_rows(rows, threads)], ranks[rows.targets], mirror=False)
    return build_rows(scan, len(order), rows.columns, threads)


def load(graph_type: type[Graph], path: Path, weights: str | None = None, *, threads: int | None = None) -> Graph:
    """Read a page file as a graph with all edges in memory.

    Args:
        graph_type: the class to build.
        path: the file.
        weights: the edge column that becomes `weight`; None if no column was chosen.
        threads: how many threads build adjacency lists; None for one per processor.

    Raises:
        GraphError: the file is not a page file, is damaged, or does not have the column `weights`.
        DiskError: the file cannot be read.
    """
    file = PageFile.open(path)
    check_weights(path, weights, list(file.columns), file.left_out)
    ids, rows, left_out = file.ids(), rows_of(file), file.left_out
    changes, kinds = weights not in (None, "weight"), file.named
    if changes:
        rows, left_out = replace(rows, columns=as_weight(rows.columns, str(weights))), without_weight(left_out)
        kinds = as_weight(kinds, str(weights))
    return graph_type.from_rows(
        "in", rows, ids, directed=file.directed, name=path.name, notes=file.description.notes, left_out=left_out,
        threads=threads, order=order_of(file), seal="" if changes else file.fingerprint.hex(), kinds=kinds,
    )  # fmt: skip


def order_of(file: PageFile, empty: Empty = empty, in_file: bool = False) -> Order | None:
    """The order of the rows of a page file; None if rows are in the order of the ids. Raises GraphError, DiskError.

    `empty` allocates the arrays of the order. `in_file` says that the arrays of the order are in files.
    """
    numbers = file.permutation(empty)
    return None if numbers is None else Order.of(numbers, empty, in_file)


def _agree(offsets: NDArray[np.uint64], low: int, high: int, local: NDArray[np.uint32]) -> bool:
    """Return whether the offsets of a page, relative to its first edge, are those of the whole adjacency.

    Args:
        offsets: the offsets of the rows of the page in the whole adjacency.
        low, high: the first edge of the page, and the end.
        local: the offsets that the page stores.
    """
    for at in range(0, len(local), _COMPARED):
        expected = np.clip(offsets[at : at + _COMPARED], low, high) - np.uint64(low)
        if not np.array_equal(expected, local[at : at + _COMPARED]):
            return False
    return True


def rows_of(file: PageFile) -> Rows:
    """Read all in-edges of a page file, with vertices numbered as in its pages (internal numbers)."""
    directory = file.directory("in")
    offsets = np.zeros(file.n + 1, dtype=np.uint64)
    np.cumsum(file.degrees("in"), out=offsets[1:])
    targets: NDArray[np.uint32] = empty(file.m, np.uint32)
    columns = {name: empty(file.m, info.dtype) for name, info in file.columns.items()}
    for page, view in enumerate(file.pages("in")):
        low, high = directory.starts[page : page + 2].tolist()
        first = int(directory.firsts[page])
        if not _agree(offsets[first : first + len(view.offsets)], low, high, view.offsets):
            raise file.page_error("in", page, "its rows have other lengths than the table of degrees")
        targets[low:high] = view.targets
        reach(high / max(1, file.m))
        for name, values in view.columns.items():
            columns[name][low:high] = values
    return Rows(offsets, targets, columns)
