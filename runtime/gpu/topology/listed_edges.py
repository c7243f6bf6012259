"""A list of edges for a GPU, in the order of the file: on the device if the list fits, otherwise streamed part by part.

A part is a range of consecutive edges, so no sorting or other computation is needed before the first pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.gpu.device.arena import GRAIN, in_bytes
from vlang.runtime.gpu.device.device import Buffer, Device, Event, Stream
from vlang.runtime.gpu.topology.resident import Resident
from vlang.runtime.gpu.topology.transfers import Traffic
from vlang.runtime.graph.topology.listing import Listing
from vlang.runtime.plan.plan import ROW_COLUMNS, ROW_RECEIVERS, ROW_TARGETS, ROW_WORDS, StageSpec

__all__ = ["EDGE_BLOCK", "ListedEdges", "OnPart"]

EDGE_BLOCK = 2048  # edges that a thread block processes (listed.cuh has the same constant)

_LEAST, _MOST = 4 << 20, 64 << 20  # bytes of a part; the limits of a page are the same (footprint.py)
_SLOTS = 8  # the desired number of slots
_AHEAD = 3  # parts that are copied while another one is processed
_TOGETHER = 4  # parts on the device that are processed together
_STREAMS = 4  # streams that copy parts if the caller does not say how many

OnPart = Callable[[int, int, Stream | None], None]
"""A function (slot, edges, stream) that queues a kernel over the edges in a slot."""


class ListedEdges:
    """The edges that a run reads, with the columns of its passes. Raises OutOfMemory.

    Args:
        device: the device.
        edges: the edges in host memory.
        stages: the passes over edges.
        parts: the parts of the graph that the run uses on the device.
        page_size: the size of a part, in bytes of edge tails; None for the best size.
        streams: the number of streams that copy parts; 0 for the default.

    Attributes:
        count: the number of edges in the list.
        resident: whether all edges are on the device, in a single slot.
        slots: the number of slots.
        traffic: counts of the data that were moved.
    """

    def __init__(
        self, device: Device, edges: Listing, stages: Sequence[StageSpec], parts: Resident, page_size: int | None,
        streams: int,
    ) -> None:
        self._device, self.count = device, len(edges.src)
        self.traffic = Traffic()
        self._arrays: dict[str, NDArray[np.generic]] = {"src": edges.src, "dst": edges.dst}
        for name, dtype in dict.fromkeys(column for stage in stages for column in stage.columns):
            self._arrays[f"{name}:{dtype}"] = edges.column(name, DTYPES[dtype])
        self._stages = {stage.name: number for number, stage in enumerate(stages)}
        each = sum(array.itemsize for array in self._arrays.values())
        free = device.budget() - device.allocated() - self._rows_bytes(1)
        self.resident = sum(_rounded(array.nbytes) for array in self._arrays.values()) <= free
        self.slots, self._edges = 1, max(1, self.count)
        if not self.resident:
            self._edges = self._part_edges(each, free, page_size)
            slot_bytes = sum(self._slot_sizes().values()) + self._rows_bytes(1)
            self.slots = min(max(2, free // slot_bytes), -(-self.count // self._edges))
        self._buffers: list[Buffer] = []
        self._streams: list[Stream] = []
        self._held: list[int | None] = [None] * self.slots  # the part in each slot
        self._forward = True  # whether the next pass takes the parts in increasing order
        try:
            put = self._put_whole if self.resident else self._make_slots
            self._addresses = put(edges.order, parts)
            self._rows = self._put_rows(stages)
        except BaseException:
            self.close()
            raise
        if not self.resident:
            self._streams = [device.stream() for _ in range(min(streams or _STREAMS, self.slots))]

    # ------------------------------------------------------------------------- memory
    def _part_edges(self, each: int, free: int, page_size: int | None) -> int:
        """Return the number of edges of a part. Two parts must fit into `free` bytes, and an edge takes `each` bytes.
        """
        best = min(max(free // _SLOTS, _LEAST), _MOST, free // 2) // each if page_size is None else page_size // 4
        self._edges = max(1, best // EDGE_BLOCK * EDGE_BLOCK if best >= EDGE_BLOCK else best)
        need = 2 * (sum(self._slot_sizes().values()) + self._rows_bytes(1))
        while need > free and page_size is None and self._edges > EDGE_BLOCK:
            self._edges -= EDGE_BLOCK
            need = 2 * (sum(self._slot_sizes().values()) + self._rows_bytes(1))
        if need > free:
            raise OutOfMemory(
                f"two parts of the list of {self.count:,} edges do not fit into GPU memory: {in_bytes(need)} are "
                f"needed, and {in_bytes(max(0, free))} are free; allow at least {self._device.allocated() + need} "
                "bytes (gpu_memory), or run on the CPU")
        return self._edges

    def _slot_sizes(self) -> dict[str, int]:
        return {key: _rounded(array.itemsize * self._edges) for key, array in self._arrays.items()}

    def _rows_bytes(self, slots: int) -> int:
        return _rounded(8 * ROW_WORDS * max(1, len(self._stages)) * slots)

    def _put_whole(self, order: str, parts: Resident) -> list[Mapping[str, int]]:
        """Copy all edges to the device, unless an earlier run left the edges there."""
        addresses = {}
        for key, array in self._arrays.items():
            def fill(at: int, array: NDArray[np.generic] = array) -> None:
                self._device.upload(at, array)
                self.traffic.copied += array.nbytes

            addresses[key] = parts.hold(("listed", order, key), array.nbytes, f"edge list: {key.partition(':')[0]}",
                                        fill if array.nbytes else lambda _: None)
        return [addresses]

    def _make_slots(self, order: str, parts: Resident) -> list[Mapping[str, int]]:
        for key, array in self._arrays.items():
            if key in ("src", "dst"):  # later runs stream the same arrays
                parts.lock(("listed", order, key), f"edge list: {key}", array)
            else:
                self._device.register(array)
        sizes = self._slot_sizes()
        found: list[Mapping[str, int]] = []
        self._buffers.append(self._device.allocate(sum(sizes.values()) * self.slots, "parts of the edge list"))
        at = self._buffers[0].pointer
        for _ in range(self.slots):
            places = {}
            for key, size in sizes.items():
                places[key] = at
                at += size
            found.append(places)
        return found

    def _put_rows(self, stages: Sequence[StageSpec]) -> int:
        """Write the row of each slot for each pass. In a pass along out-edges, the tails are the receivers."""
        rows = np.zeros((self.slots, max(1, len(stages)), ROW_WORDS), dtype=np.uint64)
        for slot, places in enumerate(self._addresses):
            for number, stage in enumerate(stages):
                ends = ("dst", "src") if stage.domain == "out" else ("src", "dst")
                rows[slot, number, [ROW_TARGETS, ROW_RECEIVERS]] = [places[end] for end in ends]
                for k, (name, dtype) in enumerate(stage.columns):
                    rows[slot, number, ROW_COLUMNS + k] = places[f"{name}:{dtype}"]
        self._buffers.append(self._device.allocate(rows.nbytes, "the rows of the edge list"))
        self._device.upload(self._buffers[-1].pointer, rows)
        return self._buffers[-1].pointer

    def row(self, stage: StageSpec, slot: int) -> int:
        """Return the device address of the row that describes a slot for a pass."""
        return self._rows + 8 * ROW_WORDS * (slot * max(1, len(self._stages)) + self._stages[stage.name])

    def ends(self, slot: int) -> tuple[int, int]:
        """Return the device addresses of the tails and of the heads in a slot, u32 each."""
        return self._addresses[slot]["src"], self._addresses[slot]["dst"]

    # ------------------------------------------------------------------------- passes
    def sweep(self, launch: OnPart) -> None:
        """Call `launch` for every part, with a slot that holds the edges of the part. Copies overlap with kernels."""
        if self.resident:
            if self.count:
                launch(0, self.count, None)
            return
        device, begun = self._device, self._device.record()
        for stream in self._streams:
            device.wait(begun, stream)
        for part in self._order():
            stream = self._load(part)
            launch(part % self.slots, self._length(part), stream)
        for stream in self._streams:
            device.wait(device.record(stream))

    def one_by_one(self) -> Iterator[tuple[Sequence[tuple[int, int]], Event | None]]:
        """Load the parts one after the other.

        For each part, yields a list and an event. The list has a pair (slot, number of edges) for the part, and for the
        most recent earlier parts that are still in slots. The event follows the copy of the next part; for the last
        part, it is None. Before the caller requests the next part, the work that the caller queued on the slots must
        have ended.
        """
        device, order = self._device, self._order()
        ahead = max(1, min(_AHEAD, self.slots // 2))
        together = max(1, min(_TOGETHER, self.slots - ahead))
        recent: list[tuple[int, int]] = []
        copied = [device.record(self._load(part)) for part in order[:ahead]]
        for number, part in enumerate(order):
            if number + ahead < len(order):
                copied.append(device.record(self._load(order[number + ahead])))
            device.wait(copied[number])
            recent = [(part % self.slots, self._length(part)), *recent][:together]
            yield recent, copied[number + 1] if number + 1 < len(order) else None

    def _order(self) -> Sequence[int]:
        """Yield the parts, forwards and backwards in alternate passes, so that a pass begins with the parts that are in
        the slots.
        """
        order = range(-(-self.count // self._edges))
        self._forward = not self._forward
        return order[::-1] if self._forward else order

    def _length(self, part: int) -> int:
        return min(self._edges, self.count - part * self._edges)

    def _load(self, part: int) -> Stream:
        """Copy a part into its slot unless the slot holds the part; returns the stream in which the slot is used."""
        slot, first = part % self.slots, part * self._edges
        stream = self._streams[slot % len(self._streams)]
        if self._held[slot] == part:
            self.traffic.hits += 1
            return stream
        for key, array in self._arrays.items():
            piece = array[first : first + self._length(part)]
            self._device.upload(self._addresses[slot][key], piece, stream)
            self.traffic.copied += piece.nbytes
        self.traffic.copies += 1
        self._held[slot] = part
        return stream

    def close(self) -> None:
        """Free the slots and the rows."""
        for buffer in self._buffers:
            self._device.free(buffer)
        self._buffers.clear()


def _rounded(nbytes: int) -> int:
    """Return how many bytes an allocation of `nbytes` takes."""
    return max(1, -(-nbytes // GRAIN)) * GRAIN
