"""Full passes of several runs in one traversal of the edges on a GPU (`together.cuh`).

The values of all runs at one vertex lie side by side in device memory. A warp reads the edges of a vertex once, and
each of its lanes reduces the contributions for one run, in the order of the kernel that a single run uses. Therefore
every result has the same bits as that of a single run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vlang.runtime.gpu.device.device import Buffer, Device, Stream
from vlang.runtime.gpu.kernels.choose_kernel import Choice, grid
from vlang.runtime.gpu.kernels.entries import WOVEN, shared_bytes
from vlang.runtime.gpu.topology.cut import Part
from vlang.runtime.gpu.ways.way import Key
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import SLOT_LONGS, SLOT_SEGMENTS, Plan, StageSpec
from vlang.runtime.plan.together_spec import TogetherSpec

if TYPE_CHECKING:
    from vlang.runtime.gpu.gpu_machine import GpuMachine

__all__ = ["MOST_VERTICES", "Woven", "specs_of", "woven_kernels"]

MOST_VERTICES = 2**32 // WOVEN  # kernels have 32-bit indices of woven values
_MOST_BLOCKS = 64  # per multiprocessor
_TILE = 33 * 32  # values that a block of the kernel `weave` keeps in shared memory
_LANES, _STRIP, _WINDOW = range(3)  # the orders of together.cuh
_ORDERS = {"pull_thread": _LANES, "pull_lanes": _LANES, "pull_segmented": _STRIP, "pull_stream": _WINDOW,
           "pull_shards": _LANES}  # pull_shards has no order of its own: it joins by atomic operations


def specs_of(plan: Plan) -> dict[str, TogetherSpec]:
    """Return the passes of a plan that runs can share, by name."""
    return {stage.name: stage.gpu.together for stage in plan.stages
            if stage.gpu is not None and stage.gpu.together is not None and not stage.pointer}


def woven_kernels(machine: GpuMachine, stage: StageSpec, choices: Sequence[Choice]) -> list[Key]:
    """Return the kernels of a shared pass (template, struct, constants), if single runs use the kernels `choices`."""
    gpu = stage.gpu
    assert gpu is not None
    assert gpu.together is not None
    bits = {8 * machine.itemsize(slot) for slot in gpu.together.values}
    found = {("pull_woven", gpu.struct, _constants(choice)) for choice in choices if choice.template in _ORDERS}
    more = {(name, gpu.struct, ()) for name in ("rows_woven", "segments_woven")}
    return [*sorted(found | more), *((f"weave_{one}", "", ()) for one in sorted(bits))]


def _constants(choice: Choice) -> tuple[int, int]:
    """The constants of the kernel that keeps the order of a kernel of single runs."""
    return _ORDERS[choice.template], (choice.constants or (1,))[0] if choice.template == "pull_lanes" else 1


class Woven:
    """Device memory for the shared passes of a group of runs. Raises OutOfMemory.

    Args:
        machine: the machine of the first run.
    """

    def __init__(self, machine: GpuMachine) -> None:
        self._device, n = machine.device, machine.n
        specs = specs_of(machine.plan).values()
        width = max((len(spec.values) for spec in specs), default=0)
        sizes = [max((machine.itemsize(spec.values[k]) for spec in specs if k < len(spec.values)), default=0)
                 for k in range(width)]
        self._buffers: list[Buffer] = []
        try:
            self._table = self._allocate(self._device, 8 * WOVEN * (1 + width), "a table of runs")
            self._frame = self._allocate(self._device, machine.state.frame_bytes, "the frame of shared passes")
            what = f"the values of {WOVEN} runs at {n:,} vertices"
            self._rows = [self._allocate(self._device, max(16, WOVEN * size * n), what) for size in sizes]
        except BaseException:
            self.close()
            raise

    def _allocate(self, device: Device, nbytes: int, what: str) -> int:
        self._buffers.append(device.allocate(nbytes, what))
        return self._buffers[-1].pointer

    def reduce(self, stage: StageSpec, runs: Sequence[GpuMachine]) -> None:
        """Queue a full pass of at most WOVEN runs whose messages are up to date. The segments of long vertices are
        reduced, but not merged.
        """
        host, gpu = runs[0], stage.gpu
        assert gpu is not None
        assert gpu.together is not None
        topology = host.passes.topologies[stage.domain or "in"]
        for one in runs:
            one.state.set_word(SLOT_SEGMENTS, topology.segments)
            one.state.set_word(SLOT_LONGS, topology.longs)
        words, count = np.zeros(WOVEN * (1 + len(gpu.together.values)), np.uint64), len(runs)
        words[:count] = [one.frame for one in runs]
        self._device.copy(self._frame, int(words[0]), host.state.frame_bytes)
        pairs: list[int] = []
        for number, (slot, rows) in enumerate(zip(gpu.together.values, self._rows), 1):
            words[WOVEN * number : WOVEN * number + count] = [one.pointer(slot) for one in runs]
            pairs += [host.plan.slots[slot], rows]
        self._device.upload(self._table, words)
        for number, (slot, rows) in enumerate(zip(gpu.together.values, self._rows), 1):
            size = host.itemsize(slot)
            host.launch(f"weave_{8 * size}", "", (), self._blocks(-(-host.n // 32)),
                        (self._table + 8 * WOVEN * number, rows, count, host.n), shared=_TILE * size)
        for at in range(0, len(pairs), 12):
            some = pairs[at : at + 12]
            args = (self._frame, len(some) // 2, *some, *[0] * (12 - len(some)))
            host.launch("set_words", "", (), 1, args, threads=32)
        topology.sweep(stage.name, lambda row, part, stream: self._page(host, stage, gpu, count, row, part, stream))

    def _page(
        self, host: GpuMachine, stage: StageSpec, gpu: GpuStage, count: int, row: int, part: Part,
        stream: Stream | None,
    ) -> None:
        constants = _constants(host.passes.choice(stage, gpu, part))
        blocks = ("rows_woven", (), part.low, part.high)  # first, because a block may have much work
        for template, more, low, high in (("segments_woven", (), part.first_segment, part.end_segment),
                                          *([blocks] if constants[0] == _WINDOW else []),
                                          ("pull_woven", constants, part.low, part.high)):
            if high > low:
                host.launch(template, gpu.struct, more, self._blocks(grid(template, more, high - low)),
                            (self._frame, row, low, high, self._table, count), shared=shared_bytes(template, gpu),
                            stream=stream)

    def _blocks(self, count: int) -> int:
        """The number of blocks of a launch with work for `count` blocks."""
        return min(count, _MOST_BLOCKS * self._device.info.multiprocessors)

    def close(self) -> None:
        """Free the memory."""
        while self._buffers:
            self._device.free(self._buffers.pop())
