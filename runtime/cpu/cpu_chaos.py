"""Runs on the CPU that take every freedom which the facts of a program grant, drawn at random superstep by superstep.

Threads take tasks, and lists of vertices, in random order; a pass runs over rows or cache blocks; a superstep runs in
full, over the vertices that must run again and any others (rule N), or along the edges of the active vertices (rule P)
and of others, some twice. Where vertices may run in any order (rules A and S), some supersteps run over a random part
of the vertices, in place or not, and read messages of which only some are new; frontiers are put off in part. Where
changes may be told in any order (rule A'), a random part of the active vertices tells. Rules X2, Z, O and K are a
choice among ways to run. A loop ends only after a superstep that left nobody out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.compile.objects import Kernel
from vlang.runtime.cpu.cpu_machine import CpuMachine
from vlang.runtime.cpu.passes.passes import Lists, Passes
from vlang.runtime.cpu.ways.components import connect_loop
from vlang.runtime.cpu.ways.priority import PriorityLoop
from vlang.runtime.cpu.ways.push import PushLoop, push_stage
from vlang.runtime.cpu.ways.reach import ReachLoop
from vlang.runtime.cpu.ways.sums import SumPushes
from vlang.runtime.cpu.ways.superstep import Superstep
from vlang.runtime.engine.draws import Draws
from vlang.runtime.engine.machine import Done, Loop, Start, Stats
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.plan.layouts.pass_words import WALK_EDGES, WALK_NOBODY
from vlang.runtime.plan.plan import LoopSpec, Plan, StageSpec
from vlang.runtime.threads.launch import Cpu

__all__ = ["ChaosMachine"]

_ORDERED = 48  # supersteps after which none is left out, so that a loop ends, and before anybody looks for cycles
_BUSY = 1 << 20  # what a launch claims to cost, so that all threads take part


class _Workers(Cpu):
    """Threads that share even the smallest launch."""

    def launch(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int,
               after: tuple[Any, ...] = ()) -> None:
        """As `Cpu.launch`, on all threads."""
        super().launch(kernel, before, tasks, count, max(cost, _BUSY), after)


@dataclass
class _ShuffledPasses(Passes):
    """Passes whose tasks and lists come in random order, one task a listed vertex; full ones by lists, rows or blocks.
    draws is always given."""

    draws: Draws = field(default_factory=lambda: Draws(0))

    def use_blocks(self, stage: StageSpec, asked: str, coming: int | None) -> None:
        """Cache blocks for this pass, or not."""
        if self.draws.coin():
            super().use_blocks(stage, "always", coming)
        else:
            self.blocks.pop(stage.name, None)

    def full(self, stage: StageSpec, followed: bool = False) -> tuple[Stats, int]:
        """A stage over all vertices, which may be a list of all in random order, and then nothing follows."""
        if stage.domain is None or stage.name in self.blocks or self.draws.coin():
            return super().full(stage, followed)
        self.refresh(stage, np.arange(self.graph.n))
        return self.listed(stage, self.lists(stage, np.arange(self.graph.n)))

    def refresh(self, stage: StageSpec, vertices: NDArray[Any]) -> None:
        """Bring the messages of some vertices up to date."""
        self.send(stage, Lists(vertices.astype(np.uint32), *(np.zeros(0, np.uint32),) * 2, shorts=len(vertices)))

    def lists(self, stage: StageSpec, vertices: NDArray[Any]) -> Lists:
        """Vertices as lists; long vertices of the orientation of the stage apart."""
        table = np.zeros(0, np.int64) if stage.domain is None else self.pages_of(stage.domain).longs[:, 0]
        far = np.isin(vertices, table)
        short, long = vertices[~far].astype(np.uint32), vertices[far]
        return Lists(short, np.searchsorted(table, long).astype(np.uint32), long.astype(np.uint32), len(short),
                     len(long))

    def _short_tasks(self, pages: Pages, lists: Lists) -> tuple[NDArray[np.int64], int, int]:
        count = lists.shorts
        vertices = lists.short[:count]
        self.draws.order(vertices)
        page = np.searchsorted(pages.firsts, vertices, side="right") - 1
        at = np.arange(count, dtype=np.int64)
        offsets = pages.adjacency.offsets
        edges = int((offsets[vertices.astype(np.int64) + 1] - offsets[vertices]).sum())
        return np.ascontiguousarray(np.stack([page, at, at + 1], axis=1)), count, edges

    def notify(self, kind: str, lists: Lists, marks: NDArray[np.uint8]) -> int:
        """Mark the neighbours of listed vertices, and some others."""
        edges = super().notify(kind, lists, marks)
        if self.draws.coin():
            marks[self.draws.some(self.graph.n)] = 1
        return edges

    def _launch(self, kernel: str, tasks: NDArray[np.int64], count: int, cost: int,
                frame: NDArray[np.uint64] | None = None) -> None:
        mixed = tasks[:count].copy()
        self.draws.order(mixed)
        super()._launch(kernel, mixed, count, cost, frame)


class ChaosMachine(CpuMachine):
    """A machine of threads that draws how to run. Memory: as the plain one, and some lists of vertices."""

    def __init__(self, plan: Plan, graph: Graph, options: Options, draws: Draws) -> None:
        super().__init__(plan, graph, options)
        self._draws = draws
        self._cpu.close()
        self._cpu = _Workers(options.threads)
        base = self.passes
        self.passes = _ShuffledPasses(base.graph, base.state, base.kernels, self._cpu, base.page_size, base.pages,
                                      draws=draws)

    def loop(self, spec: LoopSpec, bound: int | None, start: Start | None = None) -> Loop:
        """Begin a loop, in one of the ways that its facts allow. Order is free only where nobody counts supersteps.
        Whole programs are run here, so that no loop goes on from another run."""
        draws, free = self._draws, bound is None
        connected = connect_loop(spec, self._graph, self.state, self._cpu, self._options, bound)
        if connected is not None and draws.coin(0.3):
            draws.use(spec.line, "K")
            return connected
        stage = push_stage(spec)
        if free and stage is not None and stage.priority is not None and draws.coin(0.3):
            draws.use(spec.line, "O")
            return PriorityLoop(stage, self.passes)
        if stage is not None and draws.coin():
            if "early" in stage.kernels:
                return _ChaosReach(stage, self.passes, draws, spec.line)
            return _ChaosPush(spec, self.passes, draws, free)
        assert isinstance(self.passes, _ShuffledPasses)
        return _ChaosSupersteps(spec, self.passes, self, draws, free)


class _ChaosSupersteps(Superstep):
    """Supersteps that run in full, over what must run again and more, or over some of the vertices."""

    def __init__(
        self, spec: LoopSpec, passes: _ShuffledPasses, machine: ChaosMachine, draws: Draws, free: bool
    ) -> None:
        super().__init__(spec, passes, machine.evaluate, "auto", "auto", None, False)
        self._all, self._draws, self._line = passes, draws, spec.line
        self._order = spec.order if free else ""
        self._partial: NDArray[Any] | None = None  # the vertices that the superstep runs over, None for all
        self._left_out = 0
        self._heard = False  # whether the flags of who must run again are complete

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep. Who was left out counts as active."""
        draws, n = self._draws, self._all.graph.n
        self._partial, self._left_out = None, 0
        early = 0 < self._done < _ORDERED
        if self._order in ("A", "S") and early and draws.coin():
            self._partial = draws.some(n)
        elif self._order == "A'" and early and draws.coin():
            self._put_off()
        rows = super().advance(room)
        if self._partial is None:
            self._heard = True
            return rows
        draws.use(self._line, self._order)
        self._heard = False
        self.stats = Stats(self.stats.changed + self._left_out, self.stats.active + self._left_out)
        self._last = Done(self.stats.active, rows[0].mode, rows[0].edges)
        return (self._last,)

    def _push_next(self, sums: SumPushes) -> bool:
        return self._partial is None and self._heard and sums.legal and self._draws.coin()

    def _push(self, sums: SumPushes, room: int | None) -> Sequence[Done]:
        """One superstep, or many in one call."""
        self._draws.use(self._line, "P")
        return super()._push(sums, 1 if self._draws.coin() else room)

    def _put_off(self) -> None:
        """Some active vertices do not tell in this superstep, which runs in full."""
        active = self._state.arrays[self._spec.slot("work", "active")]
        telling = np.flatnonzero(active[: self._all.graph.n])
        if len(telling) > 1:
            active[telling[self._draws.some(len(telling) - 1)]] = 0
            self._heard = False
            self._draws.use(self._line, "A'")

    def _aim_buffers(self, stage: StageSpec) -> None:
        """A pass writes where it reads, or into the other buffer; in the first superstep as well."""
        for name in stage.swaps:
            kept = self._second.pop(name, None)
            if kept is not None:
                self._state.put(f"next:{name}", kept)
        self._in_place = self._order in ("A", "S") and self._draws.coin()
        super()._aim_buffers(stage)

    def _pass(self, stage: StageSpec) -> tuple[str, Stats, int]:
        if self._in_place:
            self._draws.use(self._line, self._order)
        if self._partial is not None:
            return self._some(stage, self._partial)
        skipping = self._skipping.get(stage.name)
        if skipping is not None and self._heard and self._draws.coin():
            self._draws.use(self._line, "N")
            counted = skipping.run(self._in_place)
            if self._in_place:
                skipping.last = None  # the other buffer does not know of it
            return "notify-pull", *counted
        if skipping is not None:
            skipping.last = None
        return "pull", *self._full(stage)

    def _full(self, stage: StageSpec) -> tuple[Stats, int]:
        if self._in_place:
            self._all.blocks.pop(stage.name, None)
        return super()._full(stage)

    def _some(self, stage: StageSpec, vertices: NDArray[Any]) -> tuple[str, Stats, int]:
        """A pass over some vertices, which may read old messages. Under rule S all passes of a superstep run over the
        same ones, since a vertex that is done must not be written again."""
        n = self._all.graph.n
        chosen = vertices if self._order == "S" else self._draws.some(n)
        self._left_out = max(self._left_out, n - len(chosen), 1)
        if "messages" in stage.kernels:
            self._all.refresh(stage, self._draws.some(n))
        lists = self._all.lists(stage, chosen)
        for name in () if self._in_place else stage.swaps:
            np.copyto(self._state.arrays[f"next:{name}"], self._state.arrays[f"field:{name}"])
        stats, edges = self._all.listed(stage, lists)
        for name in () if self._in_place else stage.swaps:
            self._all.per_field("exchange", name, lists)
        skipping = self._skipping.get(stage.name)
        if skipping is not None:
            skipping.last = None
        return "pull", stats, edges


