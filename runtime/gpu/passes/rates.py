"""Measures the rates of a device once: memory accesses, barriers, launches, and the link to the host.

The choice between push, early exit and full passes uses constants that were tuned on one device (H200). Each constant
is the cost of an edge in a complete kernel, including costs beyond its memory accesses. For another device each
constant is scaled by the measured times of the accesses that it includes. The measured rates of the link are used
without scaling. The result is cached on disk. Graphs with few edges use the constants without scaling, as the choice
hardly matters for such graphs.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np

from vlang.records import dataclass
from vlang.runtime.compile.cachedir import cache_dir
from vlang.runtime.compile.kept import key_of, read_entry, write_entry
from vlang.runtime.gpu.device.device import Device, Kernel
from vlang.runtime.gpu.topology.transfers import Link
from vlang.runtime.plan.plan import THREADS
from vlang.runtime.threads.activity import step

__all__ = [
    "MEASURED_FROM", "REFERENCE", "Rates", "kept_rates", "measure_rates", "rate_sources", "rates_of", "sound",
]

MEASURED_FROM = 1 << 20  # graphs with fewer edges use the reference
_MAGIC = b"vlang rates 2\n"
_SUFFIX = "rates"
_TRIALS = 3
_ODD = 64.0  # a time that differs from the reference by more than this factor is discarded
_KERNELS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    **{f"time_access_{kind}": (f"time_access<{kind}>", ("u64* sink", "u32* cells", "u64 mask", "u64 rounds"))
       for kind in range(3)},
    "time_barriers_kernel": ("time_barriers", ("u64* arrived", "u64 rounds")),
    "time_rows_kernel": ("time_rows", ("u64* sink", "const u32* host", "u64 mask", "u64 words", "u64 rounds")),
}


@dataclass(frozen=True)
class Rates:
    """The times of operations on a fully occupied device, in seconds.

    Attributes:
        stream: a sequential access to 4 bytes.
        gather: a random access to 4 bytes within 16 MB.
        atomic: a random atomic minimum.
        barrier: a barrier of the whole grid.
        launch: the time from the launch of a kernel until the host sees that the kernel has ended.
        start: the start of a copy from the host.
        copied: copying a byte from the host.
        direct: reading a byte of host memory in a kernel.
        touched: the first access to a row in host memory. The time of a first access is never measured, but always
            taken from the reference, because it depends on the size of the memory. The measurement would use a buffer
            of 64 MB, which stays in the device's translation caches and takes 1 / 17 of the time.
    """

    stream: float = 4 / 4.48e12
    gather: float = 1 / 142e9
    atomic: float = 1 / 100e9
    barrier: float = 1.03e-6
    launch: float = 10.8e-6
    start: float = 2.6e-6
    copied: float = 1 / 55.5e9
    direct: float = 1 / 36e9
    touched: float = 1 / 61e6

    def __str__(self) -> str:
        return (f"a gather {1e12 * self.gather:.1f} ps, an atomic minimum {1e12 * self.atomic:.1f} ps, a barrier "
                f"{1e6 * self.barrier:.2f} us, a launch {1e6 * self.launch:.1f} us, copies {1e-9 / self.copied:.1f} "
                f"GB/s, rows read in place {1e-6 / self.touched:.0f} M/s")

    @property
    def link(self) -> Link:
        """The cost of moving bytes from the host."""
        return Link(self.start, 1 / self.copied, 1 / self.direct, 1 / self.touched, _QUEUED)


_QUEUED = 95e-6  # seconds of the host for a page that is copied (docs/internals/gpu-performance.md)

_read: dict[tuple[Path | None, str, str], Rates] = {}
"""The rates that this process has read, by cache directory, name and architecture of the device."""

REFERENCE = Rates()
"""The rates of the H200 on which the constants of loops were tuned."""


def rates_of(device: Device, text: str, edges: int) -> Rates:
    """Return the rates of a device, from the cache or from a measurement of some tenths of a second.

    For a graph with few edges, the result is the reference rates. The result is also the reference rates if there is no
    memory for the measurement, which needs 64 MB on the host and 16 MB on the device.

    Args:
        device: the device to measure.
        text: the code of a plan.
        edges: edges of the graph.

    Raises:
        DeviceError: the device fails.
    """
    if edges < MEASURED_FROM:
        return REFERENCE
    at = (cache_dir(), device.info.name, device.info.architecture)
    if at in _read:
        return _read[at]
    known = kept_rates(device.info.name, device.info.architecture)
    if known is not None:
        return _read.setdefault(at, known)
    try:
        with step("measuring", "the rates of this GPU"):
            measured = measure_rates(device, text)
    except MemoryError:  # includes OutOfMemory; NumPy raises it if the host's budget is exceeded
        return REFERENCE
    kept = dict(zip((spec.name for spec in fields(Rates)), astuple(measured)))
    write_entry(_key(device.info.name, device.info.architecture), _SUFFIX, _MAGIC, json.dumps(kept).encode())
    return measured


def kept_rates(name: str, architecture: str) -> Rates | None:
    """Return the cached rates of a device; None if it was never measured."""
    raw = read_entry(_key(name, architecture), _SUFFIX, _MAGIC)  # None also for a damaged entry
    return None if raw is None else Rates(**json.loads(raw))


def _key(name: str, architecture: str) -> str:
    return key_of("rates", name, architecture)


def measure_rates(device: Device, text: str, rounds: int = 64, cells: int = 1 << 22, host: int = 1 << 24) -> Rates:
    """Measure the rates of a device. A rate that cannot be measured is taken from the reference.

    Args:
        device: the device to measure.
        text: the code of a plan.
        rounds: accesses per thread.
        cells: 32-bit words of device memory, a power of two.
        host: 32-bit words of host memory, a power of two.
    """
    kernels = device.load(f"{text}\n{_templates()}", _entries())
    values = np.zeros(host, dtype=np.uint32)  # allocated first, as it fails if the budget is small
    memory = device.allocate(4 * cells + 256, "measuring the device")
    seen = device.register(values)
    sink, at = memory.pointer + 4 * cells, memory.pointer
    try:
        device.fill(at, 4 * cells, 255)
        found = {}
        for name, kind in (("stream", 0), ("gather", 1), ("atomic", 2)):
            found[name] = _each(device, kernels[f"time_access_{kind}"], (sink, at, cells - 1, rounds), THREADS * rounds)
        found["barrier"] = _barrier(device, kernels["time_barriers_kernel"], sink, rounds)
        found["launch"] = _launch(device, kernels["time_access_0"], (sink, at, cells - 1, 1))
        large = values[: min(host, cells)]
        small = large[: len(large) // 64]
        many = _seconds(device, lambda: device.upload(at, large))
        few = _seconds(device, lambda: device.upload(at, small))
        found["copied"] = (many - few) / (large.nbytes - small.nbytes)
        found["start"] = few - small.nbytes * found["copied"]
        if seen:
            warps, row = THREADS // 32, min(1024, host)
            short = _each(device, kernels["time_rows_kernel"], (sink, seen, host - 1, 16, rounds), warps * rounds)
            long = _each(device, kernels["time_rows_kernel"], (sink, seen, host - 1, row, rounds), warps * rounds)
            found["direct"] = (long - short) / (4 * max(1, row - 16))
        return sound(found)
    finally:
        device.synchronize()
        device.unregister(values)
        device.free(memory)


def sound(found: Mapping[str, float]) -> Rates:
    """Return measured rates in which the reference replaces missing or implausible values."""
    known = dict(zip((spec.name for spec in fields(Rates)), astuple(REFERENCE)))
    good = {name: value for name, value in found.items()
            if np.isfinite(value) and known[name] / _ODD < value < known[name] * _ODD}
    return Rates(**{**known, **good})


def rate_sources() -> list[str]:
    """Return the CUDA C code to append to the code of a plan: templates, followed by their entry points."""
    return [_templates(), *_entries().values()]


def _templates() -> str:
    return Path(__file__).with_name("rates.cuh").read_text(encoding="utf-8")


def _entries() -> dict[str, str]:
    found = {}
    for name, (called, parameters) in _KERNELS.items():
        head = f'extern "C" __global__ void __launch_bounds__({THREADS}) {name}({", ".join(parameters)})'
        found[name] = f"{head} {{ {called}({', '.join(one.split()[-1] for one in parameters)}); }}\n"
    return found


def _seconds(device: Device, act: Callable[[], None]) -> float:
    """Return the minimum time of the work that `act` queues, over _TRIALS trials after a warm-up."""
    points = [device.record()]
    for _ in range(_TRIALS + 1):
        act()
        points.append(device.record())
    device.synchronize()
    return min(device.elapsed(a, b) for a, b in itertools.pairwise(points[1:]))


def _each(device: Device, kernel: Kernel, args: tuple[int, ...], of_block: int) -> float:
    """Return the seconds per operation on a fully occupied device, if each block runs `of_block` operations."""
    blocks = max(1, device.resident(kernel, THREADS))
    return _seconds(device, lambda: device.launch(kernel, blocks, THREADS, args)) / (blocks * of_block)


def _barrier(device: Device, kernel: Kernel, arrived: int, rounds: int) -> float:
    def synchronise() -> None:
        device.fill(arrived, 8, 0)
        device.launch(kernel, device.info.multiprocessors, THREADS, (arrived, rounds), 0, None, True)

    return _seconds(device, synchronise) / rounds


def _launch(device: Device, kernel: Kernel, args: tuple[int, ...]) -> float:
    spans = []
    for _ in range(_TRIALS + 1):
        begin = time.perf_counter()
        device.launch(kernel, 1, THREADS, args)
        device.synchronize()
        spans.append(time.perf_counter() - begin)
    return min(spans[1:])
