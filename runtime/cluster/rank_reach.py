"""Loops with a uniform frontier (rule X2) on several ranks.

Every rank finds its part of the next frontier, by push or by pull, and sends this part as bits to the ranks that mirror
its vertices. All vertices of a frontier have the same value, so a message contains one value besides the bits. A
superstep makes one exchange.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cluster.cluster_passes import ClusterPasses
from vlang.runtime.cluster.local_graph import RECEIVERS
from vlang.runtime.cluster.messages import Reader, front_part, joined_parts, whole_part
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.mode import should_look
from vlang.runtime.cpu.ways.cpu_way import Running, only_new
from vlang.runtime.cpu.ways.paged_frontier import bits_set, set_bits
from vlang.runtime.cpu.ways.paged_reach import PagedReachLoop
from vlang.runtime.cpu.ways.reach import Reach
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.engine.trace import Done
from vlang.runtime.kernels import mirror_kernels, paged_frontier_kernels
from vlang.runtime.plan.layouts.reach_words import REACH_ONE
from vlang.runtime.plan.plan import LoopSpec, StageSpec

__all__ = ["RankReach"]

_COUNTS = 5  # the numbers that each rank adds to a message


class RankReach(Reach):
    """Runs loops with a uniform frontier on all ranks together."""

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of the kernels that every run launches."""
        return frozenset({"spot", "take"})

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None where `Reach.begin` does, and if the loop continues an earlier run."""
        if not only_new(start) or start is not None:
            return None
        passes = machine.passes
        return _RankReachLoop(loop.stages[0], passes, machine.options.mode == "auto", passes.freedoms.of(loop, bound))


class _RankReachLoop(PagedReachLoop):
    """The loop of one rank; a `vlang.runtime.engine.machine.Loop`."""

    def __init__(self, stage: StageSpec, passes: ClusterPasses | Any, looks: bool, free: Freedoms) -> None:
        super().__init__(stage, passes, looks, free)
        assert isinstance(passes, ClusterPasses)
        self._rank, self._numbers = passes, passes.numbers
        low, high = self._numbers.low, self._numbers.high
        assert stage.domain is not None
        self._away = passes.graph.row_lengths(self._receivers(stage.domain))  # 0 but for owned vertices
        self._own = np.zeros(self._words, np.uint64)
        owned = np.zeros(passes.graph.n, np.uint8)
        owned[low:high] = 1
        set_bits(self._own, owned)
        self._fields = [passes.state.arrays[f"field:{name}"] for name in stage.written]
        self._front_edges = self._left_edges = 0

    def _receivers(self, domain: str) -> str:
        return f"{RECEIVERS}{domain}"

    def _begin(self) -> None:
        self._rank.refresh(self._stage)
        super()._begin()
        flags = bits_set(self._front, self._numbers.n).copy()
        flags[self._numbers.lower : self._numbers.low] = 0  # pads are not kept up to date
        set_bits(self._front, flags)
        self._counts[REACH_ONE] = np.argmax(flags) if len(flags) else 0
        active, _ = self._meet(False, 0)
        self._last = Done(active, "push", 0)

    def _should_look(self, pushed: NDArray[np.uint8], looked: NDArray[np.uint8]) -> bool:
        was, entries = self._last.mode == "early-exit pull", self._rank.local.entries(self._stage.domain or "in")
        return should_look(self._rank.costs, was, self._numbers.ranges.n, entries, self._last.active,
                           self._front_edges, self._unreached, self._left_edges)

    def _reached(self, active: int, edges: int) -> tuple[int, int]:
        active, total = self._meet(True, edges)
        self._unreached += active  # the caller subtracts it from what is left
        return active, total

    def _meet(self, found: bool, edges: int) -> tuple[int, int]:
        """Add up counts over all ranks; if `found`, also send the owned vertices of the frontier to their mirrors.

        Returns the number of vertices of the frontier, and the number of edges that the superstep traversed.
        """
        transport, numbers = self._rank.transport, self._numbers
        mine, left = self._front & self._own, self._left & self._own
        active = int(bits_set(mine, numbers.n).sum())
        counts = np.array([active, edges, self._edges_of(mine, self._away), int(bits_set(left, numbers.n).sum()),
                           self._into.edges(left)], np.int64)
        buffers = [np.zeros(0, np.uint8)] * transport.size
        for rank in range(transport.size):
            if rank != transport.rank:
                parts = whole_part(counts)
                if found and active:
                    one = int(self._counts[REACH_ONE])
                    for array in self._fields:
                        parts += whole_part(self._value(array, one))
                    parts += front_part(mine, numbers.wanted[rank])
                buffers[rank] = joined_parts(parts)
        totals = counts.copy()
        for rank, message in enumerate(transport.exchange(buffers, f"frontier of {self._stage.name}")):
            if rank != transport.rank:
                totals += self._read(Reader(message), rank, found)
        active, edges, self._front_edges, self._unreached, self._left_edges = totals.tolist()
        return active, edges

    def _read(self, reader: Reader, rank: int, found: bool) -> NDArray[np.int64]:
        """Store the values of the mirrors that the message of a rank lists; returns the counts in the message."""
        counts = np.zeros(_COUNTS, np.int64)
        reader.whole(counts)
        if not found or not counts[0]:
            return counts
        values = [np.empty_like(self._value(array, 0)) for array in self._fields]
        for value in values:
            reader.whole(value)
        first, last = self._numbers.mirrors_of(rank)
        places = reader.places(last - first)
        if len(places):
            mirror_kernels()["spread"](places, len(places), first, self._front, self._left)
            at = first + places.astype(np.int64)
            for array, value in zip(self._fields, values):
                array.reshape(-1, len(value))[at] = value
            if not (self._front & self._own).any():
                self._counts[REACH_ONE] = at[0]
        return counts

    def _value(self, array: NDArray[Any], v: int) -> NDArray[Any]:
        """The entries of one vertex in an array; one zero if there are no vertices."""
        width = len(array) // max(1, self._numbers.n)
        return array[v * width : (v + 1) * width] if self._numbers.n else np.zeros(1, array.dtype)

    def _edges_of(self, bits: NDArray[np.uint64], lengths: NDArray[np.uint32]) -> int:
        return int(paged_frontier_kernels()["edges_of"](bits, self._numbers.n, lengths))

    def close(self) -> None:
        """Note that this loop, and not an exchange, has written the mirrors of the fields."""
        for name in self._stage.written:
            self._rank.forget(f"field:{name}")
