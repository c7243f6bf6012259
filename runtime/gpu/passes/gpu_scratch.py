"""Scratch memory on a GPU for passes that need all contributions of a vertex at once.

The scratch memory of a vertex is allocated in shared memory if it fits (see vlang/emit/cuda/skeletons/holistic.cuh). A
vertex that needs more scratch memory uses *block scratch* in global memory, which a block of threads claims for that
vertex. Each long vertex has its own scratch memory in global memory, which is zero between passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.records import dataclass
from vlang.runtime.gpu.device.arena import rounded
from vlang.runtime.gpu.device.device import Buffer, Device
from vlang.runtime.gpu.kernels.entries import SCRATCH_WORDS
from vlang.runtime.gpu.topology.cut import long_rows
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.plan.plan import SEGMENT, THREADS, StageSpec

__all__ = ["GpuScratch", "least_scratch", "scratch_words", "whole_name"]

_PER_MULTIPROCESSOR = 2  # pieces of block scratch; few vertices need one, and blocks wait until one is free


_LONG = "the scratch memory of long vertices"


@dataclass(frozen=True)
class _LongScratch:
    """The scratch memory of a pass for long vertices.

    Attributes:
        pointer: device address of the struct LongScratch.
        starts: device address of the offsets at which the scratch memory of each vertex begins.
        count: the number of long vertices.
    """

    pointer: int
    starts: int
    count: int


def whole_name(stage: StageSpec, template: str) -> str:
    """Return the name of a template, or of its variant if the pass needs all contributions of a vertex at once."""
    if not stage.structures:
        return template
    base, _, end = template.partition("_")
    return f"{base}_whole_{end}" if end else f"{base}_whole"


def scratch_words(structures: Sequence[str], degrees: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the number of 32-bit words of scratch memory for each vertex, from its degree, uint64. scratch.cuh uses
    the same formula.
    """
    degree = degrees.astype(np.uint64)
    slots = degree + degree // 2 + 2
    sizes = {"mode32": 2 * slots, "mode64": 3 * slots, "mex": degree // 32 + 1, "hindex": degree + 1,
             "median32": degree + 2, "median64": 2 * degree + 2}
    total = np.zeros(len(degree), dtype=np.uint64)
    for name in structures:
        kind, *numbers = name.split(":")
        total += degree * np.uint64(2 * int(numbers[2]) + 2) if kind == "grouped" else sizes[name] + sizes[name] % 2
    return total


def _sizes(side: Side, structures: tuple[str, ...]) -> tuple[NDArray[np.uint64], int]:
    """Return the scratch offsets of long vertices, and the maximum scratch words of other vertices; both are cached in
    `side`.
    """

    def find() -> tuple[NDArray[np.uint64], int]:
        degrees, longs = np.diff(side.offsets), long_rows(side).longs[:, 0]
        starts = np.zeros(len(longs) + 1, dtype=np.uint64)
        np.cumsum(scratch_words(structures, degrees[longs]), out=starts[1:])
        short = degrees[degrees <= SEGMENT]
        return starts, int(scratch_words(structures, short.max(keepdims=True))[0]) if len(short) else 0

    found: tuple[NDArray[np.uint64], int] = side.derived(("scratch", structures), find)
    return found


def least_scratch(device: Device, stages: Sequence[StageSpec], sides: Mapping[str, Side]) -> int:
    """Return the bytes of device memory that `GpuScratch` takes if memory is as short as possible.

    Args:
        device: the device.
        stages: the passes of the plan.
        sides: the edges of each direction.
    """
    found = [_sizes(sides[stage.domain or "in"], tuple(stage.structures))
             for stage in stages if stage.structures and stage.domain in sides]
    if not found:
        return 0
    widest = max(words for _, words in found)
    widest = widest if widest > THREADS // 32 * SCRATCH_WORDS else 0
    flags = _PER_MULTIPROCESSOR * device.info.multiprocessors if widest else 1
    sizes = [size for starts, _ in found for size in (starts.nbytes, 8 * 4)]
    sizes += [4 * max(int(starts[-1]) for starts, _ in found), 4 * flags, 4 * widest, 8 * 4]
    return sum(map(rounded, sizes))


