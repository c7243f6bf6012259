"""The CPU: plain threads that take tasks as they become free, each in one call of a kernel that releases the GIL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.devices.objects import Kernel
from vlang.runtime.graph.workers import available_threads

__all__ = ["Cpu"]

_SMALL = 1 << 15  # edges and vertices below which a second thread costs more than it brings


class Cpu:
    """Launches passes. threads: how many work at once; results do not depend on it."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_threads()
        self._pool = ThreadPoolExecutor(self.threads - 1, "vlang") if self.threads > 1 else None
        self._counter = np.zeros(1, dtype=np.int64)

    def __enter__(self) -> Cpu:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def launch(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int,
               after: tuple[Any, ...] = ()) -> None:
        """Run `kernel(*before, tasks, count, counter, *after)` until all tasks are done. cost: about how much work."""
        if count == 0:
            return
        counter = self._counter
        counter[0] = 0
        args = (*before, tasks, count, counter, *after)
        helpers = 0 if self._pool is None or cost < _SMALL else min(self.threads, count) - 1
        futures = [self._pool.submit(kernel, *args) for _ in range(helpers)] if self._pool is not None else []
        try:
            kernel(*args)
        finally:
            for future in futures:
                future.result()
