"""Shared parts of the topology tests: graphs, the kernel text, and kernels that record which edges a pass reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tests.cuda.emulation.emulated import EmulatedDevice
from vlang import Graph
from vlang.emit.cuda.cuda_target import CudaTarget
from vlang.runtime.gpu.device.device import Buffer, Stream
from vlang.runtime.gpu.kernels.entries import entry
from vlang.runtime.gpu.topology.cut import Part, Sharding
from vlang.runtime.gpu.topology.footprint import Slotted, Use, footprint, stored_arrays
from vlang.runtime.gpu.topology.topology import Topology
from vlang.runtime.gpu.topology.transfers import Transfer
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.plan import SEGMENT

__all__ = ["COLUMN", "PREPARED", "USES", "Visits", "adjacency_of", "hub_graph", "opened", "streamed"]

PREPARED = ("row_blocks", "places", "aim_row", "mark_pages", "mark_queue", "choose_published", "choose_measured",
            "decode_slotted")
COLUMN = ("weight", "i16")

_VISIT = """
// Copies the data of edge k, and counts it; an edge outside of the page counts 1000.
__device__ void see_edge(const u64* row, u64 k, u64 column, u32* seen, u32* targets, i16* weights) {
  atomicAdd(&seen[k], row[ROW_BEGIN] <= k && k < row[ROW_END] ? 1u : 1000u);
  targets[k] = reinterpret_cast<const u32*>(row[ROW_TARGETS])[k];
  if (column != 0) {
    weights[k] = reinterpret_cast<const i16*>(row[ROW_COLUMNS])[k];
  }
}
"""
_ENTRIES = {
    "visit": _VISIT + """
extern "C" __global__ void __launch_bounds__(256) visit(
    const u64* row, u64 low, u64 high, u64 column, u32* seen, u32* targets, i16* weights) {
  const u64* offsets = reinterpret_cast<const u64*>(row[ROW_OFFSETS]);
  for (u64 v = low + thread_number(); v < high; v += thread_count()) {
    if (offsets[v + 1] - offsets[v] <= SEGMENT) {
      for (u64 k = offsets[v]; k < offsets[v + 1]; k++) {
        see_edge(row, k, column, seen, targets, weights);
      }
    }
  }
}
""",
    "visit_segments": """
extern "C" __global__ void __launch_bounds__(256) visit_segments(
    const u64* row, const i64* segments, u64 low, u64 high, u64 column, u32* seen, u32* targets, i16* weights) {
  for (u64 s = low + blockIdx.x; s < high; s += gridDim.x) {
    for (i64 k = segments[3 * s + 1] + threadIdx.x; k < segments[3 * s + 2]; k += blockDim.x) {
      see_edge(row, u64(k), column, seen, targets, weights);
    }
  }
}
""",
    "visit_places": """
extern "C" __global__ void __launch_bounds__(256) visit_places(const u64* row, u64 shards, u32* receivers, u8* copies) {
  const u64* offsets = reinterpret_cast<const u64*>(row[ROW_OFFSETS]);
  const u32* bounds = reinterpret_cast<const u32*>(row[ROW_SHARDS]);
  for (u64 s = blockIdx.x; s < shards; s += gridDim.x) {
    for (u32 v = bounds[s] + threadIdx.x; v < bounds[s + 1]; v += blockDim.x) {
      copies[v] = reinterpret_cast<const u8*>(row[ROW_REPLICAS])[s];
      for (u64 k = offsets[v]; k < offsets[v + 1] && offsets[v + 1] - offsets[v] <= SEGMENT; k++) {
        receivers[k] = bounds[s] + reinterpret_cast<const u16*>(row[ROW_PLACES])[k];
      }
    }
  }
}
""",
    "visit_listed": """
