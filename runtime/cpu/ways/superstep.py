"""Loops that run as supersteps of full passes, of passes over notified vertices (notify-pull), or of pushed sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cpu.paged.source import Streamed
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.lists import Lists
from vlang.runtime.cpu.passes.mode import reads_less, should_notify
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.cpu_way import FULL, Beside, CpuWay, Running
from vlang.runtime.engine.cycle import WATCHED_FROM
from vlang.runtime.engine.machine import Done, Start, Stats
from vlang.runtime.engine.state import flags
from vlang.runtime.graph.edges.shape import Counts, Shape
from vlang.runtime.graph.topology.blocks import blocks_bytes
from vlang.runtime.kernels import FIRST_NEEDED, frontier_kernels, paged_frontier_kernels
from vlang.runtime.plan.plan import LoopSpec, Plan, ScalarSpec, StageSpec
from vlang.runtime.storage.ledger import ledger

__all__ = ["Pushes", "Superstep", "Supersteps"]

_LISTED = 28  # maximum bytes per vertex for the list of changed vertices and for tasks over listed vertices


class Supersteps(CpuWay):
    """Supersteps of full passes, or of passes over notified vertices (rule N). Every loop may run this way."""

    name = "supersteps"
    modes: tuple[str, ...] = ("pull", "notify-pull", "dual")

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """Always "", as every loop may run this way."""
        return ""

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of the kernels for full passes."""
        return FULL

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Superstep:
        """Begin the loop."""
        return self.supersteps(loop, machine, bound, start, None)

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """The directions of the passes, and of the edges along which changed vertices notify."""
        return (*super().directions(loop), *(stage.notify for stage in loop.stages if stage.notify is not None))

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """A list of vertices and marks, for each pass that may leave out vertices."""
        return 9 * shape.n * sum(stage.notify is not None for stage in loop.stages)

    def optional(self, loop: LoopSpec, shape: Shape) -> int:
        """Lists of changed vertices, the tasks over lists, and the cache blocks of full passes."""
        lists = _LISTED * shape.n if any(stage.notify is not None for stage in loop.stages) else 0
        blocked = {stage.domain for stage in loop.stages if "blocked" in stage.kernels and stage.domain is not None}
        return lists + sum(blocks_bytes(shape.entries(kind), shape.n) for kind in blocked)

    def supersteps(
        self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None, pushes: Pushes | None
    ) -> Superstep:
        """Begin the loop.

        Args:
            loop, machine, bound, start: see `begin`.
            pushes: runs the supersteps that push; None if no superstep may push.
        """
        options = machine.options
        in_place = options.asynchronous and loop.asynchronous
        begun = self.running(loop, machine.passes, machine.evaluate, options.mode, options.blocking, bound, in_place,
                             pushes, machine.passes.freedoms.of(loop, bound))
        if start is None or not start.placed:
            begun.begin()
        if start is not None:
            begun.go_on(start)
        return begun

    @property
    def running(self) -> type[Superstep]:
        """The class that runs the loop."""
        return Superstep

    def said(self, loop: LoopSpec) -> list[str]:
        """Lines that say which modes supersteps may have, and whether they may run in place."""
        narrow = "notify-pull where at most half of the edges leave changed vertices"
        if any("sums" in stage.ways for stage in loop.stages):
            narrow = ("push where few vertices have changes to send; notify-pull on request, or by the published "
                      "rules")
        modes = f"modes: pull; {narrow}" if loop.skip else "mode: pull"
        in_place = "yes" if loop.asynchronous else "no"
        return [f"{modes} ({loop.skip_reason})", f"in place on request: {in_place} ({loop.asynchronous_reason})"]

    def spared(self, loop: LoopSpec, options: Options) -> frozenset[str]:
        """The kernels of folds and messages whose work is fused into full passes.

        There are none unless all passes are full and not in place.
        """
        if options.asynchronous or (loop.skip and options.mode != "pull"):
            return frozenset()
        return frozenset(kernel for stage in loop.stages if stage.fused for kernel in stage.fused.kernels)

    def beside(self, loop: LoopSpec, plan: Plan, options: Options) -> Sequence[Beside]:
        """The kernels of notification."""
        return [Beside(frontier_kernels(), FIRST_NEEDED)] if loop.skip and options.mode != "pull" else []


