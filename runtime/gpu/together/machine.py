"""The machines of runs that share their full passes on one GPU.

The runs take turns and meet as on a CPU (`vlang.runtime.cpu.together.group`). All machines queue their work on the
default stream of one device. The edges are on the device once: the first machine holds them, and the others use them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from vlang.errors import OutOfMemory
from vlang.options import Options
from vlang.runtime.cpu.together.group import Group
from vlang.runtime.cpu.together.sharing import Sharing
from vlang.runtime.gpu.device.device import Device
from vlang.runtime.gpu.gpu_machine import GpuMachine
from vlang.runtime.gpu.kernels.entries import WOVEN
from vlang.runtime.gpu.passes.gpu_frontier import Arena
from vlang.runtime.gpu.together.woven import Woven, specs_of, woven_kernels
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.ways.full_passes import FullPasses
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan, StageSpec

__all__ = ["TogetherGpuMachine", "machines_together"]

_TRIED = 1 << 20  # edges of a pass from which shared passes are compared with passes by each run


class TogetherGpuMachine(GpuMachine):
    """The machine of one run of a group.

    Args:
        device: the device of all runs.
        plan: the program.
        graph: the graph.
        options: the options of the run.
        host: the machine of the first run, which holds the edges on the device; None for the first run.
    """

    runs_ahead: ClassVar[bool] = False  # the runs would share a superstep that may be undone

    def __init__(
        self, device: Device, plan: Plan, graph: Graph, options: Options, host: TogetherGpuMachine | None = None
    ) -> None:
        self.host, self.token = host, object()
        self._group: Group | None = None
        self._specs = specs_of(plan)
        super().__init__(device, plan, graph, options)

    def full_passes(self) -> FullPasses:
        """Return the object that runs full passes, before it is opened."""
        return _TogetherPasses(self)

    def join(self, group: Group, number: int, woven: Woven) -> None:
        """Share passes with a group from now on, as run `number` of the group."""
        self._group, self._number, self.woven = group, number, woven

    def sharing(self, stage: StageSpec) -> Sharing | None:
        """The object that compares shared passes of a stage with separate passes; None if all passes are shared."""
        side = self.passes.topologies[stage.domain or "in"].side
        if len(side) < _TRIED:
            return None
        key = "together", stage.name, hash(self.plan.text), self.device.info.identity or self.device.info.name
        found: Sharing = side.derived(key, Sharing)
        return found

    def gather(self, stage: StageSpec) -> int:
        """Run the rest of `run_full`, after `send`; the group computes the reductions if runs may share the pass."""
        group = self._group
        if group is None or not group.many or stage.name not in self._specs or stage.name in self._in_place:
            return super().gather(stage)
        sharing = self.sharing(stage)
        if sharing is not None and not sharing.pays:
            edges = super().gather(stage)
            sharing.ended(False, self.token, 1)
            group.alone += 1
            return edges
        if not group.meet(self._number, _GpuPass(self, stage)):
            return super().gather(stage)
        topology = self.passes.topologies[stage.domain or "in"]
        self.passes.finish(stage, 0, topology.long_count)
        for name in stage.swaps:
            self.state.swap(name)
        return topology.edges

    def reserve(self) -> int:
        """The bytes of device memory that the loops of the run may allocate later."""
        sides = {kind: topology.side for kind, topology in self.passes.topologies.items()}
        return sum(Arena.bytes(sizes) for way, loop in self.passes.taken() for sizes in way.sizes(loop, self.n, sides))


class _TogetherPasses(FullPasses):
    """Full passes of a run of a group."""

    def _place(self, sides: Mapping[str, Side], uses: Mapping[str, Mapping[str, Use]]) -> None:
        """Create the topology, or use that of the first run."""
        assert isinstance(self.machine, TogetherGpuMachine)
        if self.machine.host is None:
            super()._place(sides, uses)
        else:
            self.topologies.update(self.machine.host.passes.topologies)

    def _load(self) -> None:
        """Compile, or load from the cache, the kernels that the passes will launch."""
        super()._load()
        shared = specs_of(self.machine.plan)
        for stage in self.machine.plan.stages:
            if stage.name in shared and stage.gpu is not None:
                self.machine.load(woven_kernels(self.machine, stage, self.choices(stage, stage.gpu)))

    def close(self) -> None:
        """Free the memory of the run, except the edges of the first run."""
        assert isinstance(self.machine, TogetherGpuMachine)
        if self.machine.host is not None:
            self.topologies.clear()
        super().close()


class _GpuPass:
    """A full pass whose reductions a run needs; a `vlang.runtime.cpu.together.group.Meeting`."""

    def __init__(self, machine: TogetherGpuMachine, stage: StageSpec) -> None:
        self.machine, self._stage = machine, stage

    @property
    def key(self) -> Hashable:
        """The pass, and the bits of the graph-level values that its contributions read."""
        return (self._stage.name, *self.machine.state.words_of(specs_of(self.machine.plan)[self._stage.name].same))

    def share(self, group: Group, runs: Sequence[_GpuPass]) -> bool:
        """Compute the reductions of at most WOVEN runs at a time."""
        for first in range(0, len(runs), WOVEN):
            self.machine.woven.reduce(self._stage, [one.machine for one in runs[first : first + WOVEN]])
        sharing = self.machine.sharing(self._stage)
        if sharing is not None:
            sharing.ended(True, group.token, len(runs))
        return True


@contextmanager
def machines_together(
    device: Device, plan: Plan, graph: Graph, options: Sequence[Options]
) -> Iterator[tuple[list[TogetherGpuMachine], Woven | None]]:
    """A context manager for the machines of runs that share their passes: as many, in order, as fit into the memory of
    the device. The list is empty, and there is no `Woven`, if not even one of them fits.

    Args:
        device: an open device.
        plan: the program.
        graph: the graph of all runs, whose edges are in memory.
        options: the options of each run.
    """
    machines: list[TogetherGpuMachine] = []
    with ExitStack() as stack:
        woven = None
        try:
            for one in options:
                machine = TogetherGpuMachine(device, plan, graph, one, machines[0] if machines else None)
                if (len(machines) + 1) * machine.reserve() > device.budget() - device.allocated():
                    machine.close()
                    break
                stack.callback(machine.close)
                if woven is None:
                    woven = Woven(machine)
                    stack.callback(woven.close)
                machines.append(machine)
        except OutOfMemory:
            pass  # the machines before this one fit
        yield machines, woven
