"""Rooms on a GPU: memory in which the contributions of one vertex are counted, for passes that need all at once.

Rooms lie in shared memory where they fit (see vlang/emit/cuda/skeletons/holistic.cuh). Beside it there are *shelves*,
which blocks take for vertices that need more, and a room for each long vertex, which is zero between passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.runtime.gpu.device.device import Buffer, Device
from vlang.runtime.gpu.kernels.entries import ROOM_WORDS
from vlang.runtime.gpu.topology.cut import long_rows
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.plan import SEGMENT, THREADS, StageSpec

__all__ = ["Rooms", "room_words", "whole_name"]

_SHELVES = 2  # for each multiprocessor: such vertices are few, and blocks that find none wait


_LONG = "the rooms of long vertices"


@dataclass(frozen=True)
class _Hall:
    """The rooms of long vertices for a pass: where its struct lies, where the rooms' beginnings, and how many."""

    pointer: int
    starts: int
    count: int


def whole_name(stage: StageSpec, template: str) -> str:
    """The template for a pass: another one if it needs all contributions of a vertex at once."""
    if not stage.structures:
        return template
    base, _, end = template.partition("_")
    return f"{base}_whole_{end}" if end else f"{base}_whole"


def room_words(structures: Sequence[str], degrees: NDArray[Any]) -> NDArray[np.uint64]:
    """Words of 32 bits of the rooms of vertices with so many edges, uint64; the figures of rooms.cuh."""
    degree = degrees.astype(np.uint64)
    slots = degree + degree // 2 + 2
    sizes = {"mode32": 2 * slots, "mode64": 3 * slots, "mex": degree // 32 + 1, "hindex": degree + 1,
             "median32": degree + 2, "median64": 2 * degree + 2}
    total = np.zeros(len(degree), dtype=np.uint64)
    for name in structures:
        total += sizes[name] + sizes[name] % 2
    return total


class Rooms:
    """The rooms in global memory of all passes of a plan. sides: the adjacency of each orientation.

    Passes run one after the other and share the memory. Raises OutOfMemory.
    """

    def __init__(self, device: Device, stages: Sequence[StageSpec], sides: Mapping[str, Adjacency]) -> None:
        self._device = device
        self._buffers: list[Buffer] = []
        self._stages = [stage for stage in stages if stage.structures and stage.domain in sides]
        self._halls: dict[str, _Hall] = {}
        self._shelves = 0
        if not self._stages:
            return
        try:
            self._take(sides)
        except OutOfMemory:
            self.close()
            raise

    def _take(self, sides: Mapping[str, Adjacency]) -> None:
        """Allocate what every pass needs."""
        widest, halls = 0, 0
        for stage in self._stages:
            adjacency = sides[stage.domain or "in"]
            degrees = np.diff(adjacency.offsets)
            longs = long_rows(adjacency).longs[:, 0]
            starts = np.zeros(len(longs) + 1, dtype=np.uint64)
            np.cumsum(room_words(stage.structures, degrees[longs]), out=starts[1:])
            where = self._allocate(starts.nbytes, _LONG)
            self._device.upload(where, starts)
            self._halls[stage.name] = _Hall(self._allocate(8 * 4, _LONG), where, len(longs))
            halls = max(halls, int(starts[-1]))
            short = degrees[degrees <= SEGMENT]
            if len(short):
                widest = max(widest, int(room_words(stage.structures, short.max(keepdims=True))[0]))
        self._memory = self._allocate(4 * halls, _LONG, zeroed=True)
        self._shelve(widest if widest > THREADS // 32 * ROOM_WORDS else 0)

    def _shelve(self, words: int) -> None:
        count = _SHELVES * self._device.info.multiprocessors if words else 1
        flags = self._allocate(4 * count, "flags of shelves", zeroed=True)
        memory = self._allocate(4 * count * words, "shelves for large vertices")
        self._shelves = self._allocate(8 * 4, "shelves")
        self._device.upload(self._shelves, np.array([flags, count, words, memory], dtype=np.uint64))

    def aim(self, topologies: Mapping[str, Topology]) -> None:
        """Tell the kernels where the rooms of long vertices are, now that the topology is there."""
        for stage in self._stages:
            hall, offsets = self._halls[stage.name], topologies[stage.domain or "in"].offsets
            self._device.upload(hall.pointer, np.array([hall.starts, hall.count, offsets, self._memory], np.uint64))

    def shelves(self, stage: StageSpec) -> tuple[int, ...]:
        """The address of the struct Shelves; nothing for a pass that needs no rooms."""
        return (self._shelves,) if stage.structures else ()

    def halls(self, stage: StageSpec) -> tuple[int, ...]:
        """The address of the struct Halls of a pass; nothing for one that needs no rooms."""
        return (self._halls[stage.name].pointer,) if stage.structures else ()

    def _allocate(self, size: int, what: str, zeroed: bool = False) -> int:
        buffer = self._device.allocate(max(16, -(-size // 16) * 16), what)
        self._buffers.append(buffer)
        if zeroed:
            self._device.fill(buffer.pointer, buffer.nbytes, 0)
        return buffer.pointer

    def close(self) -> None:
        """Give the memory back."""
        for buffer in self._buffers:
            self._device.free(buffer)
        self._buffers.clear()
