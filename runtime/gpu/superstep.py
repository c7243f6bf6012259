"""Supersteps of one loop on a GPU: every pass in full, or sparse where the facts of the loop allow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlang.runtime.kernelset import LoopSpec, ScalarSpec
from vlang.runtime.machine import Done, Stats

if TYPE_CHECKING:
    from vlang.runtime.gpu.machine import GpuMachine

__all__ = ["GpuLoop"]


class GpuLoop:
    """Runs the supersteps of a loop.

    Loops whose result does not depend on order (rule A) write in place unless the caller counts supersteps: they end
    in the same state after fewer of them. Those with a uniform frontier (rule X2) do not: it holds between whole
    supersteps only, and settled vertices gain more.
    """

    def __init__(self, machine: GpuMachine, spec: LoopSpec, bound: int | None) -> None:
        self._machine, self._spec = machine, spec
        options = machine.options
        frontier = any(stage.gpu is not None and stage.gpu.early == "frontier" for stage in spec.stages)
        in_place = spec.asynchronous and not frontier and (options.asynchronous or options.max_rounds is None)
        for stage in spec.stages:
            machine.in_place(stage, in_place)
        if "work:active" in machine.state.buffers:
            active = machine.state.buffers["work:active"]
            machine.device.fill(active.pointer, active.nbytes, 1)
        self._edges = 0

    @property
    def stats(self) -> Stats:
        """What the last superstep counted; waits for it."""
        return self._machine.counted()

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run a superstep."""
        machine, state = self._machine, self._machine.state
        state.flush()
        for name in self._spec.starts:
            start, now = state.buffers[f"start:{name}"], state.buffers[f"field:{name}"]
            machine.device.copy(start.pointer, now.pointer, now.nbytes)
        self._edges = 0
        for step in self._spec.steps:
            if isinstance(step, ScalarSpec):
                machine.evaluate(step)
            else:
                self._edges += machine.run_full(step)
        return ()

    def last(self) -> Done:
        """The last superstep, which has ended."""
        return Done(self.stats.active, "pull", self._edges)

    def close(self) -> None:
        """Give every field its second buffer back."""
        for stage in self._spec.stages:
            self._machine.in_place(stage, False)
