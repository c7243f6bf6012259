"""Worker threads over disjoint ranges. Results never depend on the number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from vlang.runtime.threads.tasks import Task

__all__ = ["cut", "on_threads", "over"]

Item = TypeVar("Item")
Result = TypeVar("Result")

GRAIN = 1 << 15
"""The minimum number of entries in a range, so that the work outweighs the cost of a thread."""


def cut(total: int, parts: int) -> list[tuple[int, int]]:
    """Cut 0..total-1 into at most `parts` ranges (first, end) of about equal length, each of which has about GRAIN
    elements or more.
    """
    parts = max(1, min(parts, total // GRAIN))
    return [(total * i // parts, total * (i + 1) // parts) for i in range(parts)] if total else []


def on_threads(threads: int, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return `[function(i) for i in items]`, computed by up to `threads` threads including this one.

    Raises the first exception of a call. Fewer threads run if the system cannot start more. After an interrupt no
    further call begins. The interrupt is raised when the running calls have ended, because they write to arrays of the
    caller.
    """
    results: dict[int, Result] = {}
    failed: list[BaseException] = []
    todo = iter(range(len(items)))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                number = None if failed else next(todo, None)
            if number is None:
                return
            try:
                results[number] = function(items[number])
            except BaseException as error:
                failed.append(error)

    helpers = [Task(work) for _ in range(min(threads, len(items)) - 1)]
    try:
        for helper in helpers:
            if not helper.begin():
                break
        work()
        _await(helpers)
    except BaseException as error:
        failed.append(error)
        _await(helpers)
        raise
    if failed:
        raise failed[0]
    return [results[number] for number in range(len(items))]


def _await(helpers: Sequence[Task[None]]) -> None:
    for helper in helpers:
        helper.wait()


def over(total: int, threads: int, function: Callable[[int, int], object]) -> None:
    """Call `function(first, end)` on `threads` threads, for consecutive ranges first..end-1 that cover 0..total-1."""
    on_threads(threads, lambda part: function(*part), cut(total, threads * 4))
