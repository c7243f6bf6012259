"""Loops with a uniform frontier (rule X2) on several ranks.

Every rank finds a part of the next frontier, by push or by pull. Then the rank sends this part as bits to the ranks
that mirror the vertices. All vertices of a frontier have the same value, so a message has the bits and a single value.
A superstep has one exchange.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cluster.cluster_passes import ClusterPasses
from vlang.runtime.cluster.local_graph import RECEIVERS
from vlang.runtime.cluster.messages import Picks, Reader, front_part, joined_parts, whole_part
from vlang.runtime.cluster.transports.transport import Buffer
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.ways.cpu_way import Running, only_new
from vlang.runtime.cpu.ways.reach import Reach, ReachLoop
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.engine.trace import Done
from vlang.runtime.kernels import mirror_kernels, paged_frontier_kernels
from vlang.runtime.plan.layouts.reach_words import (
    REACH_ACTIVE,
    REACH_CUT,
    REACH_EDGES,
    REACH_LEFT_EDGES,
    REACH_LEFT_OVER,
    REACH_LONG,
    REACH_LOOKED,
    REACH_ONE,
)
from vlang.runtime.plan.plan import LoopSpec, StageSpec
from vlang.runtime.storage.memory import empty

__all__ = ["RankReach", "long_bits"]

_SUMMED = [REACH_ACTIVE, REACH_EDGES, REACH_LOOKED, REACH_LEFT_OVER, REACH_LEFT_EDGES]  # counts in each message


class RankReach(Reach):
    """Runs loops with a uniform frontier on all ranks together."""

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """Return the roles of the kernels that every run launches."""
        return frozenset({"start", "mark", "unite"})

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None in the same cases as `Reach.begin`, and if the loop continues an earlier run."""
        if not only_new(start) or start is not None:
            return None
        passes = machine.passes
        return _RankReachLoop(loop.stages[0], passes, machine.options.mode == "auto", passes.freedoms.of(loop, bound))


