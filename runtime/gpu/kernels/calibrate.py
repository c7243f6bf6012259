"""Measures atomic operations on shared memory with 1 to 32 colliding lanes, and derives the replication factor R.

Garaph (USENIX ATC'17) chooses the replication factor R from the cost ratio of an atomic operation to a load. This
module times atomic operations and loads on the device, for each class of operations
(vlang.runtime.gpu.kernels.replication.class_of). Each kind of device is measured once, and the result is cached on
disk. Edges are sorted by destination. With D edges per vertex, min(D, 32) lanes of a warp collide if there is no
replication; with R copies, min(D, 32) / R lanes collide. A vertex then costs

    D t_atomic(min(D, 32) / R) + R t_copy

where t_copy is the time to clear and merge one copy. The constants (shift, cap) are chosen to minimise the cost over
densities D from 1 to 256.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.kept import key_of, read_entry, write_entry
from vlang.runtime.gpu.device.device import Device, Kernel
from vlang.runtime.gpu.kernels.replication import DEFAULTS, MOST, Constants
from vlang.runtime.plan.plan import THREADS
from vlang.runtime.threads.activity import step

__all__ = ["constants_of", "fit", "measure", "sources"]

_MAGIC = b"vlang replication 1\n"
_SUFFIX = "replication"
_OPERATIONS = {"native": "native_min", "loop32": "loop32_add", "loop64": "loop64_add"}
_DEGREES = (1, 2, 4, 8, 16, 32)
_DENSITIES = 1 << np.arange(9)
_WORDS = 8192  # 32-bit words: the cells of a shard
_SINK = 8 * THREADS
_TRIALS = 3


def constants_of(device: Device, text: str) -> Mapping[str, Constants]:
    """Return the constants of a device for every class of operations, from the cache or from a measurement of 0.1 s.

    Args:
        device: the device to measure.
        text: the code of a plan, which contains the unified operations.

    Raises:
        DeviceError: the device fails.
        OutOfMemory: there is no memory for the measurement.
    """
    key = key_of("replication", device.info.name, device.info.architecture)
    raw = read_entry(key, _SUFFIX, _MAGIC)  # None also for a damaged entry
    if raw is not None:
        return {name: Constants(*pair) for name, pair in json.loads(raw).items()}
    with step("measuring", "atomic operations of this GPU"):
        measured = measure(device, text)
    kept = {name: (constants.shift, constants.cap) for name, constants in measured.items()}
    write_entry(key, _SUFFIX, _MAGIC, json.dumps(kept).encode())
    return measured


def measure(device: Device, text: str, rounds: int = 128) -> Mapping[str, Constants]:
    """Measure the constants for every class of operations, with `rounds` operations per thread.

    With fewer operations the measurement is faster, but less exact.
    """
    kernels = device.load(f"{text}\n{_templates()}", _entries())
    sink = device.allocate(_SINK, "measuring the device")
    try:
        copy = _time(device, kernels["time_copies_kernel"], (sink.pointer, _WORDS, MOST, rounds // 4), 4 * _WORDS,
                     _WORDS * (rounds // 4))
        return {
            name: fit([_time(device, kernels[f"time_join_{operation}"], (sink.pointer, degree, rounds), 8 * THREADS,
                             THREADS * rounds) for degree in _DEGREES], copy, DEFAULTS[name])
            for name, operation in _OPERATIONS.items()
        }
    finally:
        device.free(sink)


def fit(atomic: Sequence[float], copy: float, default: Constants) -> Constants:
    """Return the constants with the lowest cost.

    Args:
        atomic: time of an operation when 1, 2, 4, ..., 32 lanes collide.
        copy: time to clear and merge a cell, in the same unit.
        default: the constants to return if the times are implausible.
    """
    times = np.asarray(atomic, dtype=np.float64)
    if not (np.isfinite(times).all() and (times > 0).all() and np.isfinite(copy) and copy > 0):
        return default
    costs = _costs(times, copy)
    levels = np.log2(_DENSITIES).astype(np.int64)
    best, found = np.inf, default
    for shift, cap in itertools.product(range(-5, 1), range(6)):
        exponents = np.clip(levels + shift, 0, cap)
        regret = float(np.log(costs[np.arange(len(levels)), exponents] / costs.min(axis=1)).sum())
        if regret < best - 1e-9:  # on a tie keep the smaller R, which allows larger shards
            best, found = regret, Constants(shift, cap)
    return found


def _costs(times: NDArray[np.float64], copy: float) -> NDArray[np.float64]:
    """Return the time per vertex: one row for each density, and one column for each exponent of R."""
    exponents = np.arange(MOST.bit_length())
    colliding = np.log2(np.minimum(_DENSITIES, 32)).astype(np.int64)[:, None] - exponents
    result: NDArray[np.float64] = _DENSITIES[:, None] * times[np.maximum(colliding, 0)] + (1 << exponents) * copy
    return result


def sources() -> list[str]:
    """Return the CUDA C code to append to the code of a plan: templates, followed by their entry points."""
    return [_templates(), *_entries().values()]


def _templates() -> str:
    return Path(__file__).with_name("calibrate.cuh").read_text(encoding="utf-8")


def _entries() -> dict[str, str]:
    joins = [_entry("time_join", name, ("degree", "rounds")) for name in _OPERATIONS.values()]
    return dict([_entry("time_copies", "", ("words", "copies", "rounds")), *joins])


def _entry(template: str, operation: str, names: Sequence[str]) -> tuple[str, str]:
    name = f"{template}_{operation or 'kernel'}"
    parameters = ", ".join(["u64* sink", *(f"u64 {n}" for n in names)])
    called = f"{template}<{operation}>" if operation else template
    return name, (f'extern "C" __global__ void __launch_bounds__({THREADS}) {name}({parameters}) '
                  f"{{ {called}({', '.join(['sink', *names])}); }}\n")


def _time(device: Device, kernel: Kernel, args: Sequence[int], shared: int, operations: int) -> float:
    """Return the seconds per operation on a fully occupied device: the minimum of several trials after a warm-up."""
    blocks = max(1, device.resident(kernel, THREADS, shared))
    points = [device.record()]
    for _ in range(_TRIALS + 1):
        device.launch(kernel, blocks, THREADS, args, shared)
        points.append(device.record())
    device.synchronize()
    spans = [device.elapsed(a, b) for a, b in itertools.pairwise(points)]
    return min(spans[1:]) / (blocks * operations)
