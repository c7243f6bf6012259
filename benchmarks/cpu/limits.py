"""Measure two limits of memory in the same run: sequential reads, and random reads of 4 bytes."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from statistics import median

import numpy as np

from benchmarks.cpu.references import References

__all__ = ["Limits", "measure_limits"]

MB = 1 << 20
REPEATS = 5
GATHERS = 1 << 25


@dataclass(frozen=True)
class Limits:
    """The limits of memory.

    Attributes:
        read: bytes per second of sequential reads.
        gathers: the number of random 4-byte reads per second, for each size of the array in bytes.
    """

    read: float
    gathers: dict[int, float]

    def __str__(self) -> str:
        gathers = ", ".join(f"{rate / 1e6:.0f} M/s from {size // MB} MB" for size, rate in self.gathers.items())
        return f"reading {self.read / 1e9:.1f} GB/s; random 4-byte gathers {gathers}"


def measure_limits(references: References, threads: int, quick: bool) -> Limits:
    """Measure both limits with the number of threads of the workloads. Each limit is the median of a few runs.

    Arrays use large pages if the system grants them.
    """
    size = 16 * MB if quick else 512 * MB
    values = np.ones(size // 8, dtype=np.uint64)
    count, seconds = len(values), np.empty(1)
    samples = []
    for _ in range(REPEATS):
        references.call("limits", "read_all", values, count, ctypes.c_int(threads), seconds)
        samples.append(size / float(seconds[0]))
    gathers = {}
    for size in (4 * MB, 32 * MB, 256 * MB)[: 1 if quick else 3]:
        places = values.view(np.uint32)[: size // 4]
        rates = []
        for _ in range(REPEATS):
            references.call("limits", "gather", places, len(places) - 1, GATHERS, ctypes.c_int(threads), seconds)
            rates.append(GATHERS / float(seconds[0]))
        gathers[size] = median(rates)
    return Limits(median(samples), gathers)