class GpuScratch:
    """The scratch memory in global memory for all passes of a plan, which run one at a time and share this memory.

    Args:
        device: the device.
        stages: the passes of the plan.
        sides: the edges of each direction.

    Raises:
        OutOfMemory: there is no memory for the scratch memory.
    """

    def __init__(self, device: Device, stages: Sequence[StageSpec], sides: Mapping[str, Side]) -> None:
        self._device = device
        self._buffers: list[Buffer] = []
        self._stages = [stage for stage in stages if stage.structures and stage.domain in sides]
        self._long_scratch: dict[str, _LongScratch] = {}
        self._block_scratch = 0
        if not self._stages:
            return
        try:
            self._take(sides)
        except OutOfMemory:
            self.close()
            raise

    def _take(self, sides: Mapping[str, Side]) -> None:
        """Allocate the scratch memory for all passes."""
        widest, long_scratch = 0, 0
        for stage in self._stages:
            side = sides[stage.domain or "in"]
            starts, words = _sizes(side, tuple(stage.structures))
            where = self._allocate(starts.nbytes, _LONG)
            self._device.upload(where, starts)
            self._long_scratch[stage.name] = _LongScratch(self._allocate(8 * 4, _LONG), where, len(starts) - 1)
            long_scratch, widest = max(long_scratch, int(starts[-1])), max(widest, words)
        self._memory = self._allocate(4 * long_scratch, _LONG, zeroed=True)
        self._allocate_block_scratch(widest if widest > THREADS // 32 * SCRATCH_WORDS else 0)

    def _allocate_block_scratch(self, words: int) -> None:
        """Allocate scratch memory for a number of blocks, or for fewer blocks if memory is short.

        A block that finds no free scratch memory waits for another block.
        """
        count = _PER_MULTIPROCESSOR * self._device.info.multiprocessors if words else 1
        flags = self._allocate(4 * count, "flags of block scratch", zeroed=True)
        while True:
            try:
                memory = self._allocate(4 * count * words, "scratch memory of large vertices")
                break
            except OutOfMemory:
                if count == 1:
                    raise
                count //= 2
        self._block_scratch = self._allocate(8 * 4, "block scratch")
        self._device.upload(self._block_scratch, np.array([flags, count, words, memory], dtype=np.uint64))

    def aim(self, topologies: Mapping[str, Topology]) -> None:
        """Write the structs with the addresses of the scratch memory of long vertices, after the topology was created.
        """
        for stage in self._stages:
            own, offsets = self._long_scratch[stage.name], topologies[stage.domain or "in"].offsets
            self._device.upload(own.pointer, np.array([own.starts, own.count, offsets, self._memory], np.uint64))

    def block_scratch(self, stage: StageSpec) -> tuple[int, ...]:
        """Return the address of the struct BlockScratch, as kernel arguments; empty for a pass without scratch memory.
        """
        return (self._block_scratch,) if stage.structures else ()

    def long_scratch(self, stage: StageSpec) -> tuple[int, ...]:
        """Return the address of the struct LongScratch of a pass, as kernel arguments; empty for a pass without scratch
        memory.
        """
        return (self._long_scratch[stage.name].pointer,) if stage.structures else ()

    def _allocate(self, size: int, what: str, zeroed: bool = False) -> int:
        buffer = self._device.allocate(max(16, -(-size // 16) * 16), what)
        self._buffers.append(buffer)
        if zeroed:
            self._device.fill(buffer.pointer, buffer.nbytes, 0)
        return buffer.pointer

    def close(self) -> None:
        """Free the memory."""
        for buffer in self._buffers:
            self._device.free(buffer)
        self._buffers.clear()
