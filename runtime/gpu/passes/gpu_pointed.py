"""Lists on a GPU: for each vertex, the vertices whose pointer field refers to it. Lists are rebuilt when a field
changes.

A pass along pointers pulls over these lists like a pass over edges. The device finds out whether the field has changed.
A changed field is copied to the host, the host sorts the vertices by the value of the field, and the lists are copied
back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.runtime.gpu.kernels.choose_kernel import Choice
from vlang.runtime.gpu.topology.footprint import Use
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.graph.topology.pointers import most_segments, pointed_lists
from vlang.runtime.plan.plan import StageSpec, pointer_of
from vlang.runtime.threads.processors import available_threads

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["KERNEL", "GpuPointed"]

KERNEL = Choice("warp-segmentation", "pull_segmented", (), "the rows differ in every superstep, and may be very uneven")


class GpuPointed:
    """The lists of each field along which the passes of a plan gather.

    Args:
        machine: the machine of the run.
    """

    def __init__(self, machine: GpuMachine) -> None:
        self._machine = machine
        self._uses: dict[str, dict[str, Use]] = {}  # by field, then by the name of the pass
        for stage in machine.plan.stages:
            if stage.pointer:
                self._uses.setdefault(stage.pointer, {})[stage.name] = Use()
        self._lists: dict[str, Topology] = {}
        self._kept: dict[str, object] = {}  # copies of the fields from which the lists were built, on the device

    def reserve(self) -> int:
        """Return the maximum bytes of device memory for all lists and for the copies of the fields."""
        n = self._machine.n
        tables = 8 * (n + 1) + 4 * n + 24 * 2 * most_segments(n) + (1 << 16)
        return len(self._uses) * (tables + 4 * n)

    def follow(self, field: str) -> None:
        """Rebuild the lists of a field if its values have changed; does nothing if `field` is ""."""
        if not field:
            return
        machine, slot = self._machine, f"field:{field}"
        kept = self._kept.get(field)
        if kept is not None and machine.same([slot], kept):
            return
        self._drop(field)
        lists = pointed_lists(machine.array(slot), machine.graph.order, available_threads())
        self._lists[field] = Topology(machine.device, machine.prepare, lists, self._uses[field],
                                      streams=machine.options.streams)
        copy = machine.keep([slot])
        if copy is not None:
            self._kept[field] = copy

    def lists(self, stage: StageSpec) -> Topology:
        """Return the lists over which a pass pulls."""
        return self._lists[pointer_of(stage.domain)]

    def _drop(self, field: str) -> None:
        kept, lists = self._kept.pop(field, None), self._lists.pop(field, None)
        if kept is not None:
            self._machine.forget(kept)
        if lists is not None:
            lists.close()

    def close(self) -> None:
        """Free the lists. The machine frees the copies of the fields."""
        self._kept.clear()
        while self._lists:
            self._lists.popitem()[1].close()
