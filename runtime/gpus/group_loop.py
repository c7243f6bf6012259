"""Supersteps of a loop on several GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlang.runtime.engine.machine import Done, Start, Stats
from vlang.runtime.gpu.ways.run_ahead import RunAhead, can_be_undone
from vlang.runtime.plan.plan import LoopSpec, ScalarSpec
from vlang.runtime.threads.pieces import Pieces, completed

if TYPE_CHECKING:
    from vlang.runtime.gpus.group_machine import GroupMachine
    from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["GroupLoop"]

_HOST_SECONDS = 200e-6  # of a superstep in which two GPUs wait for the host, if the loop does not run ahead


class GroupLoop:
    """Runs the supersteps of a loop one by one, as full passes; a `vlang.runtime.engine.machine.Loop`.

    Args:
        machine: the machine of all GPUs.
        parts: the machines of the GPUs.
        spec: the loop.
        start: the state of an earlier run from which the loop continues, with every vertex active; None for a loop
            that begins anew.
    """

    def __init__(
        self, machine: GroupMachine, parts: Sequence[PartMachine], spec: LoopSpec, start: Start | None
    ) -> None:
        self._machine, self._spec = machine, spec
        self._edges = 0
        self._room: int | None = None  # supersteps that the loop may run after the current one
        self._ahead: RunAhead | None = None
        resident = all(topology.resident for part in parts for topology in part.passes.topologies.values())
        if resident and all(part.at_once and can_be_undone(part, spec) for part in parts):
            self._ahead = RunAhead(parts, spec, 0 if start is None else start.rounds, _HOST_SECONDS)
        if start is None or not start.placed:
            for name in spec.sent:
                machine.fill(spec.slot("sent", name), 0)
            if spec.explicit:
                machine.fill(spec.slot("work", "active"), 1)
        for name, sent in ({} if start is None else start.sent).items():
            machine.give_slot(spec.slot("sent", name), sent)

    @property
    def stats(self) -> Stats:
        """The counts of the last superstep, after waiting for its end."""
        return self._machine.counted()

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep."""
        self._room = None if room is None else room - 1
        if self._ahead is not None and self._ahead.queued:
            self._edges = self._ahead.take()
            return ()
        for name in self._spec.starts:
            self._machine.copy(self._spec.slot("start", name), f"field:{name}")
        self._edges = completed(self._steps())
        return ()

    def _steps(self) -> Pieces[int]:
        """Queue the steps of a superstep, one after each yield; returns the number of edges traversed."""
        edges = 0
        for step in self._spec.plain:
            yield
            if isinstance(step, ScalarSpec):
                self._machine.evaluate(step)
            else:
                edges += self._machine.run_pass(step)
        return edges

    def last(self) -> Done:
        """Return the record of the last superstep, which has ended."""
        if self._ahead is not None:
            self._ahead.follow(self._room, self._steps)
        return Done(self.stats.active, "pull", self._edges)

    def close(self) -> None:
        """Undo a superstep that is queued ahead."""
        if self._ahead is not None:
            self._ahead.close()
