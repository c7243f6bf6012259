"""Measure the cost of streaming in addition to the transfer over the link.

Usage: `python benchmarks/gpu/streaming.py [--graph rmat22] [--share 0.25]`.

The link alone is measured first: pieces of page-locked memory, each as large as a page, are copied over a few streams.
The script then measures passes over a graph of which a share of the pages is resident. The kernel of these passes only
reads every edge. A pass takes longer than its copies; the difference is therefore the cost of slots, rows, events and
launches. The script prints one line for each page size and number of streams: milliseconds of a pass, gigabytes per
second over the link, and this rate as a share of the rate of the link alone for pieces of that size.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.gpu import inputs, report
from vlang.emit.cuda.cuda_target import CudaTarget
from vlang.runtime.gpu.device.device import Device, Stream
from vlang.runtime.gpu.kernels.entries import PREPARATIONS, entry
from vlang.runtime.gpu.topology.cut import Part
from vlang.runtime.gpu.topology.footprint import Use, footprint, stored_arrays
from vlang.runtime.gpu.topology.topology import AUTO_STREAMS, Topology
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.plan.plan import THREADS

__all__ = ["Streamed", "link_rate", "streamed_passes"]

MB = 1 << 20
SIZES = (1 * MB, 4 * MB, 16 * MB, 64 * MB)
STREAMS = (1, 2, 3, 4, 8)
PASSES = 7

_READ = """
extern "C" __global__ void __launch_bounds__(256) read_page(const u64* row, u64* sum) {
  const u32* targets = reinterpret_cast<const u32*>(row[ROW_TARGETS]);
  u64 mine = 0;
  for (u64 k = row[ROW_BEGIN] + thread_number(); k < row[ROW_END]; k += thread_count()) {
    mine += targets[k];
  }
  if (mine != 0) {
    atomicAdd(sum, mine);
  }
}
"""


@dataclass(frozen=True)
class Streamed:
    """The figures of passes over pages.

    Attributes:
        size: bytes of a page.
        pages: the number of pages of the graph.
        slots: the number of pages on the device.
        seconds: the median time of a pass.
        rate: bytes per second over the link during a pass.
        read: the sum of all targets, as computed by the kernel.
    """

    size: int
    streams: int
    pages: int
    slots: int
    seconds: float
    rate: float
    read: int


def link_rate(device: Device, adjacency: Adjacency, size: int, streams: int = AUTO_STREAMS) -> float:
    """Return the rate of copies from page-locked memory to the device, in bytes per second.

    Args:
        device: the device.
        adjacency: the adjacency whose memory is copied.
        size: bytes of a piece.
        streams: how many streams to use.
    """
    source = adjacency.targets
    each = size // source.itemsize
    device.register(source)
    buffer = device.allocate(streams * size, "pieces")
    lanes = [device.stream() for _ in range(streams)]
    samples = []
    for _ in range(PASSES):
        begin = time.perf_counter()
        for number, at in enumerate(range(0, len(source), each)):
            lane = number % streams
            device.upload(buffer.pointer + lane * size, source[at : at + each], lanes[lane])
        for stream in lanes:
            device.synchronize(stream)
        samples.append(time.perf_counter() - begin)
    device.free(buffer)
    device.unregister(source)
    return source.nbytes / median(samples)


def streamed_passes(device: Device, adjacency: Adjacency, share: float, size: int, streams: int) -> Streamed:
    """Time full passes with a share of the edges on the device.

    Args:
        device: the device.
        adjacency: the edges.
        share: the part of the edges on the device (at least two pages).
        size: bytes of a page.
        streams: how many streams to use.
    """
    entries = dict(entry(name) for name in PREPARATIONS if name in ("row_blocks", "aim_row"))
    kernels = device.load(CudaTarget().module((), (), (), {}).text, entries | {"read_page": _READ})
    blocks = 8 * device.info.multiprocessors

    def prepare(name: str, count: int, args: Sequence[int], stream: Stream | None) -> None:
        device.launch(kernels[entry(name)[0]], count, THREADS, args, 0, stream)

    uses = {"read": Use()}
    whole = footprint(adjacency, uses, stored_arrays(adjacency, uses), device.budget(), size)
    memory = whole.table_bytes + max(int(share * adjacency.targets.nbytes), int(2.1 * size))
    total = device.allocate(8, "the sum")
    topology = Topology(device, prepare, adjacency, uses, memory, size, streams)
    read = np.zeros(1, dtype=np.uint64)

    def launch(row: int, part: Part, stream: Stream | None) -> None:
        device.launch(kernels["read_page"], blocks, THREADS, (row, total.pointer), 0, stream)

    samples, copied = [], 0
    for _ in range(1 + PASSES):  # the first one fills the slots
        device.fill(total.pointer, 8, 0)
        device.synchronize()
        copied, begin = topology.traffic.copied, time.perf_counter()
        topology.sweep("read", launch)
        device.download(read, total.pointer)
        samples.append(time.perf_counter() - begin)
    seconds = median(samples[1:])
    found = Streamed(size, streams, topology.pages, topology.slots, seconds,
                     (topology.traffic.copied - copied) / seconds, int(read[0]))
    topology.close()
    device.free(total)
    return found


def measured(device: Device, adjacency: Adjacency, share: float, sizes: Sequence[int]) -> Iterator[list[str]]:
    """Measure the link and the passes; yields the lines of the table.

    Args:
        device: the device.
        adjacency: the edges.
        share: the part of the edges on the device.
        sizes: bytes of a page.
    """
    for size in sizes:
        link = link_rate(device, adjacency, size)
        for streams in STREAMS:
            found = streamed_passes(device, adjacency, share, size, streams)
            assert found.read == int(adjacency.targets.sum(dtype=np.uint64))
            yield [f"{size // MB} MB", str(streams), f"{found.slots} of {found.pages}", f"{found.seconds * 1e3:.2f}",
                   f"{found.rate / 1e9:.1f}", f"{link / 1e9:.1f}", f"{found.rate / link:.0%}"]  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="rmat22", choices=list(inputs.INPUTS))
    parser.add_argument("--share", type=float, default=0.25, help="of the edges that stay on the device")
    parser.add_argument("--quick", action="store_true", help="a tiny graph")
    parser.add_argument("--gpu", type=int, default=0)
    options = parser.parse_args()
    from vlang.runtime.gpu.device.cuda import CudaDevice

    given = inputs.build(options.graph, options.quick)
    device = CudaDevice(options.gpu)
    widths = (8, 8, 12, 9, 9, 9, 8)
    print(f"# {device.info.name}; {given.graph!r}, {options.share:.0%} resident")
    print(report.table_line(["page", "streams", "on device", "ms", "GB/s", "link", "share"], widths))
    for line in measured(device, given.graph.adjacency("in"), options.share, SIZES):
        print(report.table_line(line, widths), flush=True)
    device.close()


if __name__ == "__main__":
    main()