extern "C" __global__ void __launch_bounds__(256) visit_listed(
    const u64* rows, const u32* list, u64 count, u32* targets, i16* weights) {
  const u64* offsets = reinterpret_cast<const u64*>(rows[ROW_OFFSETS]);
  for (u64 i = thread_number(); i < count; i += thread_count()) {
    for (u64 k = offsets[list[i]]; k < offsets[list[i] + 1]; k++) {
      u64 page = 0;
      while (rows[page * ROW_WORDS + ROW_END] <= k) {
        page++;
      }
      targets[k] = reinterpret_cast<const u32*>(rows[page * ROW_WORDS + ROW_TARGETS])[k];
      weights[k] = reinterpret_cast<const i16*>(rows[page * ROW_WORDS + ROW_COLUMNS])[k];
    }
  }
}
""",
}


def hub_graph(rng: np.random.Generator, n: int = 2000, hubs: Sequence[int] = (7, 120, 121),
              edges: int = 120_000) -> Graph:
    """Return a random graph with hubs of about the length of a segment, vertices without edges, and weights."""
    degrees = [SEGMENT + 1, 2 * SEGMENT, SEGMENT, 3 * SEGMENT + 5]
    dst = np.concatenate([np.full(degrees[k % 4], hub) for k, hub in enumerate(hubs)]
                         + [rng.integers(0, n, edges) // 3 * 3])  # fmt: skip
    src = rng.integers(0, n, len(dst))
    weight = rng.integers(-1000, 1000, len(dst)).astype(np.int16)
    return Graph.from_edges(src, dst, weight=weight, n=n)


def adjacency_of(graph: Graph) -> Adjacency:
    """Return the in-adjacency of a graph, with weights."""
    return graph.adjacency("in", ("weight",))


@dataclass
class Visits:
    """Arrays in device memory in which kernels record their reads: for each edge how often it was read, and the target
    and the weight that were read.
    """

    device: EmulatedDevice
    adjacency: Adjacency
    buffers: dict[str, Buffer] = field(default_factory=dict)

    def __post_init__(self) -> None:
        entries = dict(entry(name) for name in PREPARED) | _ENTRIES
        self.kernels = self.device.load(CudaTarget().module((), (), (), {}).text, entries)
        edges, n = len(self.adjacency), len(self.adjacency.offsets) - 1
        sizes = {"seen": 4 * edges, "targets": 4 * edges, "weights": 2 * edges, "receivers": 4 * edges, "copies": n,
                 "list": 4 * n, "count": 8}  # fmt: skip
        for name, size in sizes.items():
            self.buffers[name] = self.device.allocate(max(1, size), name)
        self.clear()

    def clear(self) -> None:
        """Clear all records."""
        for name in ("seen", "targets", "weights", "receivers", "copies"):
            buffer = self.buffers[name]
            self.device.fill(buffer.pointer, buffer.nbytes, 0)

    def at(self, name: str) -> int:
        """Return the address of an array."""
        return self.buffers[name].pointer

    def prepare(self, name: str, blocks: int, args: Sequence[int], stream: Stream | None) -> None:
        """Launch a kernel that is not a template."""
        self.device.launch(self.kernels[entry(name)[0]], blocks, 64, args, 0, stream)

    def launch(self, name: str, blocks: int, args: Sequence[int], stream: Stream | None = None) -> None:
        """Launch one of the kernels of this file."""
        self.device.launch(self.kernels[name], blocks, 64, args, 0, stream)

    def sweep(self, topology: Topology, use: str, transfer: Transfer | None = None) -> list[int]:
        """Run a pass that reads every edge. Return the page numbers in the order in which the pass processed the pages.
        """
        column = int(use == "weighted")
        arguments = (column, self.at("seen"), self.at("targets"), self.at("weights"))
        pages = []

        def launch(row: int, part: Part, stream: Stream | None) -> None:
            pages.append(part.page)
            self.launch("visit", 2, (row, part.low, part.high, *arguments), stream)
            if part.end_segment > part.first_segment:
                segments = (topology.segments, part.first_segment, part.end_segment)
                self.launch("visit_segments", 2, (row, *segments, *arguments), stream)

        topology.sweep(use, launch, transfer)
        return pages

    def array(self, name: str, dtype: type[np.generic]) -> NDArray[np.generic]:
        """Return the current values of an array."""
        buffer = self.buffers[name]
        values = np.empty(buffer.nbytes // np.dtype(dtype).itemsize, dtype=dtype)
        self.device.download(values, buffer.pointer)
        return values

    def list(self, vertices: NDArray[np.uint32]) -> None:
        """Put vertices into the list."""
        self.device.upload(self.at("list"), vertices)
        self.device.upload(self.at("count"), np.array([len(vertices)], dtype=np.uint64))


USES = {"plain": Use(), "weighted": Use((COLUMN,))}


def opened(visits: Visits, free: int, sharding: Sharding | None = None, page_size: int | None = 1 << 16,
           streams: int = 2, slotted: Slotted | None = None) -> Topology:
    """Return the topology with `free` bytes of device memory."""
    uses = USES | ({"shards": Use((), sharding)} if sharding else {})
    return Topology(visits.device, visits.prepare, visits.adjacency, uses, free, page_size, streams, slotted=slotted)


def streamed(visits: Visits, slots: int, sharding: Sharding | None = None, page_size: int = 1 << 16,
             streams: int = 2, slotted: Slotted | None = None) -> Topology:
    """Return the topology with device memory for exactly `slots` pages, and their buffers if they are slotted."""
    uses = USES | ({"shards": Use((), sharding)} if sharding else {})
    arrays = stored_arrays(visits.adjacency, uses, slotted)
    whole = footprint(visits.adjacency, uses, arrays, 1 << 40, page_size)
    few = footprint(visits.adjacency, uses, arrays, whole.least - 1, page_size)
    free = few.table_bytes + slots * few.slot_bytes + (1 + min(slots, streams)) * few.buffer_bytes
    return opened(visits, free, sharding, page_size, streams, slotted)
