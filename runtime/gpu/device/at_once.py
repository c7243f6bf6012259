"""Launches on several GPUs whose kernels wait for each other.

Such kernels must all be queued before the host waits for one of the GPUs. Some calls of the driver may wait for all
kernels, or keep other threads from queueing one for seconds: allocating and freeing device memory, locking and
unlocking host memory, loading and unloading machine code. So these calls are kept out between the launches: those of
other threads by a lock, and those of the garbage collector, which frees the memory of unused graphs, by switching it
off. An interrupt between two launches is raised after them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock

from vlang.runtime.threads.interrupts import Interrupts

__all__ = ["QUEUEING", "RUNNING", "queued_at_once"]

QUEUEING = RLock()
"""Held during calls of the driver that may wait for kernels, and while kernels that wait for each other are queued."""

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
