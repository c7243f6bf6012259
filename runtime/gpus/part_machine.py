"""The machine of one of several GPUs: it runs passes over the vertices that the GPU owns."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cluster.local_graph import LocalGraph
from vlang.runtime.gpu.device.device import Buffer, Device
from vlang.runtime.gpu.gpu_machine import GpuMachine
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import BLOCK, THREADS, Plan, ScalarSpec

__all__ = ["PartMachine", "mirrored"]

_PACKING = 1024  # blocks of a kernel that packs values
_ALIGNED = 16  # bytes: alignment of the values of an array in an outbox


def mirrored(plan: Plan) -> frozenset[str]:
    """The arrays over vertices that passes read at neighbours, and write during a run."""
    return frozenset(slot for stage in plan.stages for slot in stage.near if not slot.startswith(("degree:", "ids:")))


class PartMachine(GpuMachine):
    """A machine with one of several GPUs, for the group that calls it.

    Args:
        device: an open device.
        plan: the compiled program.
        graph: the part of the graph that the GPU has.
        options: the options of the run, with full passes as the mode.
        whole: the whole graph, by which kernels are chosen if results must not depend on the cut.
    """

    def __init__(self, device: Device, plan: Plan, graph: LocalGraph, options: Options, whole: Graph) -> None:
        self.numbers, self._whole = graph.numbers, whole
        self._marks: dict[int, int] = {}
        self._outboxes: dict[int, Buffer] = {}
        try:
            super().__init__(device, plan, graph, options)
        except BaseException:
            self._free_outboxes()
            raise

    @property
    def span(self) -> tuple[int, int]:
        """The local numbers of the owned vertices: the first one, and the one behind the last."""
        return self.numbers.low, self.numbers.high

    @property
    def blocks(self) -> int:
        """The number of blocks of the whole graph."""
        return -(-self.numbers.ranges.n // BLOCK)

    def extent(self, slot: str) -> tuple[int, int]:
        """The device address and the bytes of the owned entries of a vertex array, in whole words of 64 bits."""
        (low, high), size = self.span, self.itemsize(slot)
        return self.pointer(slot) + low * size, -(-(high - low) * size // 8) * 8

    def whole_side(self, kind: str) -> Side:
        """The edges of the whole graph."""
        return self._whole.adjacency(kind)

    def _put_tables(self) -> None:
        """Put the tables of vertices and the lists of mirrored vertices on the device, and allocate outboxes."""
        super()._put_tables()
        for rank, places in enumerate(self.numbers.wanted):
            if len(places):
                what = f"the vertices that GPU {rank} of the run mirrors"
                self._marks[rank] = self._parts.hold(("mirrored", rank), places.nbytes, what,
                                                     partial(self.device.upload, array=places))
                self._outboxes[rank] = self.device.allocate(self._outbox_bytes(len(places)), f"values for {what}")

    def _outbox_bytes(self, count: int) -> int:
        """The bytes for the values of `count` vertices in all arrays that are exchanged at the same time."""
        sizes = [self.packed_bytes(slot, count) for slot in mirrored(self.plan)]
        return max(_ALIGNED, sum(sizes))

    # ------------------------------------------------------------------------------------------- mirrors
    def packed_bytes(self, slot: str, count: int) -> int:
        """The bytes that the values of `count` vertices take in an outbox."""
        return -(-count * self.itemsize(slot) // _ALIGNED) * _ALIGNED

    def outbox(self, rank: int) -> int:
        """The device address of the outbox for another GPU; there is none if that GPU mirrors no vertex of this one."""
        return self._outboxes[rank].pointer

    def pack(self, slot: str, rank: int, target: int) -> None:
        """Queue the copy of the values that another GPU mirrors to consecutive places at address `target`."""
        size, count = self.itemsize(slot), len(self.numbers.wanted[rank])
        word = next(word for word in (8, 4, 2, 1) if size % word == 0)
        width = size // word
        self.launch(f"pack_{8 * word}", "", (), min(_PACKING, -(-count * width // THREADS)),
                    (self.pointer(slot), self._marks[rank], count, width, target))

    def mirror_at(self, slot: str, rank: int) -> int:
        """The device address of the mirrors of the vertices that another GPU owns."""
        return self.pointer(slot) + self.numbers.mirrors_of(rank)[0] * self.itemsize(slot)

    # ------------------------------------------------------------------------------------------- values of the run
    def give_local(self, slot: str, array: NDArray[Any]) -> None:
        """Store the values of all local vertices from an array over the vertices of the whole graph."""
        self.device.upload(self.pointer(slot), self.numbers.local(np.ascontiguousarray(array)))

    def fetch(self, slot: str, array: NDArray[Any]) -> None:
        """Copy the owned entries of a vertex array to their places in an array over the whole graph; waits for them."""
        first, last = self.numbers.ranges.of(self.numbers.rank)
        width = self.state.row_bytes(slot) // array.itemsize
        if last > first:
            self.state.flush()
            self.device.download(array[first * width : last * width],
                                 self.pointer(slot) + self.numbers.low * self.itemsize(slot))

    # ------------------------------------------------------------------------------------------- reductions
    @property
    def first_pad(self) -> int:
        """The local number of the first vertex of the block in which the owned vertices begin."""
        return self.numbers.low // BLOCK * BLOCK

    def fold_own(self, spec: ScalarSpec) -> None:
        """Reduce the blocks whose last vertex the GPU owns."""
        low, high = self.numbers.ranges.blocks(self.numbers.rank)
        begin = self.first_pad
        self.fold(spec, (begin, min(begin + (high - low) * BLOCK, self.numbers.high)), low)

    def partials(self, slot: str) -> tuple[int, int]:
        """The offset and the size, in bytes, of the partial results that `fold_own` computes in an array."""
        low, high = self.numbers.ranges.blocks(self.numbers.rank)
        size = self.state.row_bytes(slot)
        return low * size, (high - low) * size

    def close(self) -> None:
        """Free the memory of the run on the device."""
        super().close()
        self._free_outboxes()

    def _free_outboxes(self) -> None:
        for buffer in self._outboxes.values():
            self.device.free(buffer)
        self._outboxes.clear()
