"""Loops that run as supersteps of full passes, of passes over notified vertices (notify-pull), or of pushed sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cpu.paged.source import Streamed
from vlang.runtime.cpu.passes.freedoms import PLAIN, Freedoms
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.brief import BriefSupersteps
from vlang.runtime.cpu.ways.cpu_way import FULL, Beside, CpuWay, Running
from vlang.runtime.cpu.ways.skipping import LISTED, Skipping
from vlang.runtime.cpu.ways.thin import ThinSupersteps, thin_stage
from vlang.runtime.engine.cycle import WATCHED_FROM
from vlang.runtime.engine.machine import Done, Start, Stats
from vlang.runtime.engine.trace import Series
from vlang.runtime.graph.edges.shape import Counts, Shape
from vlang.runtime.graph.topology.blocks import blocks_bytes
from vlang.runtime.kernels import FIRST_NEEDED, brief_kernels, frontier_kernels, thin_kernels
from vlang.runtime.plan.plan import LoopSpec, Plan, ScalarSpec, StageSpec

__all__ = ["Pushes", "Superstep", "Supersteps"]



class Supersteps(CpuWay):
    """Runs loops as supersteps of full passes, or of passes over notified vertices (rule N).

    Every loop may run as supersteps.
    """

    name = "supersteps"
    modes: tuple[str, ...] = ("pull", "notify-pull", "dual")

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """Always "", because every loop may run this way."""
        return ""

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """The roles of the kernels for full passes."""
        return FULL

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Superstep:
        """Begin the loop."""
        return self.supersteps(loop, machine, bound, start, None)

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """The directions of the passes, and the directions of the edges along which changed vertices notify."""
        return (*super().directions(loop), *(stage.notify for stage in loop.stages if stage.notify is not None))

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """For each pass that may skip vertices, the bytes of a list of vertices and the bytes of marks."""
        return 9 * shape.n * sum(stage.notify is not None for stage in loop.stages)

    def optional(self, loop: LoopSpec, shape: Shape) -> int:
        """The bytes of lists of changed vertices, of tasks over lists, and of cache blocks of full passes."""
        lists = LISTED * shape.n if any(stage.notify is not None for stage in loop.stages) else 0
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
        narrow = ("notify-pull where marking the receivers and pulling their edges is estimated to cost less than a "
                  "full pass")
        if any("sums" in stage.ways for stage in loop.stages):
            narrow = ("push where few vertices have changes to send; notify-pull on request, or by the published "
                      "rules")
        modes = f"modes: pull; {narrow}" if loop.skip else "mode: pull"
        in_place = "yes" if loop.asynchronous else "no"
        return [f"{modes} ({loop.skip_reason})", f"in place on request: {in_place} ({loop.asynchronous_reason})"]

    def spared(self, loop: LoopSpec, options: Options) -> frozenset[str]:
        """The kernels of folds and messages whose work is fused into full passes.

        The result is empty unless all passes are full passes that do not update in place.
        """
        if options.asynchronous or (loop.skip and options.mode != "pull"):
            return frozenset()
        return frozenset(kernel for stage in loop.stages if stage.fused for kernel in stage.fused.kernels)

    def beside(self, loop: LoopSpec, plan: Plan, options: Options) -> Sequence[Beside]:
        """The kernels of notification, or of brief supersteps."""
        if not loop.skip or options.mode == "pull":
            return [Beside(brief_kernels(), ("brief",))]
        lists = Beside(frontier_kernels(), FIRST_NEEDED)
        return [lists] if thin_stage(loop) is None else [lists, Beside(thin_kernels(), ("thin", "queued_flags"))]


class Pushes(Protocol):
    """Runs the supersteps of a loop that push.

    Attributes:
        legal: whether supersteps may push.
        instead: whether a push always replaces notify-pull.
    """

    legal: bool
    instead: bool

    def pays(self, active: int) -> bool:
        """Return whether a push is cheaper in the next superstep, which has `active` active vertices."""

    def forget(self) -> None:
        """Drop the queue, because a superstep ran in another mode."""

    def advance(self, in_row: int) -> tuple[Sequence[Done], Stats]:
        """Run one to `in_row` supersteps; returns their records, and the counts of the last one."""


class Superstep:
    """Runs the supersteps of an innermost loop: one per call, or several per call if they push sums.

    Args:
        spec: the loop.
        passes: launches the passes of the loop.
        evaluate: computes a graph-level value.
        mode, blocking: as in Options.
        expected: the total number of supersteps if the program or the caller states it; otherwise None.
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
            stage.name: Skipping(stage, passes, active if spec.explicit and stage.loop_end else "")
            for stage in spec.stages if stage.notify is not None and mode != "pull"
        }
        self._thin = self._thin_supersteps()
        plain = not (self._skipping or in_place or pushes)
        self._brief = BriefSupersteps.of(spec, passes, blocking) if plain else None

    def _thin_supersteps(self) -> ThinSupersteps | None:
        """The object that runs thin supersteps; None if the loop or the options rule them out."""
        stage = thin_stage(self._spec)
        if stage is None or self._pushes is not None or self._mode not in ("auto", "notify-pull"):
            return None
        skipping = self._skipping.get(stage.name)
        return None if skipping is None else \
            ThinSupersteps(self._spec, stage, self._passes, skipping, self._mode == "notify-pull")

    def begin(self) -> None:
        """Initialise the state for the first superstep: nothing has been sent, and all vertices are active."""
        for name in self._spec.sent:
            self._state.arrays[self._spec.slot("sent", name)][:] = 0
        if self._active in self._state.arrays:
            self._state.arrays[self._active][:] = 1

    def go_on(self, start: Start) -> None:
        """Initialise the state for the first superstep of a loop that continues another run.

        If `start` has flags of active vertices, the first superstep need not be a full pass.
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

        The mode of a superstep is "notify-pull" if any of its passes ran over lists. Vertices that a chaos run skips
        count as active.
        """
        self._leave_out()
        if self._pushes is not None:
            if self._push_next(self._pushes):
                return self._push(self._pushes, room)
            self._pushes.forget()
        if self._thin is not None and (rows := self._run_thin(self._thin, room)):
            return rows
        for name in self._spec.starts:
            np.copyto(self._state.arrays[self._spec.slot("start", name)], self._state.arrays[f"field:{name}"])
        if not (self._done or self._complete or self._in_place):
            self._passes.begin(self._spec.stages[-1])
        if self._brief is not None and (found := self._brief.advance(self._before + self._done, room)):
            return self._ran(*found)
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

    def _run_thin(self, thin: ThinSupersteps, room: int | None) -> Sequence[Done]:
        """Run thin supersteps in one call; returns their records.

        The result is empty if the next superstep is not thin.
        """
        if not self._complete or self._part is not None or self._in_place or not self._free.many():
            return ()
        found = thin.advance(self.stats.active if self._done else None, self._before + self._done, room)
        if found is None:
            return ()
        self._free.took("N")
        return self._ran(*found)

    def _ran(self, rows: Series, stats: Stats) -> Series:
        """Record supersteps that ran in one call; returns their records."""
        self.stats = stats
        self._done += len(rows)
        self._last = rows[-1]
        self._complete = True
        return rows

    def _leave_out(self) -> None:
        """In a chaos run, choose vertices that do not run in the next superstep or that send later."""
        if self._free is PLAIN:
            return
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

    def _notifies(self, skipping: Skipping) -> bool:
        """Return whether notify-pull is cheaper than a full pass.

        If pushed sums replace notify-pull, the result is False: if few vertices had changed, a push would already have
        been chosen.
        """
        instead = self._done > 0 and self._pushes is not None and self._pushes.instead
        return not instead and not self._most_changed() and skipping.chosen(self._mode)

    def _most_changed(self) -> bool:
        """Return whether more than half of the vertices are active.

        If the result is True, the edges along which these vertices notify are not counted, because counting takes up to
        a third of a superstep on small graphs.
        """
        passes = self._passes
        return self._done > 0 and self._mode == "auto" and len(self._spec.stages) == 1 and \
            passes.costs is not None and not isinstance(passes.source, Streamed) and \
            2 * self.stats.active > passes.graph.n

    def _push_next(self, pushes: Pushes) -> bool:
        """Return whether the next superstep pushes. The result is False if the next superstep must be a full pass."""
        if not self._complete or not pushes.legal or self._part is not None or (self._again and self._done == 0):
            return False
        return self._free.choose("P", lambda: self._mode == "push" or pushes.pays(self.stats.active))

    def _push(self, pushes: Pushes, room: int | None) -> Sequence[Done]:
        """Run supersteps that push.

        After the start of cycle detection (CycleWatch), each call runs one superstep, because every state is compared.
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
        """In a chaos run, run a pass over some vertices. The pass may read old messages."""
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