class _RankReachLoop(ReachLoop):
    """The loop of one rank; a `vlang.runtime.engine.machine.Loop`."""

    def __init__(self, stage: StageSpec, passes: ClusterPasses | Any, looks: bool, free: Freedoms) -> None:
        assert isinstance(passes, ClusterPasses)
        self._rank, self._numbers = passes, passes.numbers
        super().__init__(stage, passes, looks, free)
        self._first = self._numbers.low & -64  # the vertex of the first word with owned vertices
        self._away: NDArray[np.uint32] = self._out.derived(
            "away", lambda: passes.graph.row_lengths(self._out.kind)[self._first : self._numbers.high])
        self._long: NDArray[np.uint64] = self._out.derived("long", lambda: long_bits(self._out.offsets))
        self._picks: list[Picks] = self._out.derived("picks", lambda: [Picks.of(one) for one in self._numbers.wanted])
        self._one, self._head = np.zeros(1, np.int64), np.zeros(len(_SUMMED), np.int64)
        self._where = f"frontier of {stage.name}"
        self._fields = [passes.state.arrays[f"field:{name}"] for name in stage.written]

    def _receivers(self, domain: str) -> str:
        return f"{RECEIVERS}{domain}"

    def _of_graph(self, domain: str) -> tuple[int, int]:
        return self._numbers.ranges.n, self._rank.local.entries(domain)

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep."""
        if self._rounds == 0:
            self._start()
        if self._looks and self._left == 0:
            self._active, self._last = 0, Done(0, "early-exit pull", 0)
        else:
            self._last = self._look() if self._looks and self._should_look() else self._push()
        self._rounds += 1
        self._free.took("P" if self._last.mode == "push" else "X2")
        return [self._last]

    def _start(self) -> None:
        """Find the owned vertices that have values, and send these vertices to the ranks that mirror them."""
        self._free.took("Z")
        self._rank.refresh(self._stage, but={f"field:{name}" for name in self._stage.written})
        self._launch("start", self._words, self._words, 0)
        front = self._room.bits[0]
        for bits in (front, self._room.bits[2]):  # other ranks look for the rest of the unreached vertices
            _clear_outside(bits, *self._rank.vertices)
        places = empty(int(self._counts[REACH_ACTIVE]), np.uint32)
        places = places[: mirror_kernels()["listed"](front, self._words, places)]
        self._counts[:] = 0
        self._counts[REACH_ACTIVE] = len(places)
        if len(places):
            self._counts[REACH_ONE] = places[0]
        self._reach(places, 0)
        self._found()

    def _reach(self, places: NDArray[np.uint32], first: int) -> None:
        """Add the vertices `first` + i, for each place i, to the frontier."""
        self._counts[REACH_CUT] = mirror_kernels()["reached"](
            places, len(places), first, self._room.bits[0], self._out.offsets, self._room.longs,
            int(self._counts[REACH_CUT]))

    def _counted(self) -> NDArray[np.int64]:
        """Send the owned vertices of the frontier to their mirrors; returns the counts, summed over all ranks."""
        transport, front, kernels = self._rank.transport, self._room.bits[0], paged_frontier_kernels()
        self._counts[REACH_EDGES] = kernels["edges_of"](front[self._first // 64 :], len(self._away), self._away)
        head = self._head
        head[: len(_SUMMED)] = self._counts[_SUMMED]
        mine: list[Buffer] = [head.view(np.uint8)]
        if self._counts[REACH_ACTIVE]:
            one = int(self._counts[REACH_ONE])
            mine += [whole for array in self._fields for whole in whole_part(self._value(array, one))]
        buffers: list[Buffer] = [np.zeros(0, np.uint8)] * transport.size
        for rank in range(transport.size):
            if rank != transport.rank:
                front_of = front_part(front, self._picks[rank]) if self._counts[REACH_ACTIVE] else []
                buffers[rank] = joined_parts([*mine, *front_of])
        totals = head.copy()
        for rank, message in enumerate(transport.exchange(buffers, self._where)):
            if rank != transport.rank:
                totals += self._read(Reader(message, head.nbytes), rank)
        found = np.zeros_like(self._counts)
        found[_SUMMED] = totals
        return found

    def _read(self, reader: Reader, rank: int) -> NDArray[np.int64]:
        """Add the mirrors that are named in the message of a rank to the frontier; returns the counts in the message.
        """
        counts: NDArray[np.int64] = reader.message[: self._head.nbytes].view(np.int64)
        if not counts[0]:
            return counts
        values = [np.empty_like(self._value(array, 0)) for array in self._fields]
        for value in values:
            reader.whole(value)
        first, last = self._numbers.mirrors_of(rank)
        places, bits = reader.front(last - first)
        if not len(places) and not len(bits):
            return counts
        one = self._one
        if len(places):
            one[0] = first + int(places[0])
            self._reach(places, first)
        else:
            self._counts[REACH_CUT] = mirror_kernels()["united"](
                bits, len(bits), first, self._room.bits[0], self._long, self._out.offsets, self._room.longs,
                int(self._counts[REACH_CUT]), one)
        if not self._counts[REACH_ACTIVE]:  # a mirror sends, and no value of another mirror is read
            self._counts[REACH_ONE] = sender = int(one[0])
            for array, value in zip(self._fields, values):
                np.copyto(self._value(array, sender), value)
        return counts

    def _value(self, array: NDArray[Any], v: int) -> NDArray[Any]:
        """Return the entries of one vertex in an array. Returns a single zero if there are no vertices."""
        width = len(array) // max(1, self._numbers.n)
        return array[v * width : (v + 1) * width] if self._numbers.n else np.zeros(1, array.dtype)

    def close(self) -> None:
        """Note that this loop, and not an exchange, has written the mirrors of the fields."""
        for name in self._stage.written:
            self._rank.forget(f"field:{name}")


def _clear_outside(bits: NDArray[np.uint64], low: int, high: int) -> None:
    """Clear the bits of a bitmap outside of low..high-1."""
    one, first, last = np.uint64(1), low >> 6, -(-high // 64)
    bits[:first] = bits[last:] = 0
    if low & 63:
        bits[first : first + 1] &= ~((one << np.uint64(low & 63)) - one)
    if high & 63:
        bits[last - 1] &= (one << np.uint64(high & 63)) - one


def long_bits(offsets: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the vertices whose edges are divided among entries of `longs` (see REACH_LONG), as a bitmap."""
    long = np.zeros(-(-(len(offsets) - 1) // 64) * 64, np.uint8)
    long[: len(offsets) - 1] = np.diff(offsets) > REACH_LONG
    return np.packbits(long, bitorder="little").view(np.uint64)
