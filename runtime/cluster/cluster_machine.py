"""The machine of one rank: it runs passes over the vertices of the rank, and exchanges values with other ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cluster.cluster_passes import ClusterPasses, LocalPages, RankFreedoms
from vlang.runtime.cluster.cluster_ways import CLUSTER_WAYS
from vlang.runtime.cluster.local_graph import RECEIVERS, LocalGraph
from vlang.runtime.cluster.rank_levels import RankSweep
from vlang.runtime.cluster.transports.transport import Transport, gathered_whole, summed
from vlang.runtime.cpu.cpu_machine import CpuMachine
from vlang.runtime.cpu.paged.source import PageSource
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.cpu_way import CpuWay
from vlang.runtime.engine.machine import Loop, Start, Values
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import BLOCK, Contract, LoopSpec, Plan, ScalarSpec, StageSpec, Step, SweepSpec

if TYPE_CHECKING:
    from vlang.runtime.storage.reading.ring import Ring

__all__ = ["ClusterMachine", "turned_plan"]


def turned_plan(plan: Plan) -> Plan:
    """Return the plan for one rank. In this plan, passes notify along transposed rows of the rank instead of rows of
    the whole graph.
    """
    return replace(plan, steps=tuple(map(_turned, plan.steps)))


def _turned(step: Step) -> Step:
    if isinstance(step, StageSpec):
        return step if step.notify is None else replace(step, notify=f"{RECEIVERS}{step.domain}")
    if isinstance(step, (ScalarSpec, Contract)):
        return step
    return replace(step, steps=tuple(map(_turned, step.steps)))


class ClusterMachine(CpuMachine):
    """The machine of one rank. All ranks call the same methods in the same order.

    Args:
        plan: the program, as `turned_plan` returns it.
        graph: the part of the graph that the rank holds.
        options: the options of the run.
        transport: the transport of the rank.

    Attributes:
        numbers: the local vertex numbers of the rank.
    """

    def __init__(self, plan: Plan, graph: LocalGraph, options: Options, transport: Transport) -> None:
        self.transport, self.local, self.numbers = transport, graph, graph.numbers
        super().__init__(plan, graph, options, RankFreedoms(transport.beside, graph.dealt is None))
        for stage in plan.stages:  # built before the clock starts
            if options.mode != "pull" and (stage.notify is not None or "reach" in stage.ways):
                names = tuple(name for name, _ in stage.columns) if "priority" in stage.ways else ()
                graph.adjacency(f"{RECEIVERS}{stage.domain}", names)

    @property
    def ways(self) -> Sequence[CpuWay]:
        """The execution ways of loops."""
        return CLUSTER_WAYS

    def pointers(self, graph: Graph) -> int:
        """Return the number of vertices of the whole graph, because all of them can point to vertices of this rank."""
        return self.numbers.ranges.n

    def source(self, graph: Graph, page_size: int, ring: Ring | None) -> PageSource:
        """Return the edges of the rank, cut into pages."""
        assert isinstance(graph, LocalGraph)
        return LocalPages(graph, page_size)

    def passes_over(self, source: PageSource, freedoms: Freedoms) -> Passes:
        """Create the object that runs passes over the vertices of the rank."""
        plan = self._plan
        folds = {spec.fold.kernel: spec.fold for spec in plan.values if spec.fold is not None}
        senders = {stage.kernels["messages"]: stage for stage in plan.stages if "messages" in stage.kernels}
        made = ClusterPasses(
            self.local, self.state, self._kernels, self._cpu, source, switching=self.options.switching,
            freedoms=freedoms, transport=self.transport, folds=folds, senders=senders)
        self._rank = made
        return made

    # ------------------------------------------------------------------------------------------- values of the run
    def give(self, field: str, array: NDArray[Any]) -> None:
        """Store the values of a vertex field of the whole graph."""
        slot = f"field:{field}"
        self._rank.forget(slot)
        np.copyto(self.state.arrays[slot], self.numbers.local(self.local.arranged(np.ascontiguousarray(array))))

    def array(self, slot: str) -> NDArray[Any]:
        """Return the values of a vertex array for the whole graph, collected from all ranks."""
        return self.local.restored(gathered_whole(self.transport, self.numbers.own(self.state.arrays[slot]), slot))

    def others(self, slot: str, value: int) -> int:
        """Return the number of entries that differ from `value` in a vertex array, counted over all ranks."""
        own = self.numbers.own(self.state.arrays[slot])
        return summed(self.transport, [int(np.count_nonzero(own != value))], slot)[0]

    def values(self) -> Values:
        """Return the values of the output fields of the whole graph, and of the globals."""
        outputs = [spec.name for spec in self._plan.fields if spec.output]
        return Values({name: self.array(f"field:{name}") for name in outputs},
                      {name: self.state.scalar(name) for name, _ in self._plan.globals})

    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute and store a graph-level value."""
        if spec.fold is not None:
            self._rank.fold(spec.fold)
        frame, slots = self.state.frame, self._plan.slots
        kept = {slots[slot]: int(frame[slots[slot]]) for slot in self._rank.parts}
        for slot, array in self._rank.parts.items():
            frame[slots[slot]] = array.ctypes.data
        self._kernels["scalars"](frame, spec.index, -(-self.numbers.ranges.n // BLOCK))
        for number, address in kept.items():
            frame[number] = address

    # ------------------------------------------------------------------------------------------- passes and loops
    def run_pass(self, stage: StageSpec) -> int:
        """Run a pass over all vertices; returns the number of edges that all ranks traversed."""
        stats, edges = self.passes.full(stage)
        for name in stage.swaps:
            self.state.swap(name)
        stats, edges = self._rank.agreed(stage, "pull", stats, edges)
        if stage.loop_end:
            self._stats = stats
        return edges

    def copy(self, slot: str, source: str) -> None:
        """Copy one vertex array over another."""
        self._rank.changed()
        super().copy(slot, source)

    def fill(self, slot: str, byte: int) -> None:
        """Set every byte of a vertex array."""
        self._rank.forget(slot)
        super().fill(slot, byte)

    def loop(self, spec: LoopSpec, bound: int | None, start: Start | None = None) -> Loop:
        """Begin a loop. The loop uses only those entries of `start` that belong to vertices of this rank.

        If `start` comes from a checkpoint (`start.placed`), it has entries only for vertices of this rank; otherwise it
        has entries for all vertices.
        """
        if start is not None:
            first, last = self.numbers.ranges.of(self.transport.rank)
            flags, arranged = start.flags, self.local.arranged
            own = flags if flags is None or start.placed else arranged(flags)[first:last]
            sent = {name: self.numbers.local(arranged(array)) for name, array in start.sent.items()}
            start = replace(start, fields={}, sent=sent,
                            flags=None if own is None else self._own_flags(own))
        self._rank.changed()
        return super().loop(spec, bound, start)

    def _own_flags(self, flags: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the flags of the local vertices. Mirrors have flag 0, because their flags arrive with the next
        exchange.

        `flags` has the flags of the owned vertices.
        """
        found: NDArray[np.uint8] = np.zeros(self.numbers.n, np.uint8)
        self.numbers.own(found)[:] = flags
        return found

    # ------------------------------------------------------------------------------------------- checkpoints
    def share(self, slot: str) -> NDArray[Any]:
        """Return the values of a vertex array for the vertices that this rank owns."""
        return self.numbers.own(self.state.arrays[slot])

    def put(self, slot: str, array: NDArray[Any]) -> None:
        """Store the values of the owned vertices; the next exchange sends the values of mirrors."""
        self._rank.forget(slot)
        np.copyto(self.share(slot), array)

    def copies(self, kept: object) -> Sequence[NDArray[Any]]:
        """Return the values of the owned vertices in a copy that `keep` returned."""
        return [self.numbers.own(copy) for copy in super().copies(kept)]

    def begin_sweep(self, spec: SweepSpec) -> RankSweep:
        """Begin a sweep."""
        return RankSweep(spec, self.passes, self._levels)

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Return whether vertex arrays have, on all ranks, the same bits as their copies in `kept`."""
        assert isinstance(kept, list)
        own = self.numbers.own
        differ = any(own(copy).tobytes() != own(self.state.arrays[slot]).tobytes() for slot, copy in zip(slots, kept))
        return summed(self.transport, [int(differ)], "repeated states")[0] == 0
