"""The CPU: plain threads that take tasks as they become free, each in one call of a kernel that releases the GIL."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.devices.objects import Kernel
from vlang.runtime.graph.workers import available_threads
from vlang.runtime.order_words import ORDER_ABORT, ORDER_CREW, ORDER_JOINED

__all__ = ["Cpu"]

Waited = TypeVar("Waited")

_NO_MORE = 1 << 62  # a counter of tasks that no launch reaches
_SMALL = 1 << 15  # edges and vertices below which a second thread costs more than it brings


class Cpu:
    """Launches passes. threads: how many work at once; results do not depend on it."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_threads()
        self._pool = ThreadPoolExecutor(self.threads - 1, "vlang") if self.threads > 1 else None

    def close(self) -> None:
        """Let the other threads end."""
        if self._pool is not None:
            _to_the_end(lambda pool: pool.shutdown(wait=True), self._pool)

    def launch(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int,
               after: tuple[Any, ...] = ()) -> None:
        """Run `kernel(*before, tasks, count, counter, *after)` until all tasks are done. cost: about how much work."""
        if count == 0:
            return
        counter = np.zeros(1, dtype=np.int64)  # of this launch: a helper that comes late finds nothing left
        args = (*before, tasks, count, counter, *after)
        futures = self._helpers(0 if cost < _SMALL else min(self.threads, count) - 1, kernel, args)
        try:
            kernel(*args)
        except BaseException:
            counter[0] = _NO_MORE
            raise
        finally:
            _to_the_end(wait, futures)
        for future in futures:
            future.result()

    def crew(self, kernel: Kernel, before: tuple[Any, ...], control: NDArray[np.int64], cost: int,
             after: tuple[Any, ...] = ()) -> int:
        """Run `kernel(*before, control, *after)` by threads that wait for each other inside: how many took part.

        control: see vlang.runtime.order_words. cost: about how much work.
        """
        control[[ORDER_ABORT, ORDER_CREW, ORDER_JOINED]] = 0
        args = (*before, control, *after)
        futures = self._helpers(0 if cost < _SMALL else self.threads - 1, kernel, args)
        try:
            control[ORDER_CREW] = len(futures) + 1
            kernel(*args)
        except BaseException:
            control[ORDER_ABORT] = 1
            raise
        finally:
            _to_the_end(wait, futures)
        for future in futures:
            future.result()
        return len(futures) + 1

    def _helpers(self, count: int, kernel: Kernel, args: tuple[Any, ...]) -> list[Future[int]]:
        """Let `count` other threads run the kernel, too, or as many as the system grants."""
        futures: list[Future[int]] = []
        if self._pool is not None:
            try:
                for _ in range(count):
                    futures.append(self._pool.submit(kernel, *args))
            except RuntimeError:  # no more threads are to be had, now and later
                self.threads = len(futures) + 1
        return futures


def _to_the_end(waiting: Callable[[Waited], object], what: Waited) -> None:
    """Wait, and put off interrupts until then: no array may go while a kernel still works on it."""
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            waiting(what)
            break
        except KeyboardInterrupt as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