class _ChaosPush(PushLoop):
    """Supersteps that go along the edges of the active vertices, or any that stands for such a one."""

    def __init__(self, spec: LoopSpec, passes: Passes, draws: Draws, free: bool) -> None:
        super().__init__(spec, passes, "auto", None, True)
        self._draws, self._line = draws, spec.line
        self._free = free and spec.order == "A"
        self._later = np.zeros(0, np.uint64)  # entries of the frontier that are put off
        self._small = self._few

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep, or many in one call if they are small, as they are."""
        self._few = self._small if self._draws.coin(0.25) else 0
        return super().advance(room)

    def _should_pull(self) -> bool:
        return self._stage.notify is not None and self._draws.coin(0.3)

    def _begin(self, origin: int) -> None:
        """At the start, the vertices that have something to say (rule Z), or all."""
        if origin == 0 and self._draws.coin():
            everybody = np.ones(self._passes.graph.n, np.uint8)
            super()._begin(everybody.ctypes.data)
            return
        if origin == 0:
            self._draws.use(self._line, "Z")
        super()._begin(origin)

    def _push(self) -> Done:
        """The frontier in random order, some of it twice, some of it later, with vertices that are not in it."""
        entries = self._mixed()
        self._later = np.zeros(0, np.uint64)
        if self._free and self._rounds < _ORDERED and self._draws.coin():
            kept = len(self._draws.some(len(entries)))
            entries, self._later = entries[:kept], entries[kept:]
        twice = entries[self._draws.rng.random(len(entries)) < 0.25]
        others = self._draws.some(self._passes.graph.n).astype(np.uint64)[: len(entries)]
        degrees = np.diff(self._out.offsets.view(np.int64))
        others = others[degrees[others.astype(np.int64)] <= WALK_EDGES]
        room = len(self._queues[0])
        self._put(np.concatenate([entries, twice, others])[:room])
        self._draws.use(self._line, "P")
        return super()._push()

    def _found(self) -> None:
        """What a push found, and what it put off, is the frontier."""
        super()._found()
        if not len(self._later):
            return
        self._draws.use(self._line, "A")
        found = self._mixed()
        late = self._later[~np.isin(self._later, found)]
        self._put(np.concatenate([found, late]))
        self._later = np.zeros(0, np.uint64)

    def _mixed(self) -> NDArray[np.uint64]:
        """The entries of the frontier in random order."""
        entries = self._queues[0][: self._frontier.entries]
        entries = np.unique(entries[entries != np.uint64(WALK_NOBODY)])
        self._draws.order(entries)
        return entries

    def _put(self, entries: NDArray[np.uint64]) -> None:
        """Let the frontier be these entries."""
        self._queues[0][: len(entries)] = entries
        vertices = np.unique(entries & np.uint64(0xFFFFFFFF)).astype(np.int64)
        offsets = self._out.offsets.view(np.int64)
        edges = int((offsets[vertices + 1] - offsets[vertices]).sum())
        self._frontier = replace(self._frontier, entries=len(entries), active=len(vertices), edges=edges)


class _ChaosReach(ReachLoop):
    """Supersteps in any of the three ways in which a uniform frontier reaches others."""

    def __init__(self, stage: StageSpec, passes: Passes, draws: Draws, line: int) -> None:
        super().__init__(stage, passes, True)
        self._draws, self._line, self._most = draws, line, self._narrow

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep, or many in one call if they are narrow, as they are."""
        self._narrow = self._most if self._draws.coin(0.25) else 0
        rows = super().advance(room)
        for row in rows:
            self._draws.use(self._line, "P" if row.mode == "push" else "X2")
        return rows

    def _start(self) -> None:
        self._draws.use(self._line, "Z")
        super()._start()

    def _should_look(self) -> bool:
        return self._draws.coin()
