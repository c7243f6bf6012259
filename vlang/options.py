"""The options of a run: their names, and sizes as people write them."""

from __future__ import annotations

import re

__all__ = ["GPU_OPTIONS", "RUN_OPTIONS", "parse_size"]

# Options that only a GPU heeds. `deterministic` is none of them: on the CPU every run is.
GPU_OPTIONS = ("gpu_memory", "streams", "kernel", "replication", "transfer", "device_arrays")

# Program parameters and run options are keyword arguments of one call, so they share a namespace. Options that
# are still to come are reserved as well: a program that is correct today stays correct.
RUN_OPTIONS = frozenset({
    "max_rounds", "threads", "mode", "switching", "page_size", "progress", "precision", "asynchronous", "blocking",
    "verify", "chaos", "derive", "order", "target", "fields", "device", "memory", "deterministic", "without",
    *GPU_OPTIONS,
})  # fmt: skip

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(text: str) -> int:
    """A number of bytes: 65536, 64K, 32M, 8G (powers of 1024). Raises ValueError with what to write."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise ValueError(f"`{text}` is not a size; write for example 65536, 64K, 32M or 8G")
    value = int(float(match[1]) * _UNITS[match[2].upper()])
    if value < 1:
        raise ValueError("a size is at least one byte")
    return value
