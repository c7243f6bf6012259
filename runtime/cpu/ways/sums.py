"""Supersteps of loops that add up changes (delta loops), along the out-edges of vertices with a delta to send.

The state after a superstep equals that of a full pull, to the bit: one worker adds contributions to the accumulators
of their receivers, sender by sender in increasing order, which is the order within every row. Then the receivers apply.
Vertices that receive nothing cost no time, and while the frontier is narrow one call runs many supersteps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.passes.mode import most_summed
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.cpu_way import Running, asked_otherwise, on_disk
from vlang.runtime.cpu.ways.push import pushed_directions
from vlang.runtime.cpu.ways.superstep import Superstep, Supersteps
from vlang.runtime.engine.machine import Start, Stats
from vlang.runtime.engine.state import DTYPES, whole_words
from vlang.runtime.engine.trace import Done, Series
from vlang.runtime.graph.edges.shape import Counts, Shape
from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.kernels import frontier_kernels
from vlang.runtime.plan.layouts.sum_words import (
    SUM_ACTIVE,
    SUM_LONG,
    SUM_MARKS,
    SUM_NOTIFY,
    SUM_PULL,
    SUM_QUEUE,
    SUM_QUIET,
    SUM_RECORDS,
    SUM_TOP_COUNT,
    SUM_TOPS,
    SUM_WORDS,
)
from vlang.runtime.plan.plan import PAGE_COLUMNS, PAGE_OFFSETS, PAGE_TARGETS, LoopSpec, StageSpec, SumSpec
from vlang.runtime.storage.memory import empty, zeros

__all__ = ["SumPushes", "Sums", "sum_stage"]

_ALL = 1 << 62  # edges of a frontier: any
_CHUNK = 1 << 20  # edges pushed along in a call, about: a run can be interrupted between two


class Sums(Supersteps):
    """Loops that add up changes: supersteps push sums where few vertices changed, else they run as `Supersteps`."""

    name = "sums"
    modes = ("push",)

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """Why the loop does not push sums; "" if it may."""
        away = on_disk(graph, "their pages arrive in any order, while sums keep that of the senders")
        return away or asked_otherwise(options) or (
            "" if sum_stage(loop) else "its only step is no pass that adds up changes")

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of full passes, and of pushed sums."""
        return super().roles(loop, stage, options) | {"sums"}

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """The edges along which changes are sent."""
        stage = sum_stage(loop)
        return (*super().directions(loop), *(pushed_directions(loop) if stage is not None else ()))

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """What supersteps take, and a queue with marks a vertex and groups of them."""
        return super().memory(loop, shape, threads) + 6 * shape.n

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Superstep:
        """The loop."""
        stage = sum_stage(loop)
        assert stage is not None
        pushes = SumPushes(loop, stage, machine.passes, machine.options.mode == "push")
        return self.supersteps(loop, machine, bound, start, pushes)

    def said(self, loop: LoopSpec) -> list[str]:
        """How sums are pushed."""
        stage = sum_stage(loop)
        if stage is None:
            return []
        how = "" if _spec(stage).exact else ", in the order in which the receiver would gather them"
        return [f"pushes: sums, added up beside the receivers{how}"]


def sum_stage(loop: LoopSpec) -> StageSpec | None:
    """The pass of a loop that may push sums; it must be the only step. None if there is none."""
    stage = loop.steps[0] if len(loop.steps) == 1 else None
    return stage if isinstance(stage, StageSpec) and "sums" in stage.ways else None


def _spec(stage: StageSpec) -> SumSpec:
    spec = stage.way("sums", SumSpec)
    assert spec is not None
    return spec


def _long_edges(pages: PageCuts) -> int:
    """The number of edges along which long vertices gather."""
    return int((pages.segments[:, 2] - pages.segments[:, 1]).sum())


@dataclass(frozen=True)
class _Queue:
    """The queue of vertices with a delta to send or to retract: whether a push has built it, its entries and edges."""

    known: bool = False
    entries: int = 0
    edges: int = 0


@dataclass(frozen=True)
class _Room:
    """The arrays to which QUEUE, MARKS and TOPS of the table point."""

    queue: NDArray[np.uint32]
    marks: NDArray[np.uint64]
    tops: NDArray[np.uint64]


