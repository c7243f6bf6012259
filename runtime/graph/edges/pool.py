"""A small thread pool that runs kernels over pieces of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, TypeVar

from vlang.runtime.threads.processors import available_threads
from vlang.runtime.threads.tasks import Task
from vlang.runtime.threads.workers import on_threads

__all__ = ["Workers"]

_T = TypeVar("_T")
_R = TypeVar("_R")


class Workers:
    """A pool of `threads` threads, 0 for one per processor that this process may use.

    A pool of one thread starts none.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads or available_threads()
        self._ahead: Task[Any] | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._ahead is not None:
            self._ahead.wait()

    def submit(self, work: Callable[[], _R]) -> Task[_R]:
        """Start `work`, which mostly waits for a disk, in an additional thread; the previous one must have ended."""
        task = Task(work)
        self._ahead = task
        task.begin()
        return task

    def map(self, work: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
        """`work` applied to every item; results in the order of the items."""
        return on_threads(self.threads, work, list(items))

    def blocks(self, work: Callable[[int, int], None], count: int, size: int = 1 << 20) -> None:
        """Call `work(first, end)` for consecutive pieces of 0..count, `size` long."""
        self.map(lambda first: work(first, min(first + size, count)), range(0, count, size))
