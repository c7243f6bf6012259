"""Loops with a uniform frontier (rule X2) on several ranks.

Every rank finds a part of the next frontier, by push or by pull. Then the rank sends this part to the ranks that mirror
the vertices. All vertices of a frontier have the same value. So a message has counts and, if the part is not empty, a
single value of each field, and then the vertices as bits or as a list. A superstep has one exchange.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cluster.cluster_passes import ClusterPasses
from vlang.runtime.cluster.local_graph import RECEIVERS
from vlang.runtime.cluster.messages import Picks
from vlang.runtime.cluster.transports.transport import Buffer
from vlang.runtime.compile.objects import address_of
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
_HEAD = len(_SUMMED)


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
        self._one, self._where = np.zeros(1, np.int64), f"frontier of {stage.name}"
        self._fields = [passes.state.arrays[f"field:{name}"] for name in stage.written]
        self._widths = [len(array) // max(1, self._numbers.n) for array in self._fields]
        self._places = self._places_of_values()
        places = [-(-picks.count // 64) for picks in self._picks]
        self._messages = [empty(self._places[-1] + 1 + count, np.uint64) for count in places]
        self._bits, self._head = np.empty(max(places), np.uint64), np.zeros(self._places[-1], np.uint64)
        # Addresses of arrays that stay, as kernels take an array in ten times the time of a number.
        self._sends = [(address_of(picks.bits), address_of(picks.before), len(picks.bits), picks.count,
                        address_of(self._bits), address_of(message), self._places[-1])
                       for picks, message in zip(self._picks, self._messages)]
        self._reads = tuple(map(address_of, (self._long, self._out.offsets, self._room.longs)))
        self._away_at = address_of(self._away)

    def _places_of_values(self) -> list[int]:
        """Return, for the value of each field, its first word in a message; and the first word behind all values."""
        sizes = [-(-width * array.itemsize // 8) for width, array in zip(self._widths, self._fields)]
        return [_HEAD + sum(sizes[:i]) for i in range(len(sizes) + 1)]

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
        first, last = self._first // 64, -(-self._numbers.high // 64)
        self._launch("start", last - first, last - first, first)
        front = self._room.bits[0]
        for bits in (front, self._room.bits[2]):  # other ranks look for the rest of the unreached vertices
            _clear_outside(bits, *self._rank.vertices)
        places = empty(int(self._counts[REACH_ACTIVE]), np.uint32)
        places = places[: mirror_kernels()["listed"](front, self._words, places)]
        self._counts[:] = 0
        self._counts[REACH_ACTIVE] = len(places)
        if len(places):
            self._counts[REACH_ONE] = places[0]
        self._counts[REACH_CUT] = mirror_kernels()["cut_rows"](
            places, len(places), self._out.offsets, self._room.longs)
        self._found()

    def _counted(self) -> NDArray[np.int64]:
        """Send the owned vertices of the frontier to their mirrors; returns the counts, summed over all ranks."""
        transport, front, kernels = self._rank.transport, self._room.bits[0], paged_frontier_kernels()
        words = address_of(front)
        self._counts[REACH_EDGES] = kernels["edges_of"](words + self._first // 8, len(self._away), self._away_at)
        active, head = self._counts.item(REACH_ACTIVE) > 0, self._head
        head[:_HEAD] = self._counts[_SUMMED]
        if active:
            for inside, value in self._values(head, self._counts.item(REACH_ONE)):
                inside[:] = value
        buffers: list[Buffer] = [head[:_HEAD].view(np.uint8)] * transport.size
        for rank, message in enumerate(self._messages if active else ()):
            if rank != transport.rank:
                message[: len(head)] = head
                size = mirror_kernels()["front_message"](words + 8 * self._picks[rank].first, *self._sends[rank])
                buffers[rank] = message[: len(head) + size].view(np.uint8)
        totals = head[:_HEAD].astype(np.int64)
        for rank, buffer in enumerate(transport.exchange(buffers, self._where)):
            if rank != transport.rank:
                message = buffer.view(np.uint64)
                totals += message[:_HEAD].view(np.int64)
                if len(message) > _HEAD:
                    self._read(message, rank)
        found = np.zeros_like(self._counts)
        found[_SUMMED] = totals
        return found

    def _read(self, message: NDArray[np.uint64], rank: int) -> None:
        """Add the mirrors that the message of a rank names to the frontier."""
        (first, last), one = self._numbers.mirrors_of(rank), self._one
        one[0] = -1
        self._counts[REACH_CUT] = mirror_kernels()["front_read"](
            message, len(self._head), first, last - first, self._room.bits[0], *self._reads,
            self._counts.item(REACH_CUT), one)
        if not self._counts[REACH_ACTIVE] and one[0] >= 0:  # a mirror sends, and no value of another mirror is read
            self._counts[REACH_ONE] = one[0]
            for inside, value in self._values(message, one.item()):
                value[:] = inside

    def _values(self, message: NDArray[np.uint64], v: int) -> Iterator[tuple[Buffer, Buffer]]:
        """Yield, for each field that the pass writes, the bytes of its value in a message and at a vertex."""
        for array, width, first in zip(self._fields, self._widths, self._places):
            value = array[v * width : (v + 1) * width].view(np.uint8)
            yield message[first:].view(np.uint8)[: len(value)], value

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
