"""The machine of one of several GPUs, which runs passes over the vertices that its GPU owns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cluster.local_graph import LocalGraph
from vlang.runtime.gpu.device.device import Device
from vlang.runtime.gpu.gpu_machine import GpuMachine
from vlang.runtime.gpu.kernels.entries import shared_bytes
from vlang.runtime.gpu.passes.gpu_frontier import Arena
from vlang.runtime.gpu.topology.sides import Side
from vlang.runtime.gpu.ways.gpu_superstep import FullWay
from vlang.runtime.gpu.ways.way import Way
from vlang.runtime.gpu.ways.ways import candidates
from vlang.runtime.gpus.exchange import Exchange, word_of
from vlang.runtime.gpus.group_connect import PartConnectWay
from vlang.runtime.gpus.part_push import PartPushWay
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import BLOCK, THREADS, LoopSpec, Plan, ScalarSpec

__all__ = ["PartMachine", "mirrored"]

_NOT_MIRRORED = 0xFFFF_FFFF  # NOT_MIRRORED in boundary.cuh
_MOVING = 1024  # blocks of a kernel that packs, compares or places values


def mirrored(plan: Plan) -> frozenset[str]:
    """Return the arrays over vertices that passes read at neighbours and that change during a run."""
    return frozenset(slot for stage in plan.stages for slot in stage.near if not slot.startswith(("degree:", "ids:")))


class PartMachine(GpuMachine):
    """The machine of one of several GPUs. A `GroupMachine` calls the methods of these machines.

    Args:
        device: an open device.
        plan: the compiled program.
        graph: the part of the graph on this GPU.
        options: the options of the run.
        whole: the whole graph, from which kernels are chosen if results must not depend on the cut.
        exchange: the exchange of mirrored values.
        at_once: whether the GPUs of the run can run one launch together (see `run_at_once`).

    Attributes:
        at_once: as given.
        numbers: the local numbers.
        mirrored: the arrays that passes read at neighbours.
        marks: for each GPU that mirrors vertices of this GPU, the device address of the local numbers (u32) of these
            vertices, in the order of `LocalNumbers.wanted`.
        places: used if a loop may push. For each GPU that mirrors vertices of this GPU, the device address of an array
            with one u32 per owned vertex: the place of the vertex among the mirrors on the other GPU, or NOT_MIRRORED.
        globals: used if a loop may run by connected components. The device address of the numbers of the local vertices
            in the whole graph (u32).
    """

    folding = ("fold", "scalar")  # two kernels: partial results of other GPUs are merged between them

    def __init__(
        self, device: Device, plan: Plan, graph: LocalGraph, options: Options, whole: Graph, exchange: type[Exchange],
        at_once: bool = False,
    ) -> None:
        self.at_once = at_once
        self.numbers, self._whole, self._exchange = graph.numbers, whole, exchange
        self.mirrored = sorted(mirrored(plan))
        self.marks: dict[int, int] = {}
        self.places: dict[int, int] = {}
        self._boxes: Arena | None = None
        self.globals = 0
        self.known_ways: Sequence[Way] = (PartConnectWay(self), PartPushWay(self), FullWay())
        try:
            super().__init__(device, plan, graph, options)
            self.load(exchange.kernels(self))
        except BaseException:
            self._free_boxes()
            raise

    def pushes(self, loop: LoopSpec) -> bool:
        """Return whether the GPU can push along the edges of a loop; its memory must hold the edges and the frontiers.
        """
        ways = candidates(self.ways, loop, self.graph, self.options)
        way = next((one for one in ways if isinstance(one, PartPushWay)), None)
        return way is not None and all(self.passes.reading(kind) == "rows" and self.passes.topologies[kind].resident
                                       for kind in way.directions(loop))

    def would_push(self, loop: LoopSpec) -> bool:
        """Return whether the GPU could push along the edges of a loop, if there were memory."""
        return self._may(self.known_ways, loop, PartPushWay)

    def connects(self, loop: LoopSpec) -> bool:
        """Return whether the GPU can run a loop by connected components; its memory must hold the trees."""
        return self._may(self.ways, loop, PartConnectWay)

    def _may(self, ways: Sequence[Way], loop: LoopSpec, kind: type[Way]) -> bool:
        return any(isinstance(way, kind) for way in candidates(ways, loop, self.graph, self.options))

    @property
    def span(self) -> tuple[int, int]:
        """The local numbers of the owned vertices: the first number, and the last number plus 1."""
        return self.numbers.low, self.numbers.high

    @property
    def blocks(self) -> int:
        """The number of blocks of the whole graph."""
        return -(-self.numbers.ranges.n // BLOCK)

    def extent(self, slot: str) -> tuple[int, int]:
        """Return the address and the size, in bytes of whole 64-bit words, of the owned entries of a vertex array."""
        (low, high), size = self.span, self.itemsize(slot)
        return self.pointer(slot) + low * size, -(-(high - low) * size // 8) * 8

    def whole_side(self, kind: str) -> Side:
        """Return the edges of the whole graph."""
        return self._whole.adjacency(kind)

    def _put_tables(self) -> None:
        """Put the tables of vertices and the lists of mirrored vertices on the device, and allocate the boxes."""
        super()._put_tables()
        for rank, places in enumerate(self.numbers.wanted):
            if len(places):
                what = f"the vertices that GPU {rank} of the run mirrors"
                self.marks[rank] = self._parts.hold(("mirrored", rank), places.nbytes, what,
                                                    partial(self.device.upload, array=places))
        if any(way.name == "push" for loop in self.plan.loops
               for way in candidates(self.known_ways, loop, self.graph, self.options)):
            self._put_places()
        if any(self._may(self.known_ways, loop, PartConnectWay) for loop in self.plan.loops):
            everyone = partial(np.arange, self.numbers.ranges.n, dtype=np.uint32)
            self.globals = self._parts.hold(("globals",), 4 * self.n, "the numbers of vertices in the whole graph",
                                            lambda at: self.device.upload(at, self.numbers.local(everyone())))
        self._boxes = Arena(self.device, self._exchange.sizes(self), "the values that GPUs send each other")

    def _put_places(self) -> None:
        """Copy to the device the places of owned vertices among the mirrors on other GPUs."""
        low, high = self.span

        def fill(at: int, wanted: NDArray[np.uint32]) -> None:
            places = np.full(high - low, _NOT_MIRRORED, np.uint32)
            places[wanted - np.uint32(low)] = np.arange(len(wanted), dtype=np.uint32)
            self.device.upload(at, places)

        for rank, wanted in enumerate(self.numbers.wanted):
            if len(wanted):
                what = f"the places of vertices among the mirrors of GPU {rank} of the run"
                self.places[rank] = self._parts.hold(("places", rank), 4 * (high - low), what,
                                                     partial(fill, wanted=wanted))

    # ------------------------------------------------------------------------------------------- mirrors
    @property
    def boxes(self) -> Arena:
        """The memory for values that are sent or received."""
        assert self._boxes is not None
        return self._boxes

    def pack(self, slot: str, values: int, places: int, count: int, packed: int) -> None:
        """Queue the copy of some values of an array to consecutive places.

        Args:
            slot: the array, which determines the size of a value.
            values: the device address of the values.
            places: the device address of u32[count], the places of the values.
            count: the number of values.
            packed: the device address to which the values are copied.
        """
        self.over_boxes("pack_values", slot, count, values, places, count, None, packed)

    def over_boxes(self, template: str, slot: str, threads: int, *args: int | None) -> None:
        """Queue a kernel that moves values.

        Args:
            template: the kernel.
            slot: the array with the values; "" for a kernel that depends on no array.
            threads: the maximum number of threads that have work.
            args: the arguments of the kernel; None stands for the number of words in a value.
        """
        word, width = word_of(self.itemsize(slot)) if slot else ("", 0)
        words = [width if arg is None else arg for arg in args]
        self.launch(template, word, (), min(_MOVING, -(-threads // THREADS)), words)

    def sum_counts(self, counts: int, length: int, total: int) -> None:
        """Queue the prefix sums of u32[length] at the address `counts`. The total goes to the address `total`."""
        self.launch("sum_counts", "", (), 1, (counts, length, total), threads=32)

    def mirrors_at(self, slot: str, rank: int) -> list[int]:
        """Return the device addresses of the mirrors of another GPU's vertices: one address for each buffer of a field.
        """
        kind, _, name = slot.partition(":")
        first = self.numbers.mirrors_of(rank)[0] * self.itemsize(slot)
        twin = f"next:{name}" if kind == "field" else ""
        return [self.pointer(one) + first for one in (slot, twin) if one in self.state.buffers]

    def mirror_at(self, slot: str, rank: int) -> int:
        """Return the device address of the mirrors of another GPU's vertices."""
        return self.mirrors_at(slot, rank)[0]

    # ------------------------------------------------------------------------------------------- values of the run
    def give_local(self, slot: str, array: NDArray[Any]) -> None:
        """Store the values of all local vertices; `values` is an array over the vertices of the whole graph."""
        self.device.upload(self.pointer(slot), self.numbers.local(np.ascontiguousarray(array)))

    def fetch(self, slot: str, array: NDArray[Any]) -> None:
        """Copy the owned entries of a vertex array to an array over the whole graph; waits for the copies."""
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
        """Reduce the blocks whose last vertex this GPU owns."""
        first, last = self.numbers.ranges.blocks(self.numbers.rank)
        low = self.first_pad
        high = min(low + (last - first) * BLOCK, self.numbers.high)
        self.launch("fold", f"v{spec.index}", (), -(-max(0, high - low) // BLOCK), (self.frame, low, high, first),
                    shared=shared_bytes("fold"))

    def partials(self, slot: str) -> tuple[int, int]:
        """Return the offset and the size, in bytes, of the partial results that `fold_own` computes in an array."""
        low, high = self.numbers.ranges.blocks(self.numbers.rank)
        size = self.state.row_bytes(slot)
        return low * size, (high - low) * size

    def close(self) -> None:
        """Free the memory of the run on the device."""
        super().close()
        self._free_boxes()

    def _free_boxes(self) -> None:
        if self._boxes is not None:
            self._boxes.close()
            self._boxes = None
