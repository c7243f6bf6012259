"""What supersteps are made of, timed on a device once: accesses to memory, barriers, launches, and the host's link.

Push, early exit and full passes are weighed against each other by constants that were tuned on one device (H200): what
an edge costs there in whole kernels, with all that they do beside touching memory. On another device each is scaled by
the measured times of the accesses that it consists of. What the link costs is taken as measured. The result is kept in
the cache directory; graphs with few edges take the constants as they are, since there the choice hardly matters.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from vlang.errors import OutOfMemory
from vlang.runtime.compile.kept import key_of, read_entry, write_entry
from vlang.runtime.gpu.device.device import Device, Kernel
from vlang.runtime.gpu.topology.transfers import Link
from vlang.runtime.plan.plan import THREADS

__all__ = [
    "MEASURED_FROM", "REFERENCE", "Rates", "kept_rates", "measure_rates", "rate_sources", "rates_of", "sound",
]

MEASURED_FROM = 1 << 20  # edges of a graph
_MAGIC = b"vlang rates 1\n"
_SUFFIX = "rates"
_TRIALS = 3
_ODD = 64.0  # a measured time further off than this factor is no measurement
_KERNELS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    **{f"time_access_{kind}": (f"time_access<{kind}>", ("u64* sink", "u32* cells", "u64 mask", "u64 rounds"))
       for kind in range(3)},
    "time_barriers_kernel": ("time_barriers", ("u64* arrived", "u64 rounds")),
    "time_rows_kernel": ("time_rows", ("u64* sink", "const u32* host", "u64 mask", "u64 words", "u64 rounds")),
}


@dataclass(frozen=True)
class Rates:
    """Seconds, on a device that is full. stream, gather, atomic: of an access to 4 bytes, in order, in no order (16
    MB), and by an atomic minimum in no order. barrier: of the whole grid. launch: until a kernel has ended and the host
    knows. start, copied, direct, touched: as of `Link`, but all in seconds: of a copy to start, of a byte copied, of a
    byte read directly, of a row found."""

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
        """What moving bytes from the host costs."""
        return Link(self.start, 1 / self.copied, 1 / self.direct, 1 / self.touched)


REFERENCE = Rates()
"""Those of the H200 on which the constants of loops were tuned."""


def rates_of(device: Device, text: str, edges: int) -> Rates:
    """The rates of a device: as kept, else measured now, in some tenths of a second; those of the reference for a graph
    of few edges, or where there is no memory to measure. text: the code of a plan. Raises DeviceError."""
    if edges < MEASURED_FROM:
        return REFERENCE
    known = kept_rates(device.info.name, device.info.architecture)
    if known is not None:
        return known
    try:
        measured = measure_rates(device, text)
    except OutOfMemory:
        return REFERENCE
    kept = dict(zip((spec.name for spec in fields(Rates)), astuple(measured)))
    write_entry(_key(device.info.name, device.info.architecture), _SUFFIX, _MAGIC, json.dumps(kept).encode())
    return measured


def kept_rates(name: str, architecture: str) -> Rates | None:
    """What was measured on a device before; None for one that nothing was measured on."""
    raw = read_entry(_key(name, architecture), _SUFFIX, _MAGIC)  # None, too, for an entry that is damaged
    return None if raw is None else Rates(**json.loads(raw))


def _key(name: str, architecture: str) -> str:
    return key_of("rates", name, architecture)


def measure_rates(device: Device, text: str, rounds: int = 64, cells: int = 1 << 22, host: int = 1 << 24) -> Rates:
    """The rates, measured. rounds: accesses of a thread; cells, host: words of 32 bits on the device and on the host,
    powers of two. What cannot be measured is that of the reference."""
    kernels = device.load(f"{text}\n{_templates()}", _entries())
    memory = device.allocate(4 * cells + 256, "measuring the device")
    values = np.zeros(host, dtype=np.uint32)
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
            found["touched"] = short - 64 * found["direct"]
        return sound(found)
    finally:
        device.synchronize()
        device.unregister(values)
        device.free(memory)


def sound(found: Mapping[str, float]) -> Rates:
    """Measured rates; that of the reference where a measurement is missing or makes no sense."""
    known = dict(zip((spec.name for spec in fields(Rates)), astuple(REFERENCE)))
    good = {name: value for name, value in found.items()
            if np.isfinite(value) and known[name] / _ODD < value < known[name] * _ODD}
    return Rates(**{**known, **good})


def rate_sources() -> list[str]:
    """The text that stands behind that of a plan: templates, then their entry points."""
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
    """The least time between two events around what is queued, behind one time that warms up."""
    points = [device.record()]
    for _ in range(_TRIALS + 1):
        act()
        points.append(device.record())
    device.synchronize()
    return min(device.elapsed(a, b) for a, b in itertools.pairwise(points[1:]))


def _each(device: Device, kernel: Kernel, args: tuple[int, ...], of_block: int) -> float:
    """Seconds of one of the `of_block` operations of a block, on a device that is full."""
    blocks = max(1, device.resident(kernel, THREADS))
    return _seconds(device, lambda: device.launch(kernel, blocks, THREADS, args)) / (blocks * of_block)


def _barrier(device: Device, kernel: Kernel, arrived: int, rounds: int) -> float:
    def meet() -> None:
        device.fill(arrived, 8, 0)
        device.launch(kernel, device.info.multiprocessors, THREADS, (arrived, rounds), 0, None, True)

    return _seconds(device, meet) / rounds


def _launch(device: Device, kernel: Kernel, args: tuple[int, ...]) -> float:
    spans = []
    for _ in range(_TRIALS + 1):
        begin = time.perf_counter()
        device.launch(kernel, 1, THREADS, args)
        device.synchronize()
        spans.append(time.perf_counter() - begin)
    return min(spans[1:])
