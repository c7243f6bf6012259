"""Passes along pointers on several ranks: the owner of a vertex has the list of all vertices that point to it.

A vertex and the vertex that it points to may be on different ranks. So whenever the field has changed on any rank,
every rank sends the pointers of its vertices to the ranks that own the targets. Before each pass, every rank also sends
the values that the pass reads at the pointing vertices. A rank stores the senders as *guests*, with numbers above the
numbers of local vertices. The order of guests is the order of the vertices in the whole graph. A row then has the same
vertices in the same order as in one process, so the results have the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cluster.local_graph import LocalGraph
from vlang.runtime.cluster.transports.transport import Buffer, Transport, summed
from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.paged.source import Columns
from vlang.runtime.cpu.passes.pointed import Pointed
from vlang.runtime.engine.state import State
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.build import EdgeScan, Rows, build_rows
from vlang.runtime.graph.topology.pages import DEFAULT_PAGE_SIZE, Pages
from vlang.runtime.plan.plan import StageSpec, pointer_of

__all__ = ["RankPointed", "within"]

_NONE = 0xFFFFFFFF


def within(tasks: NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
    """Return the tasks over vertices, restricted to the vertices from `low` to `high` - 1."""
    cut = tasks[(tasks[:, 2] > low) & (tasks[:, 1] < high)]
    np.clip(cut[:, 1:], low, high, out=cut[:, 1:])
    return np.ascontiguousarray(cut)


@dataclass(frozen=True)
class _Lists:
    """The vertices that point to the vertices of this rank, for one field.

    Attributes:
        values: uint32[owned], the field when the lists were built.
        total: the number of pointers of all ranks.
        places: for each rank, the local numbers of the owned vertices that point to its vertices, int64.
        counts: the number of guests from each rank.
        order: int64[guests], the permutation that sorts the guests, received rank by rank, by their numbers; None if
            they are sorted already.
        dense: uint32[guests], the numbers of the guests, in increasing order.
        pages: the rows, whose targets are the numbers of guests.
        table: the page table of `pages`.
    """

    values: NDArray[Any]
    total: int
    places: Sequence[NDArray[np.int64]]
    counts: Sequence[int]
    order: NDArray[np.int64] | None
    dense: NDArray[np.uint32]
    pages: Pages
    table: NDArray[np.uint64]


class RankPointed(Pointed):
    """The vertices that point at each vertex of this rank. All ranks call the same methods in order.

    Args:
        graph: the part of the graph that the rank holds.
        state: the state of the run.
        threads: the number of threads that build lists.
        transport: the transport of the rank.
    """

    def __init__(self, graph: LocalGraph, state: State, threads: int, transport: Transport) -> None:
        super().__init__(graph, state, threads)
        self._local, self._numbers, self._transport = graph, graph.numbers, transport
        self._lists: dict[str, _Lists] = {}

    def follow(self, field: str) -> None:
        """Rebuild the lists of a field if its values have changed on any rank; does nothing if `field` is ""."""
        if not field:
            return
        values = self._numbers.own(self._state.arrays[f"field:{field}"])
        known = self._lists.get(field)
        differ = known is None or not np.array_equal(known.values, values)
        changed, total = summed(self._transport, [int(differ), int(np.count_nonzero(values != _NONE))],
                                f"pointers {field}")
        if changed:
            self._lists.pop(field, None)
            self._lists[field] = self._built(field, values.copy(), total)

    def pages(self, kind: str) -> Pages:
        """Return the lists of a domain "pointing:FIELD", cut into pages. `follow` updates the lists."""
        field = pointer_of(kind)
        if field not in self._lists:
            self.follow(field)
        return self._lists[field].pages

    def table(self, kind: str, columns: Columns) -> NDArray[np.uint64]:
        """Return the page table of a pass along pointers. Pointers have no columns."""
        return self._lists[pointer_of(kind)].table

    def entries(self, field: str) -> int:
        """Return the number of pointers of all ranks."""
        return self._lists[field].total

    def _built(self, field: str, values: NDArray[Any], total: int) -> _Lists:
        numbers, order = self._numbers, self._local.whole_order
        pointing = np.flatnonzero(values != _NONE)
        at = values[pointing] if order is None else order.internal[values[pointing]]
        owners = numbers.ranges.owners(at)
        by_owner = np.argsort(owners, kind="stable")
        cuts = np.searchsorted(owners[by_owner], np.arange(1, numbers.ranges.size))
        places = np.split(pointing[by_owner] + numbers.low, cuts)
        assert self._local.order is not None
        dense = [self._local.order.dense[some] for some in places]
        found = self._exchanged([np.concatenate(pair) for pair in zip(np.split(at[by_owner], cuts), dense)],
                                f"pointers {field}")
        counts = [len(part) // 2 for part in found]
        here = np.concatenate([part[:count] for part, count in zip(found, counts)])
        guests = np.concatenate([part[count:] for part, count in zip(found, counts)])
        sorted_ = None if order is None else np.argsort(guests, kind="stable")
        if sorted_ is not None:
            here, guests = here[sorted_], guests[sorted_]
        span = numbers.low, numbers.high
        adjacency = Adjacency("in", self._rows(here), {}, lambda name: np.zeros(0), RLock(), span)
        pages = Pages.cut(adjacency, DEFAULT_PAGE_SIZE)
        pages = replace(pages, tasks=within(pages.tasks, *span))
        return _Lists(values, total, places, counts, sorted_, guests, pages, pages.table([]))

    def _rows(self, at: NDArray[np.uint32]) -> Rows:
        """Return the rows of the local vertices; `at` has, for each guest, the number in the graph of the vertex to
        which the guest points.
        """
        numbers = self._numbers
        first, n = numbers.ranges.of(self._transport.rank)[0], numbers.n
        local = (at.astype(np.int64) - first + numbers.low).astype(np.uint32)
        guests = np.arange(len(at), dtype=np.uint32)
        rows = build_rows(EdgeScan(local, guests, mirror=False), max(n, len(at)), {}, self._threads)
        return Rows(rows.offsets[: n + 1].copy(), rows.targets + np.uint32(n), {})

    def _exchanged(self, parts: Sequence[NDArray[Any]], where: str) -> list[NDArray[Any]]:
        """Send an array to each rank, and return the array of each rank, all of one dtype."""
        buffers: list[Buffer] = [np.ascontiguousarray(part).view(np.uint8).reshape(-1) for part in parts]
        found, mine = self._transport.exchange(buffers, where), self._transport.rank
        return [parts[rank] if rank == mine else part.copy().view(parts[mine].dtype)
                for rank, part in enumerate(found)]

    @contextmanager
    def guests(self, stage: StageSpec) -> Iterator[None]:
        """A context manager in which kernels find the values of guests behind the values of the local vertices.

        The values of guests are copies. These copies stay valid, because the kernels write no array that they read at
        other vertices. For passes that follow no pointers, nothing is done.
        """
        if not stage.pointer:
            yield
            return
        lists, slots = self._lists[stage.pointer], self._state.plan.slots
        near = {slot: self._state.arrays[slot] for slot in stage.near}
        arrays = {slot: np.concatenate([array, self._fetched(array, lists, f"{slot} of pass {stage.name}")])
                  for slot, array in near.items()}
        if "ids:dense" in stage.arrays:
            arrays["ids:dense"] = np.concatenate([self._state.arrays["ids:dense"], lists.dense])
        words = self._state.words
        before = {slots[slot]: words[slots[slot]] for slot in arrays}
        for slot, array in arrays.items():
            words[slots[slot]] = address_of(array)
        try:
            yield
        finally:
            for number, word in before.items():
                words[number] = word

    def _fetched(self, array: NDArray[Any], lists: _Lists, where: str) -> NDArray[Any]:
        """Return the values of an array over vertices at the guests."""
        width = len(array) // self._numbers.n if self._numbers.n else 1
        rows = array.reshape(-1, width)
        found = np.concatenate(self._exchanged([rows[some].reshape(-1) for some in lists.places], where))
        return found if lists.order is None else found.reshape(-1, width)[lists.order].reshape(-1)
