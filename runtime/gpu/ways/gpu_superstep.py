"""Supersteps of one loop on a GPU: every pass in full, or over the vertices that must run again (notify-pull)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vlang.options import Options
from vlang.runtime.engine.machine import Done, Loop, Start, Stats
from vlang.runtime.gpu.topology.cut import long_rows
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.gpu.ways.notifying import NotifyPull, notify_sizes, notifying_kernels
from vlang.runtime.gpu.ways.relay import Relay, relay_kernel, relay_sizes, relays
from vlang.runtime.gpu.ways.way import NOTIFY, Key
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.plan import LoopSpec, ScalarSpec, StageSpec

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["FullWay", "GpuLoop", "NotifyWay", "in_place"]


class NotifyWay:
    """Rule N: passes leave out vertices none of whose inputs changed, where that is cheaper."""

    name = "notify-pull"
    given_up = 1
    sure = True
    measured = True

    def refused(self, loop: LoopSpec, graph: Graph, options: Options) -> str:
        """Why the passes of a loop run over all vertices."""
        if options.mode not in ("auto", "notify-pull"):
            return "another mode was asked for"
        return "" if any(stage.notify is not None for stage in loop.stages) else loop.skip_reason

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """The edges along which receivers are found."""
        for stage in loop.stages:
            if stage.domain is not None and stage.notify is not None:
                yield stage.notify, NOTIFY, Use()

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Adjacency]) -> Iterator[Mapping[str, int]]:
        """The lists of each pass, and what the supersteps of one launch share."""
        for stage in loop.stages:
            if stage.notify is not None:
                rows = long_rows(sides[stage.domain or "in"])
                yield notify_sizes(n, len(sides[stage.notify]), len(rows.longs), len(rows.segments))
        if relays(loop):
            yield relay_sizes(loop)

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Those of its passes over lists, and that of many supersteps."""
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
        """The loop; every vertex is active in its first superstep, whatever the start says."""
        return GpuLoop(machine, loop, start, skips=True)


class FullWay:
    """Every pass over all vertices: what every loop can do."""

    name = "full passes"
    given_up = 0
    sure = True
    measured = False

    def refused(self, loop: LoopSpec, graph: Graph, options: Options) -> str:
        """Never."""
        return ""

    def uses(self, loop: LoopSpec) -> Iterator[tuple[str, str, Use]]:
        """Nothing beside what full passes read."""
        return iter(())

    def sizes(self, loop: LoopSpec, n: int, sides: Mapping[str, Adjacency]) -> Iterator[Mapping[str, int]]:
        """Nothing."""
        return iter(())

    def kernels(self, loop: LoopSpec, machine: GpuMachine) -> Iterator[Key]:
        """Nothing beside those of full passes."""
        return iter(())

    def begin(self, loop: LoopSpec, machine: GpuMachine, bound: int | None, start: Start | None) -> Loop:
        """The loop."""
        return GpuLoop(machine, loop, start, skips=False)


def in_place(spec: LoopSpec, options: Options) -> bool:
    """Whether the passes of a loop write where they read.

    Loops whose result does not depend on order (rule A) do unless the caller counts supersteps: they end in the same
    state after fewer of them. Those with a uniform frontier (rule X2) do not: it holds between whole supersteps only,
    and settled vertices gain more.
    """
    frontier = any(stage.gpu is not None and stage.gpu.early == "frontier" for stage in spec.stages)
    return spec.asynchronous and not frontier and (options.asynchronous or options.max_rounds is None)


class GpuLoop:
    """Runs the supersteps of a loop one by one; a `vlang.runtime.engine.machine.Loop`.

    start: values that the loop goes on from. skips: passes may leave out vertices (rule N).
    """

    def __init__(self, machine: GpuMachine, spec: LoopSpec, start: Start | None, skips: bool) -> None:
        self._machine, self._spec = machine, spec
        options = machine.options
        self._in_place = in_place(spec, options)
        for stage in spec.stages:
            machine.in_place(stage, self._in_place)
        for name in spec.tolds:
            machine.fill(spec.slot("told", name), 0)
        active = spec.slot("work", "active")
        if active in machine.state.buffers:
            machine.fill(active, 1)
        self._skipping: dict[str, NotifyPull] = {}
        if skips:
            self._skipping = {
                stage.name: NotifyPull(machine, stage, active if spec.explicit and stage.loop_end else "",
                                       machine.passes.rooms)
                for stage in spec.stages if stage.notify is not None
            }
        self._relay: Relay | None = None
        lists = list(self._skipping.values())
        if relays(spec) and lists and all(one.in_rows for one in lists):
            self._relay = Relay(machine, spec, self._skipping, options.mode == "auto")
        for name, told in ({} if start is None else start.told).items():
            machine.device.upload(machine.pointer(spec.slot("told", name)), np.ascontiguousarray(told))
        self._done = 0
        self._edges = 0
        self._listed: list[NotifyPull] = []

    @property
    def stats(self) -> Stats:
        """What the last superstep counted; waits for it."""
        return self._machine.counted()

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run a superstep, or as many as one launch may where little changes and the host is not needed."""
        machine, mode = self._machine, self._machine.options.mode
        if self._relay and self._done and all(one.chosen(mode) for one in self._skipping.values()):
            rows = self._relay.run(self._relay.room(self._done, room), self._in_place)
            self._done += len(rows)
            return rows
        for name in self._spec.starts:
            machine.copy(self._spec.slot("start", name), f"field:{name}")
        self._edges = 0
        self._listed.clear()
        for step in self._spec.plain:
            if isinstance(step, ScalarSpec):
                machine.evaluate(step)
            else:
                self._pass(step)
        self._done += 1
        return ()

    def _pass(self, stage: StageSpec) -> None:
        skipping = self._skipping.get(stage.name)
        if skipping is not None and self._done and skipping.chosen(self._machine.options.mode):
            skipping.run(self._in_place)
            self._listed.append(skipping)
            return
        self._edges += self._machine.run_full(stage)
        if skipping is not None:
            skipping.ran_full()

    def last(self) -> Done:
        """The last superstep, which has ended."""
        edges = self._edges + sum(skipping.edges() for skipping in self._listed)
        return Done(self.stats.active, "notify-pull" if self._listed else "pull", edges)

    def close(self) -> None:
        """Give every field its second buffer back, and the lists' memory."""
        for skipping in (*self._skipping.values(), *((self._relay,) if self._relay else ())):
            skipping.close()
        for stage in self._spec.stages:
            self._machine.in_place(stage, False)
