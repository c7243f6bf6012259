"""Runs loops with a single pass that pushes on the CPU. A superstep traverses only the edges of active vertices.

The WALK_... layout (vlang.runtime.plan.layouts.pass_words) describes a frontier. A superstep reads the fields and
combines contributions in separate words. At the end of a superstep, the words of the changed vertices are copied to the
fields. Therefore the state and the counts after a superstep are the same as after a full pull, for any number of
threads. Loops with a uniform frontier are in vlang.runtime.cpu.ways.reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.records import dataclass
from vlang.runtime.compile.objects import Kernel, address_of
from vlang.runtime.cpu.paged.source import Streamed
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.mode import should_pull
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.cpu_way import Beside, CpuWay, Running, asked_otherwise, only_new
from vlang.runtime.cpu.ways.frontier_loop import FrontierLoop
from vlang.runtime.cpu.ways.joined_words import open_words, push_spec
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.engine.trace import Done, Series
from vlang.runtime.graph.edges.shape import Counts, Shape
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.kernels import queue_kernels
from vlang.runtime.plan.layouts.pass_words import (
    WALK_BITS,
    WALK_COUNTS,
    WALK_EDGES,
    WALK_FOUND,
    WALK_NOBODY,
    WALK_ORIGIN,
    WALK_QUEUE,
    WALK_RECORDS,
    WALK_RESERVED,
    WALK_WORDS,
)
from vlang.runtime.plan.plan import PAGE_COLUMNS, PAGE_OFFSETS, PAGE_TARGETS, LoopSpec, Plan, PushSpec, StageSpec
from vlang.runtime.storage.memory import empty, zeros
from vlang.types import OPPOSITE

__all__ = ["Push", "PushLoop", "push_stage", "pushed_directions", "pushes_refused"]

_FROM_START = 0
_RUN = 64  # maximum number of queue entries in a task
_RUNS = 64  # about the number of tasks per thread in a launch over a queue
_WIDE = 4096  # vertices per task in a launch over all vertices
_ROWS = 4096  # maximum number of supersteps in a call; a run can be interrupted only between calls
_SMALL = 1 << 14  # edges of a frontier that one worker processes in less time than waking the others takes


def push_stage(spec: LoopSpec) -> StageSpec | None:
    """The only step of a loop if it is a pass that may push, so that this module can run the loop; otherwise None."""
    if len(spec.steps) != 1 or not isinstance(spec.steps[0], StageSpec) or spec.starts or spec.sent:
        return None
    stage = spec.steps[0]
    pushes = "push" in stage.ways or "reach" in stage.ways
    return stage if pushes and stage.loop_end and spec.until is None else None


def pushed_directions(loop: LoopSpec) -> tuple[str, ...]:
    """The adjacency directions along which the passes of a loop push: the opposites of their gather directions.
    """
    return tuple(OPPOSITE[stage.domain] for stage in loop.stages if stage.domain is not None)


def pushes_refused(loop: LoopSpec, options: Options) -> str:
    """The reason why the active vertices of a loop cannot push; "" if they can."""
    if options.asynchronous and loop.asynchronous:
        return "updates in place were asked for"
    return asked_otherwise(options) or ("" if push_stage(loop) else "its only step is no pass that pushes")


class Push(CpuWay):
    """Runs loops whose only pass may push the contributions of active vertices (rule P)."""

    name = "push"
    modes = ("push",)

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """The reason why the loop cannot run this way; "" if it may."""
        return pushes_refused(loop, options) or (
            "" if "push" in loop.stages[0].ways else "its frontier is uniform")

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of the kernels that push.

        The roles for full passes are omitted, because a run may need no full pass.
        """
        return frozenset({"push", "begin", "few"})

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """The directions of full passes, and the directions of the edges along which active vertices push."""
        return (*super().directions(loop), *pushed_directions(loop))

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """The bytes that the loop needs. If the edges are in memory, the loop needs two queues and a bit per vertex; if
        they are on disk, it needs bitmaps.
        """
        if shape.streamed:
            return 4 * shape.n // 8
        return 16 * (shape.n + shape.m // WALK_EDGES + (threads + 1) * WALK_RESERVED) + shape.n // 8

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None if vertices must run without new input."""
        if not only_new(start):
            return None
        passes, options = machine.passes, machine.options
        start_flags = None if start is None else start.flags
        if isinstance(passes.source, Streamed):
            from vlang.runtime.cpu.ways.paged_push import PagedPushLoop  # start-up

            return PagedPushLoop(loop.stages[0], passes, options.mode == "auto", start_flags,
                                 passes.freedoms.of(loop, bound))
        return PushLoop(loop, passes, options.blocking, bound, options.mode == "auto", start_flags,
                        passes.freedoms.of(loop, bound))

    def said(self, loop: LoopSpec) -> list[str]:
        """Lines that say where contributions are combined, or why the loop cannot push; [] for other loops."""
        stages = [] if loop.nested else [stage for stage in loop.stages if stage.domain is not None]
        if any("reach" in stage.ways or "sums" in stage.ways for stage in stages):
            return []
        spec = stages[0].way("push", PushSpec) if len(stages) == 1 else None
        if spec is None:
            said = [stage.refused.get("sums") or stage.refused.get("push") for stage in stages]
            reasons = dict.fromkeys(reason for reason in said if reason)
            return [f"pushes: no ({'; '.join(reasons)})"] if reasons else []
        fields = " and ".join(part.field for part in spec.parts)
        where = f"the second buffer of {fields}" if spec.slot.startswith("next:") else \
            f"words beside the fields, which hold {fields}"
        return [f"pushes: into {where}"]

    def beside(self, loop: LoopSpec, plan: Plan, options: Options) -> Sequence[Beside]:
        """The kernels that update fields after a superstep. The kernels that update fields are loaded when they are
        first needed.
        """
        stage = push_stage(loop)
        return () if stage is None or "push" not in stage.ways else [Beside(queue_kernels(), ())]


@dataclass
class _Frontier:
    """The size of a frontier: entries of the queue, active vertices, and edges along which the vertices push."""

    entries: int = 0
    active: int = 0
    edges: int = 0


class PushLoop(FrontierLoop):
    """A loop whose only pass may push (see `push_stage`); a `vlang.runtime.engine.machine.Loop`.

    The loop needs 8 bytes of memory per vertex for each of two queues.

    Args:
        spec: the loop.
        passes: launches the pass.
        blocking: as in Options.
        expected: the total number of supersteps if the program or the caller states it; otherwise None.
        other: whether supersteps may be full passes if a full pass is cheaper.
        start_flags: uint8[n], bit 0 is set for vertices that are active at the start; None for a loop that begins anew.
        free: the choices of the loop.
    """

    def __init__(
        self, spec: LoopSpec, passes: Passes, blocking: str, expected: int | None, other: bool,
        start_flags: NDArray[np.uint8] | None, free: Freedoms,
    ) -> None:
        stage = spec.steps[0]
        assert isinstance(stage, StageSpec)
        assert stage.domain is not None
        self._stage, self._passes, self._state = stage, passes, passes.state
        self._blocking, self._expected, self._other = blocking, expected, other
        self._start_flags, self._free = start_flags, free
        self._push_spec = push_spec(stage)
        n = passes.graph.n
        names = tuple(name for name, _ in stage.columns)
        self._out = passes.graph.adjacency(OPPOSITE[stage.domain], names)
        room = n + len(self._out) // WALK_EDGES + (passes.cpu.threads + 1) * WALK_RESERVED
        self._queues = [empty(room, np.uint64), empty(room, np.uint64)]
        self._bits = zeros(-(-n // 64), np.uint64)
        self._counts, self._runs = np.zeros(3, np.int64), np.zeros(2, np.int64)
        self._table = np.zeros(WALK_WORDS, np.uint64)
        self._row(self._out)
        self._table[WALK_COUNTS] = address_of(self._counts)
        open_words(self._state, self._push_spec)
        self._records = np.zeros((_ROWS, 2), np.int64)
        self._table[WALK_RECORDS] = address_of(self._records)
        self._few = min(_SMALL, len(self._out) // 2) if other else _SMALL
        self._frontier = _Frontier()
        self._rounds = 0

    def _row(self, adjacency: Adjacency) -> None:
        """Write the addresses of a whole adjacency to the table, as if the adjacency were one page."""
        self._table[PAGE_OFFSETS] = address_of(adjacency.offsets)
        self._table[PAGE_TARGETS] = address_of(adjacency.targets)
        for number, (name, dtype) in enumerate(self._stage.columns):
            self._table[PAGE_COLUMNS + number] = address_of(adjacency.column(name, DTYPES[dtype]))

    def sync(self) -> NDArray[np.uint8]:
        """The frontier as flags, uint8[n]. The fields are up to date between supersteps."""
        flags = np.zeros(self._passes.graph.n, np.uint8)
        flags[(self.entries() & np.uint64(0xFFFFFFFF)).astype(np.int64)] = 1
        return flags

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep, or several in one call if few vertices are active."""
        if self._rounds == 0:
            self._start()
        if self._other and self._should_pull():
            self._last = self._full()
        elif self._frontier.edges + self._frontier.active < self._few and self._free.many():
            return self._many(room)
        else:
            self._last = self._push()
        self._rounds += 1
        return (self._last,)

    # ------------------------------------------------------------------------------------------------ which way
    def _should_pull(self) -> bool:
        now, edges = self._frontier, len(self._out)
        return self._stage.notify is not None and \
            self._free.choose("", lambda: should_pull(self._passes.costs, now.active, now.edges, edges))

    # ------------------------------------------------------------------------------------------- the frontier
    @property
    def rounds(self) -> int:
        """The number of supersteps so far."""
        return self._rounds

    @property
    def vertices(self) -> int:
        """The number of vertices of the graph."""
        return self._passes.graph.n

    def entries(self) -> NDArray[np.uint64]:
        """The distinct entries of the queue in increasing order, uint64."""
        entries = self._queues[0][: self._frontier.entries]
        return np.unique(entries[entries != np.uint64(WALK_NOBODY)])

    def entries_of(self, vertices: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The entries for some vertices. Vertices with too many edges for one entry are omitted."""
        return vertices[self._degrees(vertices) <= WALK_EDGES].astype(np.uint64)

    def put(self, entries: NDArray[np.uint64]) -> None:
        """Replace the frontier by `entries`. Entries beyond the capacity of the queue are dropped."""
        entries = entries[: len(self._queues[0])]
        self._queues[0][: len(entries)] = entries
        vertices = np.unique(entries & np.uint64(0xFFFFFFFF)).astype(np.int64)
        self._frontier = _Frontier(len(entries), len(vertices), int(self._degrees(vertices).sum()))

    def _degrees(self, vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        offsets = self._out.offsets.view(np.int64)
        return offsets[vertices + 1] - offsets[vertices]

    # ------------------------------------------------------------------------------------------------ supersteps
    def _start(self) -> None:
        """Build the first frontier: given vertices, vertices with a contribution that is not the identity (Z), or all.
        """
        if self._start_flags is not None:
            self._begin(address_of(self._start_flags))
        elif self._free.choose("Z", lambda: True):
            self._begin(_FROM_START)
        else:
            every = np.ones(self._passes.graph.n, np.uint8)
            self._begin(address_of(every))

    def _push(self) -> Done:
        """Push from the vertices in the queue; the vertices that change become the next frontier."""
        self._free.before_push(self)
        now = self._frontier
        self._sparse("push", now.entries, self._run(now.entries), now.edges + now.active)
        edges = now.edges
        self._found()
        self._free.after_push(self)
        return Done(self._frontier.active, "push", edges)

    def _many(self, room: int | None) -> Series:
        """Let one worker run several supersteps in one call while the frontier is small and a push is cheaper."""
        state, table = self._state, self._table
        table[WALK_QUEUE], table[WALK_FOUND] = (address_of(queue) for queue in self._queues)
        table[WALK_BITS] = address_of(self._bits)
        tasks = np.array([self._frontier.entries, min(_ROWS, room or _ROWS), self._few, 0, 0, 0, 0], np.int64)
        self._passes.kernels[self._stage.kernels["few"]](state.frame, tasks, 1, self._counts, table)
        ran, entries, active, edges = tasks[3:].tolist()
        rows = Series("push", self._records[:ran])
        if ran % 2:
            self._queues.reverse()
        self._frontier = _Frontier(entries, active, edges)
        self._rounds += ran
        self._last = rows[-1]
        return rows

    def _full(self) -> Done:
        """Run a full pass; the vertices that change become the next frontier."""
        stage, passes = self._stage, self._passes
        passes.use_blocks(stage, self._blocking, None if self._expected is None else self._expected - self._rounds)
        stats, edges = passes.full(stage)
        for name in stage.swaps:
            self._state.swap(name)
        open_words(self._state, self._push_spec)
        self._bits[:] = 0
        flags = self._state.arrays[f"work:notify.{stage.name}"]
        self._begin(address_of(flags))
        return Done(stats.active, "pull", edges)

    # ------------------------------------------------------------------------------------------------ launches
    def _begin(self, origin: int) -> None:
        """Build the queue from the flags at address `origin`, or for the start of the loop if `origin` is _FROM_START.
        """
        n = self._passes.graph.n
        self._table[WALK_ORIGIN] = origin
        self._sparse("begin", n, _WIDE, n)
        entries, active, edges = self._counts.tolist()
        self._queues.reverse()
        self._frontier = _Frontier(entries, active, edges)

    def _found(self) -> None:
        """Take the vertices that changed in a push as the next frontier."""
        entries, active, edges = self._counts.tolist()
        self._queues.reverse()
        self._frontier = _Frontier(entries, active, edges)
        self._catch_up()

    def _catch_up(self) -> None:
        """Copy the combined values of the vertices in the frontier to the fields, and clear the bits of these vertices.
        """
        queue, entries = self._queues[0], self._frontier.entries
        joined = self._state.arrays[self._push_spec.slot]
        for part in self._push_spec.parts:
            now = self._state.arrays[f"field:{part.field}"]
            unsigned = f"uint{8 * now.itemsize}"
            self._launch(queue_kernels()[f"catch_up_{8 * now.itemsize}"], queue, entries, _RUN * 16, entries,
                         (self._bits, now.view(unsigned), joined.view(unsigned), part.stride, part.first))

    def _sparse(self, role: str, entries: int, run: int, cost: int) -> None:
        """Launch a kernel of the stage over the queue or over all vertices.

        Args:
            role: the role of the kernel.
            entries: the number of queue entries or vertices.
            run: the number of entries or vertices in a task.
            cost: the approximate number of edges and vertices that the launch processes.
        """
        table = self._table
        self._counts[:] = 0
        table[WALK_QUEUE], table[WALK_FOUND] = (address_of(queue) for queue in self._queues)
        table[WALK_BITS] = address_of(self._bits)
        kernel = self._passes.kernels[self._stage.kernels[role]]
        self._launch(kernel, self._state.frame, entries, run, cost, (table,))

    def _launch(
        self, kernel: Kernel, first: NDArray[np.uint64], entries: int, run: int, cost: int, after: tuple[Any, ...]
    ) -> None:
        self._runs[:] = run, entries
        self._passes.cpu.launch(kernel, (first,), self._runs, -(-entries // run), cost, after)

    def _run(self, entries: int) -> int:
        """The number of entries in a task of a launch over `entries` entries."""
        return max(1, min(_RUN, entries // (_RUNS * self._passes.cpu.threads)))
