"""Loops of one pass that pushes, on the CPU: a superstep goes along the edges of the active vertices only.

What a frontier is stands with the WALK_... words of vlang.runtime.kernelset. A superstep ends in the state, and counts
what a pull of all vertices counts, whatever the threads: it reads one buffer of the field and joins into the other, in
which the vertices of the frontier are brought up to date before. A loop with a uniform frontier (rule X2) needs one
buffer only, and vertices that nobody has reached may look for the frontier instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.devices.objects import Kernel
from vlang.runtime.graph.adjacency import Adjacency
from vlang.runtime.kernels import queue_kernels
from vlang.runtime.kernelset import (
    PAGE_COLUMNS,
    PAGE_OFFSETS,
    PAGE_TARGETS,
    WALK_BITS,
    WALK_COMING,
    WALK_COUNTS,
    WALK_EDGES,
    WALK_FIELD,
    WALK_FOUND,
    WALK_NEXT,
    WALK_ORIGIN,
    WALK_PULL,
    WALK_QUEUE,
    WALK_RECORDS,
    WALK_RESERVED,
    WALK_VERTICES,
    WALK_WORDS,
    LoopSpec,
    StageSpec,
)
from vlang.runtime.machine import Done, Stats
from vlang.runtime.passes import Passes
from vlang.runtime.state import DTYPES

__all__ = ["PushLoop", "push_stage"]

_AGAINST = {"in": "out", "out": "in", "both": "both"}
_ALPHA, _BETA = 14, 24  # Beamer, Asanovic, Patterson (SC'12)
_FULL = 0.75  # what an edge of a full pass costs, an edge along which a vertex pushes being 1
_FROM_START, _FROM_BITS = 0, 1
_RUN = 64  # entries of a queue in a task, at most
_RUNS = 64  # tasks of a launch over a queue for each thread, about
_WIDE = 4096  # vertices in a task over all of them
_WORDS = 32  # words of a bitmap in a task
_ROWS = 4096  # supersteps of one call at most: a run can be interrupted between two
_SMALL = 1 << 14  # edges of a frontier that one worker pushes along sooner than the others are awake


def push_stage(spec: LoopSpec) -> StageSpec | None:
    """The pass of a loop that this module can run: the only step, which may push."""
    if len(spec.steps) != 1 or not isinstance(spec.steps[0], StageSpec) or spec.starts or spec.tolds:
        return None
    stage = spec.steps[0]
    return stage if "push" in stage.kernels and stage.loop_end and spec.until is None else None


@dataclass
class _Frontier:
    """Who is active. entries: of the queue; active: vertices; edges: along which they push. queued, marked: whether the
    queue and the bitmap hold them."""

    entries: int = 0
    active: int = 0
    edges: int = 0
    queued: bool = True
    marked: bool = False


class PushLoop:
    """A loop whose only pass may push (see `push_stage`); a `vlang.runtime.machine.Loop`.

    other: supersteps may be full passes, or vertices not reached may look for the frontier, where that is cheaper;
    blocking: as in Options. heard: bytes of vertices whose bit 0 says that they are active at the start; None: all are.
    Memory: 8 bytes a vertex for each of two queues.
    """

    def __init__(
        self, spec: LoopSpec, passes: Passes, blocking: str, expected: int | None, other: bool,
        heard: NDArray[np.uint8] | None = None,
    ) -> None:
        stage = spec.steps[0]
        assert isinstance(stage, StageSpec)
        assert stage.domain is not None
        self._stage, self._passes, self._state = stage, passes, passes.state
        self._blocking, self._expected, self._other = blocking, expected, other
        self._heard = heard
        (self._field,) = stage.swaps
        self._uniform = "early" in stage.kernels
        n = passes.graph.n
        names = tuple(name for name, _ in stage.columns)
        self._out = passes.graph.adjacency(_AGAINST[stage.domain], names)
        room = n + len(self._out) // WALK_EDGES + (passes.cpu.threads + 1) * WALK_RESERVED
        self._queues = [np.empty(room, np.uint64), np.empty(room, np.uint64)]
        self._bits = [np.zeros(-(-n // 64), np.uint64) for _ in range(1 + self._uniform)]
        self._counts, self._runs = np.zeros(3, np.int64), np.zeros(2, np.int64)
        self._table = np.zeros(WALK_WORDS, np.uint64)
        self._row(0, self._out)
        if self._uniform:
            self._row(WALK_PULL, passes.graph.adjacency(stage.domain, names))
        self._table[WALK_VERTICES] = n
        self._table[WALK_COUNTS] = self._counts.ctypes.data
        self._kept = self._state.arrays[f"next:{self._field}"]
        if self._uniform:
            self._state.put(f"next:{self._field}", self._state.arrays[f"field:{self._field}"])
        else:
            np.copyto(self._kept, self._state.arrays[f"field:{self._field}"])
        self._records = np.zeros((_ROWS, 2), np.int64)
        self._table[WALK_RECORDS] = self._records.ctypes.data
        slots = self._state.plan.slots
        self._table[WALK_FIELD] = slots[f"field:{self._field}"]
        self._table[WALK_NEXT] = slots[f"{'field' if self._uniform else 'next'}:{self._field}"]
        turns = len(self._out) // 2 if not self._uniform else n // _ALPHA  # before which no frontier changes direction
        self._few = min(_SMALL, turns) if other else _SMALL
        self._frontier = _Frontier()
        self._unreached = len(self._out)  # edges of vertices not reached yet
        self._looking = False
        self._rounds = 0
        self._last = Done(0, "push", 0)

    def _row(self, at: int, adjacency: Adjacency) -> None:
        """The words of a whole adjacency."""
        self._table[at + PAGE_OFFSETS] = adjacency.offsets.ctypes.data
        self._table[at + PAGE_TARGETS] = adjacency.targets.ctypes.data
        for number, (name, dtype) in enumerate(self._stage.columns):
            self._table[at + PAGE_COLUMNS + number] = adjacency.column(name, DTYPES[dtype]).ctypes.data

    @property
    def stats(self) -> Stats:
        """What the last superstep counted: a vertex that changes is active."""
        return Stats(self._last.active, self._last.active)

    def last(self) -> Done:
        """The last superstep."""
        return self._last

    def close(self) -> None:
        """Give the field its second buffer back."""
        if self._uniform:
            self._state.put(f"next:{self._field}", self._kept)

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep, or many with few active vertices."""
        if self._rounds == 0:
            self._begin(_FROM_START if self._heard is None else self._heard.ctypes.data)
            self._unreached -= self._frontier.edges
        if self._uniform and self._other and self._should_look():
            self._last = self._look()
        elif not self._uniform and self._other and self._should_pull():
            self._last = self._full()
        elif self._frontier.queued and self._frontier.edges + self._frontier.active < self._few:
            return self._many(room)
        else:
            self._last = self._push()
        self._rounds += 1
        return (self._last,)

    # ------------------------------------------------------------------------------------------------ which way
    def _should_look(self) -> bool:
        """Whether vertices not reached look for the frontier: the published rule, and who they are must be asked of all
        vertices."""
        now, n = self._frontier, self._passes.graph.n
        if self._looking:
            self._looking = now.active * _BETA > n
        else:
            self._looking = now.edges * _ALPHA > max(self._unreached, n)
        return self._looking

    def _should_pull(self) -> bool:
        return self._stage.notify is not None and self._frontier.edges > _FULL * len(self._out)

    # ------------------------------------------------------------------------------------------------ supersteps
    def _push(self) -> Done:
        """The vertices of the queue push; those that this changes are the next frontier."""
        now = self._frontier
        if not now.queued:
            self._begin(_FROM_BITS)
            now = self._frontier
        if not self._uniform:
            self._catch_up()
        self._sparse("push", now.entries, self._run(now.entries), now.edges + now.active)
        edges = now.edges
        self._found()
        if not self._uniform:
            self._state.swap(self._field)
        return Done(self._frontier.active, "push", edges)

    def _many(self, room: int | None) -> list[Done]:
        """Supersteps in one call, by one worker, as long as they are small and the direction stays."""
        state, table = self._state, self._table
        table[WALK_QUEUE], table[WALK_FOUND] = (queue.ctypes.data for queue in self._queues)
        table[WALK_BITS] = self._bits[0].ctypes.data
        tasks = np.array([self._frontier.entries, min(_ROWS, room or _ROWS), self._few, 0, 0, 0, 0], np.int64)
        self._passes.kernels[self._stage.kernels["few"]](state.frame, tasks, 1, self._counts, table)
        ran, entries, active, edges = tasks[3:].tolist()
        rows = [Done(after, "push", along) for after, along in self._records[:ran].tolist()]
        if ran % 2:
            self._queues.reverse()
            if not self._uniform:
                state.swap(self._field)
        self._unreached -= edges + sum(row.edges for row in rows[1:])
        self._frontier = _Frontier(entries, active, edges)
        self._rounds += ran
        self._last = rows[-1]
        return rows

    def _look(self) -> Done:
        """Vertices that nobody has reached look for the frontier."""
        now, words = self._frontier, len(self._bits[0])
        if not now.marked:
            self._bits[0][:] = 0
            queue = self._queues[0]
            self._launch(queue_kernels()["mark_entries"], queue, now.entries, _RUN, now.active, (self._bits[0],))
        self._table[WALK_COMING] = self._bits[1].ctypes.data
        self._sparse("early", words, _WORDS, self._unreached + self._passes.graph.n)
        self._bits.reverse()
        looked, active, edges = self._counts.tolist()
        self._frontier = _Frontier(0, active, edges, queued=False, marked=True)
        self._unreached -= edges
        return Done(active, "early-exit pull", looked)

    def _full(self) -> Done:
        """A pass over all vertices; those that it changes are the next frontier."""
        stage, passes = self._stage, self._passes
        passes.use_blocks(stage, self._blocking, None if self._expected is None else self._expected - self._rounds)
        stats, edges = passes.full(stage)
        self._state.swap(self._field)
        self._bits[0][:] = 0
        flags = self._state.arrays[f"work:heard.{stage.name}"]
        self._begin(flags.ctypes.data)
        return Done(stats.active, "pull", edges)

    # ------------------------------------------------------------------------------------------------ launches
    def _begin(self, origin: int) -> None:
        """A queue from the start of the loop, from the bitmap or from flags."""
        n = self._passes.graph.n
        self._table[WALK_ORIGIN] = origin
        self._sparse("begin", n, _WIDE, n)
        entries, active, edges = self._counts.tolist()
        self._queues.reverse()
        self._frontier = _Frontier(entries, active, edges)

    def _found(self) -> None:
        """What a push found is the frontier."""
        entries, active, edges = self._counts.tolist()
        self._queues.reverse()
        self._frontier = _Frontier(entries, active, edges)
        self._unreached -= edges

    def _catch_up(self) -> None:
        """Both buffers are equal at the start of a superstep but for the frontier, whose bits are set."""
        now, new = (self._state.arrays[f"{kind}:{self._field}"] for kind in ("field", "next"))
        bits = 8 * now.itemsize
        queue, entries = self._queues[0], self._frontier.entries
        self._launch(queue_kernels()[f"catch_up_{bits}"], queue, entries, _RUN * 16, entries,
                     (self._bits[0], now.view(f"uint{bits}"), new.view(f"uint{bits}")))

    def _sparse(self, role: str, entries: int, run: int, cost: int) -> None:
        """A kernel of the stage over a queue, over vertices or over words of a bitmap, `run` of them a task."""
        table = self._table
        self._counts[:] = 0
        table[WALK_QUEUE], table[WALK_FOUND] = (queue.ctypes.data for queue in self._queues)
        table[WALK_BITS] = self._bits[0].ctypes.data
        kernel = self._passes.kernels[self._stage.kernels[role]]
        self._launch(kernel, self._state.frame, entries, run, cost, (table,))

    def _launch(
        self, kernel: Kernel, first: NDArray[np.uint64], entries: int, run: int, cost: int, after: tuple[Any, ...]
    ) -> None:
        self._runs[:] = run, entries
        self._passes.cpu.launch(kernel, (first,), self._runs, -(-entries // run), cost, after)

    def _run(self, entries: int) -> int:
        """The entries of a task."""
        return max(1, min(_RUN, entries // (_RUNS * self._passes.cpu.threads)))
