"""The part of a graph that a rank holds in memory: the rows of its vertices, with local vertex numbers."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cluster.dealt import Dealt
from vlang.runtime.cluster.local_numbers import LocalNumbers, number_vertices
from vlang.runtime.cluster.ranges import Ranges, cut_ranges
from vlang.runtime.cluster.shared_edges import SharedEdges, shared_rows
from vlang.runtime.cluster.transports.transport import Transport, summed
from vlang.runtime.cpu.passes.edge_costs import Costs
from vlang.runtime.graph.edges.order import Order
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.build import Rows, RowScan, build_rows
from vlang.runtime.plan.plan import Plan
from vlang.runtime.storage.memory import empty, memory
from vlang.types import OPPOSITE

_ROW = 1  # the time that a row takes in a full pass, apart from its edges, divided by that of an edge (kron:20)
_ROW_OF_WAY = {"reach": 100, "priority": 10}
"""The same ratio where all passes may run in a way that reads the edges of few rows in each superstep."""

__all__ = ["RECEIVERS", "LocalGraph", "assembled", "cut", "dealt_rows", "local_graph", "pulled_kinds", "read_columns",
           "row_work", "rows_of", "work_of"]

RECEIVERS = "to-"
"""The prefix of an adjacency direction that turns it: the row of a sender has its receivers on this rank."""


class LocalGraph(Graph):
    """A `Graph` with the rows of the vertices of one rank, for the passes of a run.

    `adjacency("in")` has a row for each local vertex. The row is empty unless the rank owns the vertex.
    `adjacency("to-in")` has a row for each local vertex, which lists the owned vertices that receive from this vertex.
    `m` is the number of edges of the whole graph, so that all ranks make the same choices.

    Attributes:
        numbers: the local vertex numbers of the rank.
        whole_order: the order of the vertices of the whole graph; None for the order of their numbers.
        dealt: the order of dealt numbers if `numbers` are about dealt numbers instead of the numbers of the graph; None
            if they are not.
        costs: the costs of an edge on rank 0, if the ranks have exchanged them; all ranks have them, or none has.
    """

    numbers: LocalNumbers
    whole_order: Order | None
    dealt: Dealt | None
    costs: Costs | None
    _rows: dict[str, Adjacency]

    def adjacency(self, kind: str, columns: Iterable[str] = ()) -> Adjacency:
        """Return the rows of a direction of the plan, or the rows of a transposed direction with at least the given
        columns.
        """
        kind, names = self._stored_kind(kind), tuple(columns)
        found = self._rows.get(kind)
        if found is None or not all(found.holds(name) for name in names):
            rows = self._rows[kind.removeprefix(RECEIVERS)]
            values = {name: rows.stored(name) for name in names}
            memory.trim()  # a rank says how much memory it takes, and idle memory counts as well
            turned = build_rows(RowScan(rows.offsets, rows.targets), self.n, values, self.threads)
            memory.trim()
            found = self._rows[kind] = Adjacency(kind, turned, rows.columns, _no_column, threading.RLock())
        return found

    def row_lengths(self, kind: str) -> NDArray[np.uint32]:
        """Return, for each local vertex, the length of its row in the whole graph, uint32[n].

        For a transposed direction, pads and mirrors have length 0, so that a sum over all ranks counts each edge once.
        """
        if not kind.startswith(RECEIVERS):
            return self.numbers.local(self.arranged(super().row_lengths(kind)))
        found: NDArray[np.uint32] = np.zeros(self.n, np.uint32)
        low, high = self.numbers.low, self.numbers.high
        found[low:high] = self.numbers.own(self.row_lengths(OPPOSITE[kind.removeprefix(RECEIVERS)]))
        return found

    def arranged(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the values of all vertices of the graph, [n k], in the order of the ranges of the ranks."""
        return array if self.dealt is None else self.dealt.inward(array)

    def restored(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return the values of all vertices, [n k], in the order of the graph, from the order of the ranges."""
        return array if self.dealt is None else self.dealt.outward(array)

    def entries(self, kind: str) -> int:
        """Return the number of entries that an adjacency has in the whole graph."""
        return self.m * (2 if kind == "both" and self.directed else 1)

    def _stored_kind(self, kind: str) -> str:
        base = kind.removeprefix(RECEIVERS)
        return kind if self.directed else kind.replace(base, "in")


_PARTS: WeakKeyDictionary[Graph, dict[Any, LocalGraph]] = WeakKeyDictionary()
"""The parts of each graph, by directions, columns, rank and number of ranks. Parts do not refer to the graph."""


def pulled_kinds(plan: Plan, directed: bool) -> list[str]:
    """Return the adjacency directions whose rows the passes of a plan read."""
    kinds = {stage.side for stage in plan.stages if stage.side is not None}
    return sorted(kinds if directed or not kinds else {"in"})


def local_graph(
    plan: Plan, graph: Graph, transport: Transport, step: int = 1, deal: bool = False
) -> LocalGraph:
    """Return the part of a graph that a rank needs to run a plan. All ranks call this function with the same graph.

    The rows of a graph on disk are read from the page file, and the rows of a graph in memory are copied. The part is
    cached with the graph, for the next run that needs the same rows and columns.

    Args:
        plan: the plan.
        graph: the whole graph.
        transport: the transport of the rank.
        step: the range of each rank begins at a multiple of this number of vertices.
        deal: whether vertices are dealt to the ranks in stripes (see `Dealt`). Edges that are read by shares are not
            dealt.

    Raises DiskError, GraphError and OutOfMemory.
    """
    kinds = pulled_kinds(plan, graph.directed)
    names = read_columns(plan)
    row, deal = row_work(plan), deal and not isinstance(graph.stored, SharedEdges)
    known, key = _PARTS.setdefault(graph, {}), (tuple(kinds), names, row, step, deal, transport.rank, transport.size)
    found = known.get(key)
    numbers = [int(found is not None), int(found is not None and found.costs is not None)]
    parts, costs = summed(transport, numbers, "the part of a graph")
    if found is None or parts < transport.size:
        dealt, ranges = cut(work_of(graph, kinds, row), transport.size, step, deal)
        found = known[key] = _made(kinds, names, ranges, dealt, graph, transport)
    elif costs < transport.size:
        found.costs = None
    return found


def cut(work: NDArray[np.int64], size: int, step: int, deal: bool) -> tuple[Dealt | None, Ranges]:
    """Return the order in which vertices are dealt, or None, and the ranges of the ranks.

    Args:
        work, size, step: as for `cut_ranges`.
        deal: whether vertices are dealt.
    """
    dealt = Dealt.of(work, size) if deal and size > 1 else None
    return dealt, cut_ranges(work if dealt is None else dealt.inward(work), size, step)


def _made(
    kinds: list[str], names: tuple[str, ...], ranges: Ranges, dealt: Dealt | None, graph: Graph, transport: Transport
) -> LocalGraph:
    """Build the part of the graph for this rank.

    Args:
        kinds: the directions of the rows.
        names: the columns.
        ranges: the ranges of all ranks, in dealt numbers if vertices are dealt.
        dealt: the order in which vertices are dealt; None for the order of the graph.
        graph: the whole graph.
        transport: the transport of the rank.
    """
    first, last = ranges.of(transport.rank)
    if isinstance(graph.stored, SharedEdges):
        ranges = replace(ranges, base=graph.stored.base)
        found = {kind: shared_rows(graph.stored, kind, names, ranges, transport, graph.threads) for kind in kinds}
    else:
        found = {kind: dealt_rows(graph, kind, names, dealt, first, last) for kind in kinds}
    numbers = number_vertices(ranges, transport, [rows.targets for rows in found.values()])
    return assembled(graph, numbers, found, dealt)


def read_columns(plan: Plan) -> tuple[str, ...]:
    """Return the edge columns that the passes of a plan read."""
    return tuple(dict.fromkeys(name for stage in plan.stages for name, _ in stage.columns))


def row_work(plan: Plan) -> int:
    """Return the fixed work per row in the loops of a plan, expressed as a number of edges.

    In a search, most rows are read only up to the first neighbour in the frontier.
    """
    passes = [stage for loop in plan.loops for stage in loop.stages if stage.domain is not None]
    found = (row for way, row in _ROW_OF_WAY.items() if passes and all(way in stage.ways for stage in passes))
    return next(found, _ROW)


def work_of(graph: Graph, kinds: Iterable[str], row: int = _ROW) -> NDArray[np.int64]:
    """Return the work of each vertex, int64[n]. Ranges are cut so that their total work is about equal.

    The work of a vertex is `row` (see `row_work`) plus the number of its edges in the directions `kinds`.
    """
    work = np.full(graph.n, row, np.int64)
    for kind in kinds:
        work += graph.row_lengths(kind)
    return work


def assembled(
    graph: Graph, numbers: LocalNumbers, found: dict[str, Rows], dealt: Dealt | None = None
) -> LocalGraph:
    """Build the part of a graph that has the given rows.

    Args:
        graph: the whole graph.
        numbers: the local numbers.
        found: the rows of the owned vertices by direction, with global numbers. The function empties this dict.
        dealt: the order of dealt numbers if `numbers` and `found` have dealt numbers.
    """
    local = object.__new__(LocalGraph)
    local.name, local.n, local.m, local.ids = graph.name, numbers.n, graph.m, graph.ids
    local.directed, local.threads = graph.directed, graph.threads
    local.numbers, local._adjacencies = numbers, graph._adjacencies
    local.device_copies = graph.device_copies.part()
    dense = np.arange(graph.n, dtype=np.uint32) if graph.order is None else graph.order.dense
    local.whole_order, local.dealt, local.costs = graph.order, dealt, None
    local.order = Order(numbers.local(local.arranged(dense)), np.zeros(1, np.uint32))
    wide = numbers.ranges.numbers == np.uint64
    table: NDArray[np.uint32] = empty(0 if wide else graph.n, np.uint32)
    local._rows = {}
    for kind in tuple(found):
        rows = found.pop(kind)
        offsets = np.concatenate([np.zeros(numbers.low, np.uint64), rows.offsets,
                                  np.full(numbers.n - numbers.high, rows.offsets[-1], np.uint64)])
        rows = Rows(offsets, numbers.translate(rows.targets, table), rows.columns)
        columns, lock = graph._adjacencies.columns, threading.RLock()
        local._rows[kind] = Adjacency(kind, rows, columns, _no_column, lock, (numbers.low, numbers.high))
        memory.trim()
    return local


def _no_column(name: str) -> NDArray[Any]:
    raise AssertionError(f"the column {name!r} was not read")


def dealt_rows(
    graph: Graph, kind: str, names: tuple[str, ...], dealt: Dealt | None, first: int, last: int
) -> Rows:
    """Return the rows of consecutive vertices; rows and neighbours have dealt numbers, unless `dealt` is None.

    Args:
        graph, kind, names, first, last: as for `rows_of`.
        dealt: the order in which vertices are dealt.
    """
    if dealt is None:
        return rows_of(graph, kind, names, first, last)
    rows = _rows_of_runs(graph, kind, names, list(dealt.runs(first, last)))
    return Rows(rows.offsets, dealt.numbers()[rows.targets], rows.columns)


def rows_of(graph: Graph, kind: str, names: tuple[str, ...], first: int, last: int) -> Rows:
    """Return the rows of consecutive vertices, with global numbers.

    Args:
        graph: the whole graph.
        kind: the adjacency direction.
        names: the columns.
        first, last: the vertices are `first` to `last` - 1.
    """
    return _rows_of_runs(graph, kind, names, [(first, last)])


def _rows_of_runs(graph: Graph, kind: str, names: tuple[str, ...], runs: Sequence[tuple[int, int]]) -> Rows:
    """Return the rows of the vertices in `runs`, which are pairs of the first vertex, and the last vertex plus 1."""
    if graph.stored is not None:
        from vlang.runtime.cluster.stored_rows import stored_rows  # start-up

        return stored_rows(graph.stored, kind, names, runs)
    adjacency = graph.adjacency(kind, names)
    ends = adjacency.offsets.astype(np.int64)
    lengths = np.concatenate([ends[:0], *(np.diff(ends[first : last + 1]) for first, last in runs)])
    parts = [slice(int(ends[first]), int(ends[last])) for first, last in runs]
    targets, columns = adjacency.targets, {name: adjacency.stored(name) for name in names}
    return Rows(
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64), _joined(targets, parts),
        {name: _joined(values, parts) for name, values in columns.items()})


def _joined(values: NDArray[Any], parts: Sequence[slice]) -> NDArray[Any]:
    """Return the values in some slices; a single slice is not copied."""
    return values[parts[0]] if len(parts) == 1 else np.concatenate([values[:0], *(values[part] for part in parts)])
