"""Queues the next superstep, or its beginning, before the counts of the last superstep are read.

The host needs the counts of a superstep, and the value of `until`, to decide whether the loop goes on. If it queued the
next superstep only then, the GPU would have no work while the host reads, decides and launches: 40 to 60 us. A loop
that runs ahead keeps a copy of the graph-level values and counts, queues the next superstep, and then reads the copy.
If the loop has ended, the queued superstep is undone: the buffers of its fields are swapped back, and the graph-level
values are restored.

If edges are streamed, only the first pages of the superstep are queued. While the host reads the copy, these pages keep
the link busy, and if the loop has ended, little was done in vain.

Only loops whose superstep can be undone run ahead: full passes over edges in memory, in which all values written are in
fields with two buffers or in graph-level values.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vlang.errors import OutOfMemory
from vlang.runtime.engine.cycle import WATCHED_FROM, is_watched
from vlang.runtime.gpu.kernels.choose_kernel import EDGE_LIST
from vlang.runtime.gpu.topology.transfers import Traffic
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.plan import LoopSpec
from vlang.runtime.threads.pieces import Pieces, completed, queue_some

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["HOST_SECONDS", "RunAhead", "can_be_undone"]

HOST_SECONDS = 50e-6  # of a superstep in which the GPU waits for the host, if the loop does not run ahead
_EXPECTED = 10  # supersteps that a loop with an unknown end is expected to run
_PAGES = 6  # streamed pages that are queued ahead: cached pages, and after these begins the copy of every second page


def can_be_undone(machine: GpuMachine, spec: LoopSpec) -> bool:
    """Return whether a superstep that runs as full passes can be undone by swapping buffers back."""
    swapped = [name for stage in spec.stages for name in stage.swaps]
    return (
        machine.runs_ahead
        and not machine.plan.faults
        and machine.options.checkpoint is None and machine.options.on_interrupt == "stop"
        and not (spec.nested or spec.explicit or spec.starts or spec.sent)
        and len(set(swapped)) == len(swapped)
        and not any(stage.pointer or stage.stores or stage.notify for stage in spec.stages)
        and not any(set(stage.written) - set(stage.swaps) for stage in spec.stages)
        and machine.options.kernel != EDGE_LIST
        and all(isinstance(topology.side, Adjacency) for topology in machine.passes.topologies.values())
    )


class RunAhead:
    """The queued superstep of a loop.

    Args:
        machines: the machine of the run; or, on several GPUs, their machines.
        spec: a loop whose superstep can be undone.
        rounds: the number of supersteps that the loop ran before.
        saved: the seconds of a superstep in which the GPU waits for the host, if the loop does not run ahead; None for
            HOST_SECONDS.
    """

    def __init__(
        self, machines: Sequence[GpuMachine], spec: LoopSpec, rounds: int, saved: float | None = None
    ) -> None:
        self._machines, self._spec, self._rounds = machines, spec, rounds
        self._saved = HOST_SECONDS if saved is None else saved
        self._free = spec.until is None and spec.exact  # the loop usually ends at its limit, which is known
        self._most = WATCHED_FROM if is_watched(spec) else None  # later supersteps may be compared with a copy
        self._ended = time.perf_counter()
        self._seconds = math.inf  # of the last superstep
        self._done = 0
        self._topologies = [one for machine in machines for one in machine.passes.topologies.values()]
        self._streamed = not all(topology.resident for topology in self._topologies)
        self._superstep: Pieces[int] | None = None  # the queued superstep
        self._edges: int | None = None  # traversed by the queued superstep; None if the rest is not queued yet
        self._moved: list[Traffic] = []  # what was moved ahead, for each topology; it is counted in the next superstep

    @property
    def queued(self) -> bool:
        """Whether a superstep is queued that the loop has not yet counted, or the first pages of one."""
        return self._superstep is not None

    def follow(self, room: int | None, superstep: Callable[[], Pieces[int]]) -> None:
        """Queue the next superstep if that is useful; then read the counts of the last superstep.

        A superstep that must be undone takes its time in vain. So a loop with an unknown end queues a whole superstep
        only if one superstep takes no longer than the waits for the host in the supersteps so far and in `_EXPECTED`
        more.

        Args:
            room: the number of supersteps that the loop may still run; None for no limit.
            superstep: returns the pieces of a superstep, whose result is the number of edges traversed.
        """
        self._rounds += 1
        self._done += 1
        states = [machine.state for machine in self._machines]
        useful = self._streamed or self._free or (self._done + _EXPECTED) * self._saved >= self._seconds
        if useful and room != 0 and (self._most is None or self._rounds < self._most):
            try:
                for state in states:
                    state.remember()
            except OutOfMemory:
                self._most = 0
                for state in states:
                    state.go_on()
            else:
                for machine in self._machines if self._spec.reads_iteration else ():
                    machine.set_scalar("iteration", machine.state.scalar_set("iteration") + 1)
                self._superstep = superstep()
                self._queue(self._superstep)
        for state in states:
            state.counted()
        now = time.perf_counter()
        self._seconds, self._ended = now - self._ended, now

    def _queue(self, superstep: Pieces[int]) -> None:
        """Queue a superstep, or only its first pages if edges are streamed."""
        before = [topology.traffic for topology in self._topologies]
        self._moved = [Traffic() for _ in before]
        self._count(self._moved)
        try:
            self._edges = queue_some(superstep, _PAGES) if self._streamed else completed(superstep)
        finally:
            self._count(before)

    def _count(self, traffic: list[Traffic]) -> None:
        for topology, counts in zip(self._topologies, traffic):
            topology.traffic = counts

    def _counted(self) -> None:
        """Count what was moved ahead."""
        for topology, more in zip(self._topologies, self._moved):
            topology.traffic.add(more)

    def take(self) -> int:
        """Count the queued superstep as the next one, and queue the rest; returns the number of edges traversed."""
        superstep, self._superstep = self._superstep, None
        assert superstep is not None
        for machine in self._machines:
            machine.state.go_on()
        self._counted()
        return completed(superstep) if self._edges is None else self._edges

    def close(self) -> None:
        """Undo the queued superstep, if there is one."""
        if self._superstep is not None:
            self._superstep.close()
            self._superstep = None
            for machine in self._machines:
                machine.state.go_back()
            self._counted()
