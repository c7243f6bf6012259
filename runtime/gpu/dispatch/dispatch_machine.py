"""The machine of a GPU with which the CPU shares the pages of full passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from vlang.options import Options
from vlang.runtime.gpu.device.device import Device
from vlang.runtime.gpu.dispatch.dispatched_passes import DispatchedPasses
from vlang.runtime.gpu.gpu_machine import GpuMachine
from vlang.runtime.gpu.topology.sides import DiskPages
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan, StageSpec

__all__ = ["DispatchMachine"]


class DispatchMachine(GpuMachine):
    """A `GpuMachine` under the option `dispatch`.

    Args:
        device: an open device.
        plan: the compiled program.
        graph: the graph of the run.
        options: the options of the run.
        disk: the pages of a graph on disk, which the GPU processes alone; None for a graph in memory.
        plan_for: compiles the program for the CPU.
    """

    runs_ahead: ClassVar[bool] = False

    def __init__(
        self, device: Device, plan: Plan, graph: Graph, options: Options, disk: DiskPages | None,
        plan_for: Callable[[], Plan],
    ) -> None:
        self._plan_for = plan_for
        super().__init__(device, plan, graph, options, disk)

    def full_passes(self) -> DispatchedPasses:
        """See `GpuMachine.full_passes`."""
        self._dispatched = DispatchedPasses(self, plan_for=self._plan_for, target=self._target)
        return self._dispatched

    def _target(self, stage: StageSpec, name: str) -> int:
        """Return the device address of the array to which a pass writes a field."""
        two = name in stage.swaps and stage.name not in self._in_place
        return self.pointer(f"next:{name}" if two else f"field:{name}")

    def set_scalar(self, name: str, value: bool | int | float) -> None:
        """Store a graph-level value for both devices."""
        super().set_scalar(name, value)
        if self._dispatched.cpu is not None and f"scalar:{name}" in self._dispatched.cpu.state.plan.slots:
            self._dispatched.cpu.set_scalar(name, value)
