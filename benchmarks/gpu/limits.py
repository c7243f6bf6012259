"""Measure the limits of the GPU and of its link to the host. The limits are measured in the same session as the runs
that are compared with them.

`python benchmarks/gpu/limits.py` measures and prints the limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Limits", "gather_seconds", "measure_limits"]

MB = 1 << 20
REPEATS = 7
GATHERS = 1 << 26  # number of random gathers in a measurement
BARRIERS = 1000


@dataclass(frozen=True)
class Limits:
    """Measured limits of a device.

    Attributes:
        copy: bytes per second read and written by a copy in device memory.
        gathers: the number of random 4-byte reads per second, for each size of the array in bytes.
        link: bytes per second from page-locked memory to the device, by the size of a copied piece in bytes.
        launch: seconds from a launch to the end of the kernel, as the host measures it.
        barrier: seconds of a barrier over the whole grid.
    """

    copy: float
    gathers: dict[int, float]
    link: dict[int, float]
    launch: float
    barrier: float

    @property
    def best_link(self) -> float:
        """The rate of the link in bytes per second, for the fastest piece size."""
        return max(self.link.values())

    def __str__(self) -> str:
        gathers = ", ".join(f"{rate / 1e9:.0f} G/s from {size // MB} MB" for size, rate in self.gathers.items())
        link = ", ".join(f"{rate / 1e9:.1f} GB/s at {size // MB} MB" for size, rate in self.link.items())
        return (f"copy {self.copy / 1e12:.2f} TB/s; gathers {gathers}; link {link}; "
                f"launch and wait {self.launch * 1e6:.1f} us; grid barrier {self.barrier * 1e6:.2f} us")


def measure_limits() -> Limits:
    """Measure all limits, which takes about two seconds. Raises ImportError if CuPy is not installed."""
    import cupy

    limits = Limits(
        copy=_copy(512 * MB),
        gathers={size: _random_gathers(size) for size in (16 * MB, 64 * MB)},
        link={size: _link(size, 256 * MB) for size in (4 * MB, 64 * MB)},
        launch=_launch(),
        barrier=_barrier(),
    )
    cupy.get_default_memory_pool().free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()
    return limits


def gather_seconds(targets: NDArray[np.uint32], n: int) -> float:
    """Return the seconds to read all targets in order, and to gather one float for each target. The time of these reads
    is the limit of a sweep.

    Args:
        n: the number of vertices.
    """
    import cupy

    found = _gather(cupy.asarray(targets), n)
    cupy.get_default_memory_pool().free_all_blocks()
    return found


def _module() -> Any:
    import cupy

    return cupy.RawModule(code=Path(__file__).with_name("limits.cu").read_text(encoding="utf-8"))


def _processors() -> int:
    import cupy

    return int(cupy.cuda.Device().attributes["MultiProcessorCount"])


def _timed(work: Callable[[], object]) -> float:
    """Return the seconds that a function takes on the device: the median of several runs after a warm-up."""
    import cupy

    work()
    samples = []
    for _ in range(REPEATS):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        samples.append(float(cupy.cuda.get_elapsed_time(begin, end)) / 1e3)
    return median(samples)


def _copy(size: int) -> float:
    import cupy

    source, target = cupy.zeros(size, cupy.uint8), cupy.empty(size, cupy.uint8)
    return 2 * size / _timed(lambda: target.data.copy_from_device_async(source.data, size, cupy.cuda.Stream.null))


def _gather(targets: Any, n: int) -> float:
    """Return the seconds of one gather.

    Args:
        targets: cupy uint32[E].
    """
    import cupy

    kernel = _module().get_function("gather")
    values, sink = cupy.ones(n, cupy.float32), cupy.empty(1, cupy.float32)
    arguments = (targets, values, np.uint64(len(targets) // 4), sink)
    return _timed(lambda: kernel((8 * _processors(),), (256,), arguments))


def _random_gathers(size: int) -> float:
    import cupy

    n = size // 4
    targets = np.random.default_rng(1).integers(0, n, GATHERS, dtype=np.uint32)
    return GATHERS / _gather(cupy.asarray(targets), n)


def _link(piece: int, total: int) -> float:
    import cupy

    host = cupy.cuda.alloc_pinned_memory(total)
    np.frombuffer(host, np.uint8, total)[:] = 1
    target = cupy.empty(total, cupy.uint8)
    stream = cupy.cuda.Stream.null

    def work() -> None:
        for at in range(0, total, piece):
            (target.data + at).copy_from_host_async(host.ptr + at, piece, stream)

    return total / _timed(work)


def _launch() -> float:
    import cupy

    kernel, stream = _module().get_function("nothing"), cupy.cuda.Stream.null
    samples = []
    for _ in range(300):
        begin = time.perf_counter()
        kernel((1,), (32,), ())
        stream.synchronize()
        samples.append(time.perf_counter() - begin)
    return median(samples)


def _barrier() -> float:
    import cupy

    kernel, arrived = _module().get_function("barriers"), cupy.zeros(1, cupy.uint32)

    def work() -> None:
        arrived.fill(0)
        kernel((_processors(),), (256,), (arrived, np.uint64(BARRIERS)))

    return _timed(work) / BARRIERS


if __name__ == "__main__":
    print(measure_limits())
