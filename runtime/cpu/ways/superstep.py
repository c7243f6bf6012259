"""Supersteps of one loop: full passes, passes over the vertices that must run again (notify-pull), or pushed sums."""

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

_LISTED = 28  # bytes a vertex of a list of changed vertices and of the tasks over listed ones, at most


class Supersteps(CpuWay):
    """Full passes, and passes over the vertices that must run again (rule N): every loop may run so."""

    name = "supersteps"
    modes: tuple[str, ...] = ("pull", "notify-pull")

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """Never refused."""
        return ""

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of full passes."""
        return FULL

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Superstep:
        """The loop."""
        return self.supersteps(loop, machine, bound, start, None)

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """Those of the passes, and the edges along which passes over few vertices notify."""
        return (*super().directions(loop), *(stage.notify for stage in loop.stages if stage.notify is not None))

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """A list and marks for each pass that skips vertices."""
        return 9 * shape.n * sum(stage.notify is not None for stage in loop.stages)

    def optional(self, loop: LoopSpec, shape: Shape) -> int:
        """Lists of changed vertices, with tasks over them, and cache blocks of full passes."""
        lists = _LISTED * shape.n if any(stage.notify is not None for stage in loop.stages) else 0
        blocked = {stage.domain for stage in loop.stages if "blocked" in stage.kernels and stage.domain is not None}
        return lists + sum(blocks_bytes(shape.entries(kind), shape.n) for kind in blocked)

    def supersteps(
        self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None, pushes: Pushes | None
    ) -> Superstep:
        """The loop.

        Args:
            loop, machine, bound, start: see `begin`.
            pushes: runs the supersteps that push; None if none may.
        """
        options = machine.options
        in_place = options.asynchronous and loop.asynchronous
        begun = Superstep(loop, machine.passes, machine.evaluate, options.mode, options.blocking, bound, in_place,
                          pushes, machine.passes.freedoms.of(loop, bound))
        if start is None or not start.placed:
            begun.begin()
        if start is not None:
            begun.go_on(start)
        return begun

    def said(self, loop: LoopSpec) -> list[str]:
        """The modes of supersteps, and whether they may run in place."""
        narrow = "notify-pull where at most half of the edges leave changed vertices"
        if any("sums" in stage.ways for stage in loop.stages):
            narrow = ("push where few vertices have changes to send; notify-pull on request, or by the published "
                      "rules")
        modes = f"modes: pull; {narrow}" if loop.skip else "mode: pull"
        in_place = "yes" if loop.asynchronous else "no"
        return [f"{modes} ({loop.skip_reason})", f"in place on request: {in_place} ({loop.asynchronous_reason})"]

    def spared(self, loop: LoopSpec, options: Options) -> frozenset[str]:
        """The folds and messages that are fused into full passes, if every pass is full and not in place."""
        if options.asynchronous or (loop.skip and options.mode != "pull"):
            return frozenset()
        return frozenset(kernel for stage in loop.stages if stage.fused for kernel in stage.fused.kernels)

    def beside(self, loop: LoopSpec, plan: Plan, options: Options) -> Sequence[Beside]:
        """The kernels of notification."""
        return [Beside(frontier_kernels(), FIRST_NEEDED)] if loop.skip and options.mode != "pull" else []


class Pushes(Protocol):
    """How some supersteps of a loop may push.

    legal: whether they may. instead: whether pushing replaces notification in all supersteps.
    """

    legal: bool
    instead: bool

    def pays(self, active: int) -> bool:
        """Whether pushing is cheaper in the next superstep. active: the number of active vertices."""

    def forget(self) -> None:
        """Drop the queue, since a superstep ran in another way."""

    def advance(self, in_row: int) -> tuple[Sequence[Done], Stats]:
        """Run at least one superstep, and no more than `in_row`; returns them, and the counts of the last."""


class Superstep:
    """Runs the supersteps of a loop without blocks inside, one a call, or several that push sums.

    Args:
        spec: the loop.
        passes: launches its passes.
        evaluate: computes a scalar.
        mode, blocking: as in Options.
        expected: supersteps in all, if the program or the caller gives a number.
        in_place: passes write to the buffer that they read.
        pushes: runs supersteps that push; None if none may.
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
        self._before = 0  # supersteps of the run that it continues
        self._complete = False  # whether the flags of the vertices that must run again are complete
        self._again = False  # whether some vertices run in the first superstep even if they receive nothing
        self._part: NDArray[np.int64] | None = None  # the vertices that the superstep runs over, None for all
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
        """Before the first superstep: nothing has been sent, and all vertices are active."""
        for name in self._spec.sent:
            self._state.arrays[self._spec.slot("sent", name)][:] = 0
        if self._active in self._state.arrays:
            self._state.arrays[self._active][:] = 1

    def go_on(self, start: Start) -> None:
        """Before the first superstep: continue another run. The first superstep need not be full if the active vertices
        are given."""
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

        Its mode is "notify-pull" if any pass ran over lists. Vertices that are left out count as active.
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
        """Choose the vertices that the next superstep leaves out: they do not run, or are active and send later."""
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
        """Whether running over lists is cheaper for a pass.

        It is not where pushed sums replace notification: they would have been chosen before, if few edges were active.
        """
        instead = self._done > 0 and self._pushes is not None and self._pushes.instead
        return not instead and skipping.chosen(self._mode)

    def _push_next(self, pushes: Pushes) -> bool:
        """Whether the next superstep pushes, if it need not be full."""
        if not self._complete or not pushes.legal or self._part is not None or (self._again and self._done == 0):
            return False
        return self._free.choose("P", lambda: self._mode == "push" or pushes.pays(self.stats.active))

    def _push(self, pushes: Pushes, room: int | None) -> Sequence[Done]:
        """Run supersteps that push; one a call once cycles are looked for (CycleWatch), which compares every state."""
        in_row = max(1, WATCHED_FROM - self._before - self._done) if self._free.many() else 1
        rows, self.stats = pushes.advance(in_row if room is None else min(in_row, room))
        for skipping in self._skipping.values():
            skipping.last = None
        self._done += len(rows)
        self._last = rows[-1]
        return rows

    def _pass(self, stage: StageSpec) -> tuple[str, Stats, int]:
        """Run one pass; returns its mode, its counts and the edges traversed."""
        skipping = self._skipping.get(stage.name)
        if skipping is not None and self._part is None and self._complete and \
                self._free.choose("N", lambda: self._notifies(skipping)):
            counted = skipping.run(self._in_place)
            if self._in_place:
                skipping.last = None  # the other buffer is behind
            return "notify-pull", *counted
        if skipping is not None:
            skipping.last = None
        return "pull", *(self._full(stage) if self._part is None else self._some(stage, self._part))

    def _some(self, stage: StageSpec, part: NDArray[np.int64]) -> tuple[Stats, int]:
        """A pass over some vertices, which may read old messages."""
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
        if not self._in_place:  # blocks read each sender once, but a pass in place must see later values
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
        """Aim the output of a pass at the buffer that it reads (in place), or at the other one."""
        self._in_place = self._free.in_place(self._in_place)
        for name in stage.swaps:
            if not self._in_place and name in self._second:
                self._state.put(f"next:{name}", self._second.pop(name))
            elif self._in_place:
                self._second.setdefault(name, self._state.arrays[f"next:{name}"])
                self._state.put(f"next:{name}", self._state.arrays[f"field:{name}"])


class _Skipping:
    """One pass over edges that may leave out a vertex if no input of it changed since the pass last ran (rule N).

    Attributes:
        last: the vertices of its last run, None for all.
        active: the slot of flags of vertices that must run again because `activate when` may change its decision about
            them; "" for none.
        sole: whether no other pass writes its fields in between.
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
        """Whether to run over lists (see `should_notify`)."""
        if asked != "auto":
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
        """Whether running over lists is better where pages are on disk.

        Args:
            source: the pages.
            reached: edges of changed vertices.
            edges: edges of a full pass.
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
        """Make both buffers of each field equal, since a pass over lists does not write the other vertices."""
        for name in self._stage.swaps:
            if self.last is None or not self._stage.sole:
                np.copyto(self._passes.state.arrays[f"next:{name}"], self._passes.state.arrays[f"field:{name}"])
            else:
                self._passes.per_field("copy", name, self.last)
