"""A small thread pool that runs kernels on pieces of the input in parallel."""

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
    """A pool of `threads` threads; 0 means one thread per processor that this process may use.

    A pool of one thread runs the work in the calling thread.
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
        """Start I/O work in an additional thread. Work that was submitted before must have ended."""
        task = Task(work)
        self._ahead = task
        task.begin()
        return task

    def map(self, work: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
        """Apply `work` to every item in parallel, and return the results in the order of the items."""
        return on_threads(self.threads, work, list(items))

    def blocks(self, work: Callable[[int, int], None], count: int, size: int = 1 << 20) -> None:
        """Call `work(first, end)` in parallel for consecutive ranges of `size` elements that cover 0..count-1."""
        self.map(lambda first: work(first, min(first + size, count)), range(0, count, size))
