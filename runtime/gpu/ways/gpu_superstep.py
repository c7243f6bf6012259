"""Supersteps of a loop on a GPU: full passes, or passes over notified vertices (notify-pull)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from vlang.options import Options
from vlang.runtime.engine.machine import Done, Loop, Start, Stats
from vlang.runtime.gpu.topology.cut import long_rows
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.ways.notifying import NotifyPull, notify_sizes, notifying_kernels
from vlang.runtime.gpu.ways.relay import Relay, relay_kernel, relay_sizes, relays
from vlang.runtime.gpu.ways.run_ahead import RunAhead, can_be_undone
from vlang.runtime.gpu.ways.way import NOTIFY, Key
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import LoopSpec, ScalarSpec, StageSpec
from vlang.runtime.threads.pieces import Pieces, completed

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["FullWay", "GpuLoop", "NotifyWay", "in_place"]


class NotifyWay:
    """Rule N: passes skip vertices without changed inputs if skipping is cheaper."""

    name = "notify-pull"
    given_up = 1
    spare = False
    sure = True
    measured = True
    modes: tuple[str, ...] = ("notify-pull", "dual")

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Return the reason why the passes of a loop must run over all vertices; "" if they may skip vertices."""
        if options.mode not in ("auto", *self.modes):
            return "another mode was requested"
        return "" if any(stage.notify is not None for stage in loop.stages) else loop.skip_reason

    def pulls(self, loop: LoopSpec, options: Options) -> bool:
        """Return whether the loop may read the edges along which its passes gather: always true."""
        return True

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """Yield the edges along which changed vertices notify their receivers."""
        for stage in loop.stages:
            if stage.domain is not None and stage.notify is not None:
                yield stage.notify, NOTIFY, Use()

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Side]) -> Iterator[Mapping[str, int]]:
        """Yield the sizes in bytes of the lists of each pass, and of the tables for launches with several supersteps.
        """
        for stage in loop.stages:
            if stage.notify is not None:
                rows = long_rows(sides[stage.domain or "in"])
                yield notify_sizes(n, len(sides[stage.notify]), len(rows.longs), len(rows.segments))
        if relays(loop):
            yield relay_sizes(loop)

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Yield the kernels of passes over lists, and the kernel that runs several supersteps."""
        passes = machine.passes
        for stage in loop.stages:
            if stage.notify is not None:
                domain = stage.domain or "in"
                paged = any(passes.reading(kind) != "rows" for kind in (domain, stage.notify))
                yield from notifying_kernels(stage, passes.topologies[domain].edges, machine.n, paged)
        first = next((stage.domain for stage in loop.stages if stage.domain), "in")
        if relays(loop) and passes.topologies[first].resident:
            yield relay_kernel(loop, passes.topologies[first].edges, machine.n)

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop:
        """Begin the loop.

        Every vertex is active in the first superstep, even if `start` marks only some vertices as active.
        """
        return GpuLoop(machine, loop, start, skips=True)


class FullWay:
    """Full passes over all vertices, which can run every loop."""

    name = "full passes"
    given_up = 0
    spare = False
    sure = True
    measured = False
    modes: tuple[str, ...] = ("pull",)

    def refused(self, loop: LoopSpec, graph: Graph | None, options: Options) -> str:
        """Return "", because every loop can run as full passes."""
        return ""

    def pulls(self, loop: LoopSpec, options: Options) -> bool:
        """Return whether the loop may read the edges along which its passes gather: always true."""
        return True

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """Yield nothing, because this execution way reads only the edges that full passes read."""
        return iter(())

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Side]) -> Iterator[Mapping[str, int]]:
        """Yield nothing, because this execution way needs no additional memory."""
        return iter(())

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Yield nothing, because this execution way needs no kernels besides the kernels of full passes."""
        return iter(())

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop:
        """Begin the loop."""
        return GpuLoop(machine, loop, start, skips=False)


def in_place(spec: LoopSpec, options: Options) -> bool:
    """Return whether the passes of a loop write to the buffers that they read.

    A loop whose result does not depend on the order of updates (rule A) runs in place, because it then needs fewer
    supersteps for the same final state. Two kinds of such loops do not run in place. A loop whose supersteps are
    limited by the caller does not run in place. A loop with a uniform frontier (rule X2) does not run in place either.
    Such a frontier is uniform only between whole supersteps, and skipping final vertices saves more time.
    """
    frontier = any(stage.gpu is not None and stage.gpu.early == "frontier" for stage in spec.stages)
    return spec.asynchronous and not frontier and (options.asynchronous or options.max_rounds is None)


