"""A few threads that run kernels over pieces of the work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

__all__ = ["Workers"]

_T = TypeVar("_T")
_R = TypeVar("_R")


class Workers:
    """`threads` plain threads, 0 for one per processor that this process may use; none are started for one thread."""

    def __init__(self, threads: int) -> None:
        self.threads = threads or len(os.sched_getaffinity(0))
        # One more than compute: it reads ahead, and waits most of the time.
        self._pool = ThreadPoolExecutor(self.threads + 1, thread_name_prefix="vlang-read")

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown(cancel_futures=True)

    def submit(self, work: Callable[[], _R]) -> Future[_R]:
        """Begin `work` in another thread."""
        return self._pool.submit(work)

    def map(self, work: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
        """`work` of every item, in the order of the items."""
        todo = list(items)
        if len(todo) <= 1 or self.threads == 1:
            return [work(item) for item in todo]
        return list(self._pool.map(work, todo))

    def blocks(self, work: Callable[[int, int], None], count: int, size: int = 1 << 20) -> None:
        """`work(first, end)` for the pieces of 0..count, `size` long."""
        self.map(lambda first: work(first, min(first + size, count)), range(0, count, size))
