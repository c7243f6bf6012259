"""Supersteps of one loop on a GPU: every pass in full, or over the vertices that must run again (notify-pull)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlang.options import Options
from vlang.runtime.engine.machine import Done, Stats
from vlang.runtime.gpu.ways.notifying import NotifyPull
from vlang.runtime.gpu.ways.pushing import push_stage
from vlang.runtime.gpu.ways.relay import Relay, relays
from vlang.runtime.plan.plan import LoopSpec, ScalarSpec, StageSpec

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["GpuLoop", "in_place", "sparse_way"]


def sparse_way(spec: LoopSpec, options: Options) -> str:
    """How a loop runs while few vertices are at work: "push", "notify-pull" or, in full passes alone, "".

    A caller who counts supersteps gets them one by one, and a push in place may be ahead of them.
    """
    stage = push_stage(spec)
    if stage is not None and stage.gpu is not None:
        counted = options.max_rounds is not None and stage.gpu.push == "direct" and stage.gpu.early != "frontier"
        if options.mode == "push" or (options.mode == "auto" and not counted):
            return "push"
    skips = any(stage.notify is not None for stage in spec.stages)
    return "notify-pull" if skips and options.mode in ("auto", "notify-pull") else ""


def in_place(spec: LoopSpec, options: Options) -> bool:
    """Whether the passes of a loop write where they read.

    Loops whose result does not depend on order (rule A) do unless the caller counts supersteps: they end in the same
    state after fewer of them. Those with a uniform frontier (rule X2) do not: it holds between whole supersteps only,
    and settled vertices gain more.
    """
    frontier = any(stage.gpu is not None and stage.gpu.early == "frontier" for stage in spec.stages)
    return spec.asynchronous and not frontier and (options.asynchronous or options.max_rounds is None)


class GpuLoop:
    """Runs the supersteps of a loop one by one; a `vlang.runtime.engine.machine.Loop`."""

    def __init__(self, machine: GpuMachine, spec: LoopSpec) -> None:
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
        if sparse_way(spec, options) == "notify-pull":
            self._skipping = {
                stage.name: NotifyPull(machine, stage, active if spec.explicit and stage.loop_end else "",
                                       machine.sweep.rooms)
                for stage in spec.stages if stage.notify is not None
            }
        self._relay: Relay | None = None
        lists = list(self._skipping.values())
        if relays(spec) and lists and all(one.in_rows for one in lists):
            self._relay = Relay(machine, spec, self._skipping, options.mode == "auto")
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
