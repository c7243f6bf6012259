"""Supersteps of a loop on several GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlang.runtime.engine.machine import Done, Start, Stats
from vlang.runtime.plan.plan import LoopSpec, ScalarSpec

if TYPE_CHECKING:
    from vlang.runtime.gpus.group_machine import GroupMachine

__all__ = ["GroupLoop"]


class GroupLoop:
    """Runs the supersteps of a loop one by one, as full passes; a `vlang.runtime.engine.machine.Loop`.

    Args:
        machine: the machine of all GPUs.
        spec: the loop.
        start: the state of an earlier run from which the loop continues, with every vertex active; None for a loop
            that begins anew.
    """

    def __init__(self, machine: GroupMachine, spec: LoopSpec, start: Start | None) -> None:
        self._machine, self._spec = machine, spec
        self._edges = 0
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
        machine = self._machine
        for name in self._spec.starts:
            machine.copy(self._spec.slot("start", name), f"field:{name}")
        self._edges = 0
        for step in self._spec.plain:
            if isinstance(step, ScalarSpec):
                machine.evaluate(step)
            else:
                self._edges += machine.run_pass(step)
        return ()

    def last(self) -> Done:
        """Return the record of the last superstep, which has ended."""
        return Done(self.stats.active, "pull", self._edges)

    def close(self) -> None:
        """Do nothing, because the loop has no memory of its own."""
