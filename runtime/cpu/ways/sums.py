"""Pushed sums, for loops in delta form: supersteps that traverse only the out-edges of vertices with a delta to send.

One worker adds contributions to the accumulators of the receivers, sender by sender in increasing order, which is also
the order within every row. After all senders, the receivers run `apply`. Therefore the state after a superstep is
bit-identical to the state after a full pull. Vertices that receive nothing cost no time. While the frontier is narrow,
one call runs many supersteps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.records import dataclass
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

_ALL = 1 << 62  # no limit for the edges of a frontier
_CHUNK = 1 << 20  # about the maximum number of edges in a call; a run can be interrupted only between calls


class Sums(Supersteps):
    """Runs loops in delta form. A superstep pushes sums if few vertices changed; otherwise it runs as in `Supersteps`.
    """

    name = "sums"
    modes = ("push",)

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """The reason why the loop cannot push sums; "" if it may."""
        away = on_disk(graph, "their pages arrive in any order, while sums keep that of the senders")
        return away or asked_otherwise(options) or (
            "" if sum_stage(loop) else "its only step is no pass that adds up changes")

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of the kernels for full passes and for pushed sums."""
        return super().roles(loop, stage, options) | {"sums"}

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """The directions that `Supersteps` reads, and the direction of the edges along which changes are sent."""
        stage = sum_stage(loop)
        return (*super().directions(loop), *(pushed_directions(loop) if stage is not None else ()))

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """The memory of `Supersteps`, plus 6 bytes per vertex for a queue and for marks of vertices and groups."""
        return super().memory(loop, shape, threads) + 6 * shape.n

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Superstep:
        """Begin the loop."""
        stage = sum_stage(loop)
        assert stage is not None
        pushes = SumPushes(loop, stage, machine.passes, machine.options.mode == "push")
        return self.supersteps(loop, machine, bound, start, pushes)

    def said(self, loop: LoopSpec) -> list[str]:
        """A line that says how sums are pushed."""
        stage = sum_stage(loop)
        if stage is None:
            return []
        how = "" if _spec(stage).exact else ", in the order in which the receiver would gather them"
        return [f"pushes: sums, added up beside the receivers{how}"]


def sum_stage(loop: LoopSpec) -> StageSpec | None:
    """The only step of a loop if the step is a pass that may push sums; otherwise None."""
    stage = loop.steps[0] if len(loop.steps) == 1 else None
    return stage if isinstance(stage, StageSpec) and "sums" in stage.ways else None


def _spec(stage: StageSpec) -> SumSpec:
    spec = stage.way("sums", SumSpec)
    assert spec is not None
    return spec


def _long_edges(pages: PageCuts) -> int:
    """The number of edges in segments, which are the rows of the long vertices."""
    return int((pages.segments[:, 2] - pages.segments[:, 1]).sum())


@dataclass(frozen=True)
class _Queue:
    """The queue of vertices with a delta to send or to retract.

    Attributes:
        known: whether a push has built the queue; otherwise it must be built from flags.
        entries: the number of vertices in the queue.
        edges: the number of edges of the vertices in the queue.
    """

    known: bool = False
    entries: int = 0
    edges: int = 0


@dataclass(frozen=True)
class _Room:
    """The arrays that the words SUM_QUEUE, SUM_MARKS and SUM_TOPS of the table point to."""

    queue: NDArray[np.uint32]
    marks: NDArray[np.uint64]
    tops: NDArray[np.uint64]


class SumPushes:
    """Runs the supersteps of a loop that push sums.

    Pushes need 5 bytes of memory per vertex, and the accumulators of the pass.

    Attributes:
        legal: whether supersteps may push.
        instead: whether a push always replaces notify-pull. Notify-pull would be no faster: a single worker would build
            the lists of receivers, and the receivers have at least as many edges as the senders.

    Args:
        spec: the loop.
        stage: the only pass of the loop.
        passes: launches the pass.
        always: whether to push even if a full pass is cheaper.
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
        # In rows of both directions an edge and its reverse are in one order at one end, and in the opposite order at
        # the other end. So a push would add floats in another order than a pull.
        self.legal = self._sums.exact or not (both and stage.columns)
        self.instead = self.legal and passes.costs is not None
        self._long = 0 if self._sums.exact else _long_edges(passes.pages_of(stage.domain))
        most = most_summed(passes.costs, passes.cpu.threads, graph.n, graph.m * (1 + both)) - self._long
        self._most = _ALL if always else most

    def pays(self, active: int) -> bool:
        """Return whether a push is cheaper in the next superstep, which has `active` active vertices."""
        if self._queue.known:
            return self._queue.entries + self._queue.edges <= self._most
        return active + self._passes.reached(self._notify, self._against) <= self._most

    def forget(self) -> None:
        """Drop the queue, because a superstep ran in another mode."""
        self._queue = _Queue()

    def advance(self, in_row: int) -> tuple[Sequence[Done], Stats]:
        """Run one to `in_row` supersteps; returns their records, and the counts of the last one."""
        state, passes = self._passes.state, self._passes
        passes.ahead.clear()
        table = self._table  # before the queue, as adjacencies are built with little else in memory
        if not self._queue.known:
            self._queue = _Queue(True, self._listed())
        tasks = np.array([self._queue.entries, in_row, min(self._most, _CHUNK), 0, 0, 0, 0, 0], np.int64)
        records = np.zeros((in_row, 2), np.int64)
        table[SUM_RECORDS] = address_of(records)
        seconds = {name: state.arrays[f"next:{name}"] for name in self._stage.swaps}
        for name in seconds:  # between supersteps no pass reads the second buffers, as neighbours read messages
            state.put(f"next:{name}", state.arrays[f"field:{name}"])
        passes.kernels[self._stage.kernels["sums"]](state.frame, tasks, 1, self._alone, table)
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
        """Write the flagged vertices to the queue, and clear their flags; returns their number."""
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
        table, graph = np.zeros(SUM_WORDS, np.uint64), self._passes.graph
        names = tuple(name for name, _ in self._stage.columns)
        for at, kind in ((0, self._against), (SUM_PULL, self._domain)):
            adjacency = graph.adjacency(kind, names)
            table[at + PAGE_OFFSETS] = address_of(adjacency.offsets)
            table[at + PAGE_TARGETS] = address_of(adjacency.targets)
            for number, (name, dtype) in enumerate(self._stage.columns):
                table[at + PAGE_COLUMNS + number] = address_of(adjacency.column(name, DTYPES[dtype]))
        room = self._room
        for word, array in ((SUM_QUEUE, room.queue), (SUM_NOTIFY, self._notify), (SUM_MARKS, room.marks),
                            (SUM_ACTIVE, self._passes.state.arrays[self._active]), (SUM_TOPS, room.tops)):
            table[word] = address_of(array)
        table[SUM_TOP_COUNT], table[SUM_QUIET], table[SUM_LONG] = len(room.tops), self._sums.quiet, self._long > 0
        return table
