"""Launches on several GPUs whose kernels wait for each other.

Such kernels must all be queued before the host waits for one of the GPUs. Allocating and freeing device memory may wait
for all kernels, so both are kept out between the launches: of other threads by a lock, and of the garbage collector,
which frees the memory of unused graphs, by switching it off. An interrupt between two launches is raised after them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock

from vlang.runtime.threads.interrupts import Interrupts

__all__ = ["QUEUEING", "RUNNING", "queued_at_once"]

QUEUEING = RLock()
"""Held while device memory is allocated or freed, and while kernels that wait for each other are queued."""

RUNNING = Lock()
"""Held from the launch of kernels that wait for each other until they have ended. Otherwise GPU 0 could begin the
kernel of one thread, and GPU 1 the kernel of another.
"""


@contextmanager
def queued_at_once() -> Iterator[None]:
    """A context manager in which the launches are queued."""
    with QUEUEING, Interrupts() as interrupts:
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()
    interrupts.raise_noted()
