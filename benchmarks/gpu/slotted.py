"""Compare two ways of reading slotted pages on a GPU: decoded when they arrive, or read as they are by the kernel.

Usage: `python benchmarks/gpu/slotted.py [--graph rmat22] [--size 8388608]`.

All pages are on the device, so that the times are those of kernels alone. A warp adds up a value of each neighbour of a
vertex, as a sweep of PageRank does (the virtual-warp kernel of GTS, Kim et al., SIGMOD 2016, appendix B). `lists` reads
the adjacency lists, which is also what a kernel reads after decoding; `decode` turns all pages into lists; `direct`
reads record ids, and looks up START_VID for each. The script prints milliseconds, and the time of copying the pages at
55 GB/s, for several sizes of record ids.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.gpu import inputs, report
from vlang.emit.cuda.cuda_target import CudaTarget
from vlang.runtime.gpu.device.device import Device, Kernel
from vlang.runtime.gpu.kernels.entries import entry
from vlang.runtime.gpu.topology.cut import Cut
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.slotted import RecordIds, SlottedPages
from vlang.runtime.plan.plan import THREADS
from vlang.runtime.threads.processors import available_threads

__all__ = ["slotted_times"]

LINK = 55e9  # bytes per second
REPEATS = 7

_SUMS = {
    "sum_lists": """
extern "C" __global__ void __launch_bounds__(256) sum_lists(
    const u64* offsets, u64 low, u64 high, const u32* targets, const f32* values, f32* sums) {
  for (u64 v = low + thread_number() / 32; v < high; v += thread_count() / 32) {
    f32 sum = 0;
    for (u64 k = offsets[v] + lane_number(); k < offsets[v + 1]; k += 32) {
      sum += values[targets[k]];
    }
    for (int offset = 16; offset; offset >>= 1) {
      sum += __shfl_xor_sync(WARP, sum, offset);
    }
    if (lane_number() == 0) {
      atomicAdd(sums + v, sum);
    }
  }
}
""",
    "sum_slotted": """