class Pushes(Protocol):
    """Runs the supersteps of a loop that push.

    Attributes:
        legal: whether supersteps may push.
        instead: whether a push always replaces notify-pull.
    """

    legal: bool
    instead: bool

    def pays(self, active: int) -> bool:
        """Whether a push is cheaper in the next superstep, which has `active` active vertices."""

    def forget(self) -> None:
        """Drop the queue, because a superstep ran in another way."""

    def advance(self, in_row: int) -> tuple[Sequence[Done], Stats]:
        """Run from one to `in_row` supersteps; returns their records, and the counts of the last one."""


class Superstep:
    """Runs the supersteps of an innermost loop: one per call, or several per call if they push sums.

    Args:
        spec: the loop.
        passes: launches the passes of the loop.
        evaluate: computes a graph-level value.
        mode, blocking: as in Options.
        expected: the total number of supersteps, if the program or the caller gives it; otherwise None.
        in_place: whether passes write to the buffer that they read.
        pushes: runs supersteps that push; None if no superstep may push.
        free: the choices of the loop.

    Attributes:
        stats: the counts of the last superstep.
    """

    def __init__(
        self, spec: LoopSpec, passes: Passes, evaluate: Callable[[ScalarSpec], Any], mode: str, blocking: str,
        expected: int | None, in_place: bool, pushes: Pushes | None, free: Freedoms,
    ) -> None:
        self.stats = Stats()
        self._spec, self._passes, self._state = spec, passes, passes.state
        self._evaluate, self._mode, self._blocking, self._expected = evaluate, mode, blocking, expected
        self._in_place = in_place
        self._done = 0
        self._before = 0  # supersteps of an earlier run that this loop continues
        self._complete = False  # whether the notify flags cover all vertices that must run again
        self._again = False  # whether some vertices must run in the first superstep without new input
        self._part: NDArray[np.int64] | None = None  # the vertices of the superstep, None for all
        self._left_out = 0
        self._last = Done(0, "pull", 0)
        self._second: dict[str, NDArray[Any]] = {}
        self._pushes, self._free = pushes, free
        self._active = active = spec.slot("work", "active")
        self._skipping = {
            stage.name: _Skipping(stage, passes, active if spec.explicit and stage.loop_end else "")
            for stage in spec.stages if stage.notify is not None and mode != "pull"
        }

    def begin(self) -> None:
        """Initialise the state before the first superstep: nothing has been sent, and all vertices are active."""
        for name in self._spec.sent:
            self._state.arrays[self._spec.slot("sent", name)][:] = 0
        if self._active in self._state.arrays:
            self._state.arrays[self._active][:] = 1

    def go_on(self, start: Start) -> None:
        """Initialise the state before the first superstep to continue another run.

        If `start` has flags of the active vertices, the first superstep need not be a full pass.
        """
        self._before = start.rounds
        for name, sent in start.sent.items():
            np.copyto(self._state.arrays[self._spec.slot("sent", name)], sent)
        if start.flags is None:
            return
        active = self._state.arrays.get(self._active)
        if active is not None:
            np.bitwise_and(start.flags, 1, out=active)
        for name in self._skipping:
            self._state.arrays[f"work:notify.{name}"][:] = start.flags
        for stage in self._spec.stages:
            self._passes.send_all(stage)
        self._complete = True
        self._again = bool((start.flags & 2).any())

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep, or several that push sums.

        The mode of a superstep is "notify-pull" if any of its passes ran over lists. Vertices that a chaos run leaves
        out count as active.
        """
        self._leave_out()
        if self._pushes is not None:
            if self._push_next(self._pushes):
                return self._push(self._pushes, room)
            self._pushes.forget()
        for name in self._spec.starts:
            np.copyto(self._state.arrays[self._spec.slot("start", name)], self._state.arrays[f"field:{name}"])
        if not (self._done or self._complete or self._in_place):
            self._passes.begin(self._spec.stages[-1])
        mode, edges = "pull", 0
        for step in self._spec.plain:
            if isinstance(step, ScalarSpec):
                self._evaluate(step)
                continue
            self._aim_buffers(step)
            way, stats, traversed = self._pass(step)
            mode = "notify-pull" if way != "pull" else mode
            edges += traversed
            if step.loop_end:
                self.stats = stats
        self._done += 1
        self._complete = self._part is None
        if self._left_out:
            self.stats = Stats(self.stats.changed + self._left_out, self.stats.active + self._left_out)
        self._last = Done(self.stats.active, mode, edges)
        return (self._last,)

    def _leave_out(self) -> None:
        """In a chaos run, choose vertices that do not run in the next superstep, or that send later."""
        n = self._passes.graph.n
        self._part, self._left_out = self._free.part(n, self._done), 0
        active = self._state.arrays.get(self._active)
        if self._part is None and active is not None and self._free.put_off(active[:n], self._done):
            self._complete = False

    def last(self) -> Done:
        """The last superstep."""
        return self._last

    def close(self) -> None:
        """Restore the second buffer of every field."""
        self._passes.ahead.clear()
        for name, array in self._second.items():
            self._state.put(f"next:{name}", array)

    def _notifies(self, skipping: _Skipping) -> bool:
        """Whether notify-pull is cheaper than a full pass.

        If pushed sums replace notify-pull, the answer is no: a push would already have been chosen if few vertices had
        changed.
        """
        instead = self._done > 0 and self._pushes is not None and self._pushes.instead
        return not instead and skipping.chosen(self._mode)

    def _push_next(self, pushes: Pushes) -> bool:
        """Whether the next superstep pushes. It cannot if it must be a full pass."""
        if not self._complete or not pushes.legal or self._part is not None or (self._again and self._done == 0):
            return False
        return self._free.choose("P", lambda: self._mode == "push" or pushes.pays(self.stats.active))

    def _push(self, pushes: Pushes, room: int | None) -> Sequence[Done]:
        """Run supersteps that push.

        When cycle detection (CycleWatch) has begun, one superstep runs per call, because every state is compared.
        """
        in_row = max(1, WATCHED_FROM - self._before - self._done) if self._free.many() else 1
        rows, self.stats = pushes.advance(in_row if room is None else min(in_row, room))
        for skipping in self._skipping.values():
            skipping.last = None
        self._done += len(rows)
        self._last = rows[-1]
        return rows

    def _pass(self, stage: StageSpec) -> tuple[str, Stats, int]:
        """Run one pass; returns its mode, its counts and the number of edges traversed."""
        skipping = self._skipping.get(stage.name)
        if skipping is not None and self._part is None and self._complete and \
                self._free.choose("N", lambda: self._notifies(skipping)):
            counted = skipping.run(self._in_place)
            if self._in_place:
                skipping.last = None  # the other buffer is not up to date
            return "notify-pull", *counted
        if skipping is not None:
            skipping.last = None
        return "pull", *(self._full(stage) if self._part is None else self._some(stage, self._part))

    def _some(self, stage: StageSpec, part: NDArray[np.int64]) -> tuple[Stats, int]:
        """Run a pass over some vertices in a chaos run; it may read old messages."""
        n, arrays = self._passes.graph.n, self._state.arrays
        chosen = self._free.part_of_pass(part, n)
        self._left_out = max(self._left_out, n - len(chosen), 1)
        swaps = () if self._in_place else stage.swaps
        for name in swaps:
            np.copyto(arrays[f"next:{name}"], arrays[f"field:{name}"])
        counted = self._passes.some(stage, chosen, self._free.refreshed(n))
        for name in swaps:
            self._state.swap(name)
        return counted

    def _full(self, stage: StageSpec) -> tuple[Stats, int]:
        if not self._in_place:  # cache blocks read a sender once, but a pass in place must see later updates
            coming = None if self._expected is None else self._expected - self._done
            self._passes.use_blocks(stage, self._blocking, coming)
        else:
            self._passes.by_rows(stage)
        stats, edges = self._passes.full(stage, fused=not self._in_place)
        if not self._in_place:
            for name in stage.swaps:
                self._state.swap(name)
        return stats, edges

    def _aim_buffers(self, stage: StageSpec) -> None:
        """Let a pass write to the buffer that it reads (in place), or to the other buffer."""
        self._in_place = self._free.in_place(self._in_place)
        for name in stage.swaps:
            if not self._in_place and name in self._second:
                self._state.put(f"next:{name}", self._second.pop(name))
            elif self._in_place:
                self._second.setdefault(name, self._state.arrays[f"next:{name}"])
                self._state.put(f"next:{name}", self._state.arrays[f"field:{name}"])


class _Skipping:
    """A pass over edges that may leave out vertices without a changed input since its last run (rule N).

    Args:
        stage: the pass.
        passes: launches the pass.
        active: the slot with the flags of vertices that must run again because `activate when` may decide differently
            for them; "" if there is none.

    Attributes:
        last: the vertices of the last run; None for all.
    """

    def __init__(self, stage: StageSpec, passes: Passes, active: str) -> None:
        assert stage.notify is not None
        self._stage, self._passes, self._against = stage, passes, stage.notify
        self._active = active
        self.last: Lists | None = None
        n = passes.graph.n
        self._marks = flags(n)
        self._todo = Lists.room(n, len(passes.pages_of(stage.domain or "in").longs))

    @property
    def _flags(self) -> NDArray[np.uint8]:
        flags_: NDArray[np.uint8] = self._passes.state.arrays[f"work:notify.{self._stage.name}"]
        return flags_

    def chosen(self, asked: str) -> bool:
        """Whether to run as notify-pull (see `should_notify`); `asked` is the option `mode`."""
        if asked not in ("auto", "dual"):
            return asked == "notify-pull"
        passes, graph = self._passes, self._passes.graph
        if ledger.left is not None and ledger.left < _LISTED * graph.n:
            return False
        edges = graph.m * (2 if self._against == "both" and graph.directed else 1)
        reached = passes.reached(self._flags, self._against)
        if isinstance(passes.source, Streamed):
            return self._reads_less(passes.source, reached, edges)
        return should_notify(passes.costs, reached, edges)

    def _reads_less(self, source: Streamed, reached: int, edges: int) -> bool:
        """Whether notify-pull reads fewer bytes than a full pass over pages on disk.

        Args:
            source: the pages.
            reached: the number of edges of changed vertices.
            edges: the number of edges of a full pass.
        """
        if self._passes.costs is None:
            return should_notify(None, reached, edges, source.random_cost)
        domain = self._stage.domain or "in"
        against, pages = source.pages(self._against), source.pages(domain)
        wanted = np.zeros(against.count, np.uint8)
        paged_frontier_kernels()["pages_of_flags"](
            self._flags, against.firsts, against.count, against.n, against.longs, len(against.longs),
            against.segment_pages, wanted)
        full = source.missing(domain, range(pages.count))
        if not full:
            return should_notify(self._passes.costs, reached, edges)
        notified = source.missing(self._against, np.flatnonzero(wanted).tolist())
        return reads_less(notified, min(reached, against.n), pages.count, full)

    def run(self, in_place: bool) -> tuple[Stats, int]:
        """Notify the receivers of changed vertices, then process them (Garaph, USENIX ATC'17, section 4.2)."""
        stage, passes, state = self._stage, self._passes, self._passes.state
        against = passes.pages_of(self._against)
        changed = Lists.room(passes.graph.n, len(against.longs))
        passes.split(self._flags, 1, against, changed, self._marks)
        passes.send(stage, changed)
        edges = passes.notify(self._against, changed, self._marks)
        if self._active:
            np.bitwise_or(self._marks, state.arrays[self._active], out=self._marks)
        if not in_place:
            self._catch_up()
        passes.split(self._marks, 1, passes.pages_of(stage.domain or "in"), self._todo, self._marks)
        stats, traversed = passes.listed(stage, self._todo)
        if not in_place:
            for name in stage.swaps:
                passes.per_field("exchange", name, self._todo)
        self.last = self._todo
        return stats, edges + traversed

    def _catch_up(self) -> None:
        """Make both buffers of each field equal, because a pass over lists writes only the listed vertices."""
        for name in self._stage.swaps:
            if self.last is None or not self._stage.sole:
                np.copyto(self._passes.state.arrays[f"next:{name}"], self._passes.state.arrays[f"field:{name}"])
            else:
                self._passes.per_field("copy", name, self.last)