class SumPushes:
    """The supersteps of a loop that push sums.

    Memory: 5 bytes a vertex, and the accumulators of the pass.

    Attributes:
        legal: whether supersteps may push.
        instead: whether pushing replaces notification in all supersteps: one worker would build lists of receivers,
            too, and these have as many edges or more.

    Args:
        spec: the loop.
        stage: its only pass.
        passes: launches it.
        always: push whether that pays or not.
    """

    def __init__(self, spec: LoopSpec, stage: StageSpec, passes: Passes, always: bool) -> None:
        self._alone = np.zeros(1, np.int64)
        assert stage.notify is not None
        assert stage.domain is not None
        self._stage, self._passes, self._sums = stage, passes, _spec(stage)
        self._against, self._domain = stage.notify, stage.domain
        self._active = spec.slot("work", "active")
        self._queue = _Queue()
        graph = passes.graph
        both = stage.domain == "both" and graph.directed
        # In rows of both directions an edge and its opposite have one order at one end and the reverse order at the
        # other, so that sums of floats would be rounded in another order.
        self.legal = self._sums.exact or not (both and stage.columns)
        self.instead = self.legal and passes.costs is not None
        self._long = 0 if self._sums.exact else _long_edges(passes.pages_of(stage.domain))
        most = most_summed(passes.costs, passes.cpu.threads, graph.n, graph.m * (1 + both)) - self._long
        self._most = _ALL if always else most

    def pays(self, active: int) -> bool:
        """Whether pushing is cheaper in the next superstep. active: the number of active vertices."""
        if self._queue.known:
            return self._queue.entries + self._queue.edges <= self._most
        return active + self._passes.reached(self._notify, self._against) <= self._most

    def forget(self) -> None:
        """Drop the queue, since a superstep ran in another way."""
        self._queue = _Queue()

    def advance(self, in_row: int) -> tuple[Sequence[Done], Stats]:
        """Run at least one superstep, and no more than `in_row`; returns them, and the counts of the last."""
        state, passes = self._passes.state, self._passes
        passes.ahead.clear()
        if not self._queue.known:
            self._queue = _Queue(True, self._listed())
        tasks = np.array([self._queue.entries, in_row, min(self._most, _CHUNK), 0, 0, 0, 0, 0], np.int64)
        records = np.zeros((in_row, 2), np.int64)
        self._table[SUM_RECORDS] = address_of(records)
        seconds = {name: state.arrays[f"next:{name}"] for name in self._stage.swaps}
        for name in seconds:  # no pass reads them between two supersteps: neighbours read messages
            state.put(f"next:{name}", state.arrays[f"field:{name}"])
        passes.kernels[self._stage.kernels["sums"]](state.frame, tasks, 1, self._alone, self._table)
        for name, second in seconds.items():
            state.put(f"next:{name}", second)
        ran, entries, edges, changed, active = tasks[3:].tolist()
        self._queue = _Queue(True, entries, edges)
        return Series("push", records[:ran]), Stats(changed, active)

    @property
    def _notify(self) -> NDArray[np.uint8]:
        found: NDArray[np.uint8] = self._passes.state.arrays[f"work:notify.{self._stage.name}"]
        return found

    def _listed(self) -> int:
        """Write the flagged vertices to the queue; returns their number."""
        counts, words, none = np.zeros(2, np.int64), whole_words(self._notify), np.zeros(1, np.int64)
        frontier_kernels()["split_flags"](words, len(words), 1, none, 0, self._room.queue, np.zeros(1, np.uint32),
                                          counts, self._notify)
        return int(counts[0])

    @cached_property
    def _room(self) -> _Room:
        n, state = self._passes.graph.n, self._passes.state
        for spec in state.plan.arrays:
            if spec.slot.startswith(f"{self._sums.slot}."):
                state.put(spec.slot, zeros(n * spec.width, DTYPES[spec.dtype]))
        groups = -(-n // 64)
        return _Room(empty(n, np.uint32), zeros(8 * groups, np.uint64), zeros(-(-groups // 8), np.uint64))

    @cached_property
    def _table(self) -> NDArray[np.uint64]:
        table, room, graph = np.zeros(SUM_WORDS, np.uint64), self._room, self._passes.graph
        names = tuple(name for name, _ in self._stage.columns)
        for at, kind in ((0, self._against), (SUM_PULL, self._domain)):
            adjacency = graph.adjacency(kind, names)
            table[at + PAGE_OFFSETS] = address_of(adjacency.offsets)
            table[at + PAGE_TARGETS] = address_of(adjacency.targets)
            for number, (name, dtype) in enumerate(self._stage.columns):
                table[at + PAGE_COLUMNS + number] = address_of(adjacency.column(name, DTYPES[dtype]))
        for word, array in ((SUM_QUEUE, room.queue), (SUM_NOTIFY, self._notify), (SUM_MARKS, room.marks),
                            (SUM_ACTIVE, self._passes.state.arrays[self._active]), (SUM_TOPS, room.tops)):
            table[word] = address_of(array)
        table[SUM_TOP_COUNT], table[SUM_QUIET], table[SUM_LONG] = len(room.tops), self._sums.quiet, self._long > 0
        return table
