"""The names of the options of a run: no parameter of a program may have one of them."""

from __future__ import annotations

__all__ = ["RUN_OPTIONS"]

# Program parameters and run options are keyword arguments of one call, so they share a namespace. Options that
# are still to come are reserved as well: a program that is correct today stays correct.
RUN_OPTIONS = frozenset({
    "max_rounds", "threads", "mode", "page_size", "progress", "precision", "asynchronous", "blocking", "verify",
    "order", "fields", "device", "gpu_memory", "streams", "kernel", "replication", "memory", "deterministic",
    "device_arrays",
})
