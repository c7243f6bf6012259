"""Edges without self-loops or parallel edges, or in the order of their rows; the lists stay on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.convert.budget import Budget
from vlang.runtime.convert.edges import Edges, Source, StoredColumn
from vlang.runtime.convert.entries import Sorter, count_degrees, scatter
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.notes import KEPT, loops_note, parallel_note
from vlang.runtime.graph.topology.transform import sort_key
from vlang.runtime.storage.disk_arrays import DiskArrays

__all__ = ["in_row_order", "thinned"]

_PICKING = 40  # bytes for each entry of a part whose parallel edges are dropped

Array = NDArray[Any]


def thinned(source: Source, self_loops: str, parallel: str, room: DiskArrays, budget: Budget) -> Source:
    """See `Graph.thinned`.

    Args:
        source: the graph.
        self_loops, parallel: "keep" or "drop".
        room: where edges are kept.
        budget: of memory.

    Raises:
        GraphError: other words.
        OutOfMemory: the budget is too small.
    """
    for option, value in (("self_loops", self_loops), ("parallel", parallel)):
        if value not in ("keep", "drop"):
            raise GraphError(f"{option}={value!r}: give 'keep' or 'drop'")
    notes, kept = list(source.notes), source.kept
    edges = source.edges
    if self_loops == "drop":
        edges = replace(edges, loops=False)
        notes.append(loops_note(_loops(edges)))
        kept = tuple(kind for kind in kept if kind != KEPT[0])
    if parallel == "drop":
        edges, more = _listed(edges, True, room, budget)
        notes.append(parallel_note(more, next(iter(edges.columns), None)))
        kept = tuple(kind for kind in kept if kind != KEPT[1])
    return replace(source, edges=edges, notes=notes, kept=kept)


def in_row_order(edges: Edges, room: DiskArrays, budget: Budget) -> Edges:
    """The same edges as listed, in the order of the rows of their in-edges."""
    listed, _ = _listed(replace(edges, directed=True, mirror=False), False, room, budget)
    return replace(listed, directed=edges.directed, mirror=edges.mirror)


def _loops(edges: Edges) -> int:
    kernel = kernels("rows")["loops"]
    return kernel(edges.src, edges.dst, 0, len(edges.src))


def _listed(edges: Edges, no_parallel: bool, room: DiskArrays, budget: Budget) -> tuple[Edges, int]:
    """The in-edges as a list in the order of their rows, and how many parallel edges were left out."""
    widths = [column.dtype.itemsize for column in edges.columns.values()]
    each = Sorter.bytes_an_entry(widths, budget.threads) + _PICKING * no_parallel
    most = budget.entries(4 * edges.n, 0, each)
    degrees, _ = count_degrees(edges, "in", lambda f: None)
    entries = scatter(edges, "in", degrees, None, most, room, budget.threads, lambda f: None)
    del degrees
    total = int(entries.starts[-1])
    rows, others = room.empty(total, np.uint32), room.empty(total, np.uint32)
    columns = [room.empty(total, column.dtype) for column in edges.columns.values()]
    sorter = Sorter(entries, most, room, budget.threads)
    count = more = 0
    found = _without_parallel(sorter, entries.shift, edges.directed) if no_parallel else \
        ((keys, values, 0) for keys, values in sorter.parts(lambda f: None))
    for keys, values, dropped in found:
        here = slice(count, count + len(keys))
        rows[here] = keys >> np.uint64(entries.shift)
        others[here] = keys & np.uint64((1 << entries.shift) - 1)
        for column, part in zip(columns, values):
            column[here] = part
        count += len(keys)
        more += dropped
    stored = {name: StoredColumn(column[:count], column.dtype) for name, column in zip(edges.columns, columns)}
    listed = Edges(others[:count], rows[:count], edges.n, stored, edges.directed)
    return listed, more


def _without_parallel(sorter: Sorter, shift: int, directed: bool) -> Iterator[tuple[Array, list[Array], int]]:
    """Sorted keys and columns with one of the entries of each key, and how many edges were left out.

    The last entry of a part is held back, because the next part may begin with the same key.
    """
    held: tuple[Array, list[Array]] | None = None
    for part, parts in sorter.parts(lambda f: None):
        keys, values = part, parts
        if held is not None:
            keys = np.concatenate([held[0], keys])
            values = [np.concatenate(both) for both in zip(held[1], values)]
        picks = _picked(keys, values)
        dropped = len(keys) - len(picks)
        if not directed:
            dropped = _downward(keys, shift) - _downward(keys[picks], shift)
        keys, values = keys[picks], [column[picks] for column in values]
        held = keys[-1:], [column[-1:] for column in values]
        yield keys[:-1], [column[:-1] for column in values], dropped
    if held is not None:
        yield held[0], held[1], 0


def _downward(keys: Array, shift: int) -> int:
    """The entries whose neighbour is not above the row: one of each undirected edge."""
    return int(np.count_nonzero((keys & np.uint64((1 << shift) - 1)) <= keys >> np.uint64(shift)))


def _picked(keys: Array, values: list[Array]) -> NDArray[np.int64]:
    """The indices of the entries that stay, by the rule of `topology.transform.dropped`."""
    run = np.zeros(len(keys), dtype=np.uint32)
    np.cumsum(keys[1:] != keys[:-1], out=run[1:])
    name, by = sort_key(values[0] if values else None)
    picks = np.empty(int(run[-1]) + 1, dtype=np.int64)
    offsets = np.array([0, len(keys)], dtype=np.uint64)
    kernels("drop")[name](offsets, run, 0, 1, 0, 1, offsets, picks, *by)
    return picks