class GpuLoop:
    """Runs the supersteps of a loop one by one. Implements `vlang.runtime.engine.machine.Loop`.

    Args:
        machine: the machine of the run.
        spec: the loop.
        start: the state of an earlier run from which the loop continues; None for a loop that begins anew.
        skips: whether passes may skip vertices (rule N).
    """

    def __init__(self, machine: GpuMachine, spec: LoopSpec, start: Start | None, skips: bool) -> None:
        self._machine, self._spec = machine, spec
        options = machine.options
        self._in_place = in_place(spec, options)
        for stage in spec.stages:
            machine.in_place(stage, self._in_place)
        active = spec.slot("work", "active")
        if start is None or not start.placed:
            for name in spec.sent:
                machine.fill(spec.slot("sent", name), 0)
            if active in machine.state.dtypes:
                machine.fill(active, 1)
        self._skipping: dict[str, NotifyPull] = {}
        if skips:
            self._skipping = {
                stage.name: NotifyPull(machine, stage, active if spec.explicit and stage.loop_end else "",
                                       machine.passes.scratch)
                for stage in spec.stages if stage.notify is not None
            }
        self._relay: Relay | None = None
        lists = list(self._skipping.values())
        if relays(spec) and lists and all(one.in_rows for one in lists):
            self._relay = Relay(machine, spec, self._skipping, options.mode != "notify-pull")
        for name, sent in ({} if start is None else start.sent).items():
            machine.put(spec.slot("sent", name), sent)
        self._done = 0
        self._edges = 0
        self._listed: list[NotifyPull] = []
        self._room: int | None = None  # supersteps that the loop may run after the current one
        self._ahead: RunAhead | None = None
        if not self._in_place and not self._skipping and can_be_undone(machine, spec):
            self._ahead = RunAhead([machine], spec, 0 if start is None else start.rounds)

    @property
    def stats(self) -> Stats:
        """The counts of the last superstep; waits until the superstep has ended."""
        return self._machine.counted()

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep.

        If few vertices change, and the host is not needed between supersteps, one launch runs several supersteps.
        """
        machine, mode = self._machine, self._machine.options.mode
        if self._relay and self._done and all(one.chosen(mode) for one in self._skipping.values()):
            rows = self._relay.run(self._relay.room(self._done, room), self._in_place)
            self._done += len(rows)
            return rows
        self._room = None if room is None else room - 1
        if self._ahead is not None and self._ahead.queued:
            self._edges = self._ahead.take()
            self._done += 1
            return ()
        for name in self._spec.starts:
            machine.copy(self._spec.slot("start", name), f"field:{name}")
        self._listed.clear()
        self._edges = completed(self._steps())
        self._done += 1
        return ()

    def _steps(self) -> Pieces[int]:
        """Queue the steps of a superstep piece by piece; returns the number of edges that full passes traverse."""
        edges = 0
        for step in self._spec.plain:
            if isinstance(step, ScalarSpec):
                self._machine.evaluate(step)
            else:
                edges += yield from self._pass(step)
        return edges

    def _pass(self, stage: StageSpec) -> Pieces[int]:
        """Queue a pass; returns the number of edges traversed, without those of a pass over notified vertices."""
        skipping = self._skipping.get(stage.name)
        if skipping is not None and self._done and skipping.chosen(self._machine.options.mode):
            skipping.run(self._in_place)
            self._listed.append(skipping)
            return 0
        if self._ahead is not None:
            return (yield from self._machine.pieces(stage))
        edges = self._machine.run_full(stage)
        if skipping is not None:
            skipping.ran_full()
        return edges

    def last(self) -> Done:
        """Return the record of the last superstep, which has ended."""
        if self._ahead is not None:
            self._ahead.follow(self._room, self._steps)
        edges = self._edges + sum(skipping.edges() for skipping in self._listed)
        return Done(self.stats.active, "notify-pull" if self._listed else "pull", edges)

    def close(self) -> None:
        """Restore the second buffer of every field, and free the lists. Undo a superstep that is queued ahead."""
        if self._ahead is not None:
            self._ahead.close()
        for skipping in (*self._skipping.values(), *((self._relay,) if self._relay else ())):
            skipping.close()
        for stage in self._spec.stages:
            self._machine.in_place(stage, False)