extern "C" __global__ void __launch_bounds__(256) sum_slotted(
    u64 at, u64 bytes, u64 slots, u64 edges, u64 ids, const u32* rvt, const f32* values, f32* sums) {
  const SlottedPage page{at, bytes, slots, edges, ids >> 8, ids & 255, rvt};
  for (u64 slot = thread_number() / 32; slot < slots; slot += thread_count() / 32) {
    const u64 entry = at + bytes - SLOT_BYTES * (slot + 1);
    const u64 v = bytes_at(entry, 6), record = at + bytes_at(entry + 6, 4), size = bytes_at(record, 4);
    f32 sum = 0;
    for (u64 k = lane_number(); k < size; k += 32) {
      const u64 id = bytes_at(record + SIZE_BYTES + (page.p + page.q) * k, page.p + page.q);
      sum += values[rvt[2 * (id & ((u64(1) << 8 * page.p) - 1))] + u32(id >> 8 * page.p)];
    }
    for (int offset = 16; offset; offset >>= 1) {
      sum += __shfl_xor_sync(WARP, sum, offset);
    }
    if (lane_number() == 0) {
      atomicAdd(sums + v, sum);
    }
  }
}
""",
}


def slotted_times(device: Device, adjacency: Adjacency, size: int, asked: RecordIds | None) -> list[str]:
    """Return the cells of a row of the table: record ids, megabytes, and milliseconds.

    Args:
        device: the device.
        adjacency: the edges.
        size: bytes of neighbours in a page.
        asked: the bytes of record ids; None for the fewest.
    """
    name, text = entry("decode_slotted")
    kernels = device.load(CudaTarget().module((), (), (), {}).text, _SUMS | {name: text})
    cut = Cut.of(adjacency, size // 4, slotted=True)
    pages = SlottedPages.of(adjacency.offsets, cut.starts, asked)
    pages.check()
    data = pages.written(adjacency.offsets, adjacency.targets, available_threads())
    n, ids = len(adjacency.offsets) - 1, pages.ids.p << 8 | pages.ids.q
    values = np.random.default_rng(1).integers(0, 64, n).astype(np.float32)  # sums are exact in any order
    held: dict[str, NDArray[np.generic]] = {
        "data": data, "rvt": pages.rvt, "offsets": adjacency.offsets, "targets": adjacency.targets,
        "values": values, "sums": np.zeros(n, np.float32)}
    buffers = {key: device.allocate(array.nbytes + 16, key) for key, array in held.items()}
    at = {key: buffer.pointer for key, buffer in buffers.items()}
    for key, array in held.items():
        device.upload(at[key], array)
    blocks, parts = 16 * device.info.multiprocessors, cut.parts()

    def run(kernel: Kernel, arguments: Callable[[int], Sequence[int]]) -> float:
        samples = []
        for _ in range(REPEATS):
            device.fill(at["sums"], 4 * n, 0)
            device.synchronize()
            begin = time.perf_counter()
            for part in parts:
                device.launch(kernel, blocks, THREADS, arguments(part.page), 0, None)
            device.synchronize()
            samples.append(time.perf_counter() - begin)
        return 1e3 * median(samples)

    def page_of(page: int) -> tuple[int, ...]:
        begin, end = pages.begins[page : page + 2].tolist()
        return at["data"] + begin, end - begin, int(pages.slots[page]), parts[page].edges

    def result() -> NDArray[np.float32]:
        sums = np.empty(n, np.float32)
        device.download(sums, at["sums"])
        return sums

    lists = run(kernels["sum_lists"], lambda page: (at["offsets"], int(cut.lows[page]), int(cut.lows[page + 1]),
                                                     at["targets"], at["values"], at["sums"]))
    expected = result()
    direct = run(kernels["sum_slotted"], lambda page: (*page_of(page), ids, at["rvt"], at["values"], at["sums"]))
    assert np.array_equal(result(), expected)
    device.fill(at["targets"], adjacency.targets.nbytes, 0)
    decode = run(kernels[name], lambda page: (*page_of(page), page, ids, at["rvt"],
                                              at["targets"] + 4 * parts[page].begin))
    decoded = np.empty(len(adjacency), np.uint32)
    device.download(decoded, at["targets"])
    assert np.array_equal(decoded, adjacency.targets)
    for buffer in buffers.values():
        device.free(buffer)
    return [f"{pages.ids.p} + {pages.ids.q}", f"{len(parts)}", f"{data.nbytes / 1e6:.0f}", f"{lists:.2f}",
            f"{decode:.2f}", f"{direct:.2f}", f"{1e3 * data.nbytes / LINK:.2f}",
            f"{4e3 * len(adjacency) / LINK:.2f}"]  # fmt: skip


def measured(device: Device, adjacency: Adjacency, size: int) -> Iterator[list[str]]:
    """Yield a row for each size of record ids."""
    for asked in (None, RecordIds(2, 3), RecordIds(3, 3)):
        yield slotted_times(device, adjacency, size, asked)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="rmat22", choices=list(inputs.INPUTS))
    parser.add_argument("--size", type=int, default=8 << 20, help="bytes of neighbours in a page")
    parser.add_argument("--quick", action="store_true", help="a tiny graph")
    parser.add_argument("--gpu", type=int, default=0)
    options = parser.parse_args()
    from vlang.runtime.gpu.device.cuda import CudaDevice

    given = inputs.build(options.graph, options.quick)
    device = CudaDevice(options.gpu)
    widths = (8, 7, 8, 8, 8, 8, 12, 10)
    print(f"# {device.info.name}; {given.graph!r}")
    print(report.table_line(["ids", "pages", "MB", "lists", "decode", "direct", "copy slotted", "copy lists"], widths))
    for line in measured(device, given.graph.adjacency("in"), options.size):
        print(report.table_line(line, widths), flush=True)
    device.close()


if __name__ == "__main__":
    main()
