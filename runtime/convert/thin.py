"""Drops self-loops and parallel edges of edge lists on disk, and sorts edge lists by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.convert.budget import Budget
from vlang.runtime.convert.edges import Edges, Source, StoredColumn
from vlang.runtime.convert.entries import Entries, Sink, Sorter, count_degrees, room_for, scatter
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.graph.notes import KEPT, loops_note, parallel_note
from vlang.runtime.graph.topology.transform import sort_key
from vlang.runtime.storage.disk_arrays import DiskArrays

__all__ = ["in_row_order", "thinned"]

_PICKING = 40  # bytes of memory per entry of a part, while its parallel edges are dropped

Array = NDArray[Any]


def thinned(source: Source, self_loops: str, parallel: str, room: DiskArrays, budget: Budget) -> Source:
    """Drop self-loops or parallel edges as `Graph.thinned` does.

    Args:
        source: the graph.
        self_loops, parallel: "keep" or "drop".
        room: allocates the arrays of edges on disk.
        budget: the memory budget.

    Raises:
        GraphError: an option is neither "keep" nor "drop".
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
    """Sort the edges by destination, then by source, which is the order of the rows of in-edges."""
    listed, _ = _listed(replace(edges, directed=True, mirror=False), False, room, budget)
    return replace(listed, directed=edges.directed, mirror=edges.mirror)


def _loops(edges: Edges) -> int:
    kernel = kernels("rows")["loops"]
    return kernel(edges.src, edges.dst, 0, len(edges.src))


def _listed(edges: Edges, no_parallel: bool, room: DiskArrays, budget: Budget) -> tuple[Edges, int]:
    """The edges sorted by destination, then source, and how many parallel edges were dropped (if `no_parallel`)."""
    widths = [column.dtype.itemsize for column in edges.columns.values()]
    most = budget.entries(4 * edges.n, 4 * edges.n, 0,
                          lambda threads: Sorter.bytes_an_entry(widths, threads) + _PICKING * no_parallel)
    degrees = count_degrees(edges, ["in"], 1)["in"]
    arrays = room_for(edges, int(degrees.sum(dtype=np.uint64)), room)
    entries = scatter(edges, "in", degrees, most, arrays, budget.threads, lambda f: None)
    del degrees
    listed = _List(edges, entries, room)
    sorter = Sorter(entries, most, room, budget.threads)
    thin = _Thin(entries.shift, edges.directed, listed.append) if no_parallel else None
    sorter.each(listed.append if thin is None else thin.take, lambda f: None)
    if thin is not None:
        thin.end()
    return listed.finish(), 0 if thin is None else thin.dropped


class _List:
    """Collects sorted entries into an edge list on disk."""

    def __init__(self, edges: Edges, entries: Entries, room: DiskArrays) -> None:
        total = int(entries.starts[-1])
        self._edges, self._shift = edges, entries.shift
        self._rows, self._others = room.empty(total, np.uint32), room.empty(total, np.uint32)
        self._columns = [room.empty(total, column.dtype) for column in edges.columns.values()]
        self._count = 0

    def append(self, keys: Array, columns: list[Array]) -> None:
        """Append a part of the sorted entries."""
        here = slice(self._count, self._count + len(keys))
        self._rows[here] = keys >> np.uint64(self._shift)
        self._others[here] = keys & np.uint64((1 << self._shift) - 1)
        for column, part in zip(self._columns, columns):
            column[here] = part
        self._count += len(keys)

    def finish(self) -> Edges:
        """The edge list; each edge goes from the neighbour of an entry to its row."""
        count, edges = self._count, self._edges
        stored = {name: StoredColumn(column[:count], column.dtype)
                  for name, column in zip(edges.columns, self._columns)}  # fmt: skip
        return Edges(self._others[:count], self._rows[:count], edges.n, stored, edges.directed)


class _Thin:
    """Selects one entry of each key from sorted entries, as `topology.transform.dropped` does.

    Attributes:
        dropped: how many edges were dropped. The last entry of a part is held back, because the next part may begin
            with the same key.
    """

    def __init__(self, shift: int, directed: bool, sink: Sink) -> None:
        self._shift, self._directed, self._sink = shift, directed, sink
        self._held: tuple[Array, list[Array]] | None = None
        self.dropped = 0

    def take(self, keys: Array, values: list[Array]) -> None:
        """Process the next part of the sorted entries."""
        if self._held is not None:
            keys = np.concatenate([self._held[0], keys])
            values = [np.concatenate(both) for both in zip(self._held[1], values)]
        picks = _picked(keys, values)
        kept = keys[picks]
        if self._directed:
            self.dropped += len(keys) - len(kept)
        else:
            self.dropped += _downward(keys, self._shift) - _downward(kept, self._shift)
        values = [column[picks] for column in values]
        self._held = kept[-1:], [column[-1:] for column in values]
        self._sink(kept[:-1], [column[:-1] for column in values])

    def end(self) -> None:
        """Pass on the entry that is held back."""
        if self._held is not None:
            self._sink(*self._held)


def _downward(keys: Array, shift: int) -> int:
    """The number of entries whose neighbour is at most their row, which counts each undirected edge once."""
    return int(np.count_nonzero((keys & np.uint64((1 << shift) - 1)) <= keys >> np.uint64(shift)))


def _picked(keys: Array, values: list[Array]) -> NDArray[np.int64]:
    """The indices of the entries to keep, chosen as in `topology.transform.dropped`."""
    run = np.zeros(len(keys), dtype=np.uint32)
    np.cumsum(keys[1:] != keys[:-1], out=run[1:])
    name, by = sort_key(values[0] if values else None)
    picks = np.empty(int(run[-1]) + 1, dtype=np.int64)
    offsets = np.array([0, len(keys)], dtype=np.uint64)
    kernels("drop")[name](offsets, run, 0, 1, 0, 1, offsets, picks, *by)
    return picks
