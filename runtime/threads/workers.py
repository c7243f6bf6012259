"""Plain threads over disjoint ranges. Results never depend on the number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from vlang.runtime.threads.tasks import Task

__all__ = ["cut", "on_threads", "over"]

Item = TypeVar("Item")
Result = TypeVar("Result")

GRAIN = 1 << 15
"""Entries below which a range is not worth a thread of its own."""


def cut(total: int, parts: int) -> list[tuple[int, int]]:
    """0..total in at most `parts` consecutive non-empty ranges of equal length, none much below GRAIN."""
    parts = max(1, min(parts, total // GRAIN))
    return [(total * i // parts, total * (i + 1) // parts) for i in range(parts)] if total else []


def on_threads(threads: int, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`[function(i) for i in items]` on up to `threads` threads, including this one; raises the first exception.

    Fewer threads run if the system grants no more. After an interrupt no further item begins. It is raised when the
    running items have ended, because they write to arrays of the caller.
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
    """Call `function(first, last)` for consecutive ranges that cover 0..total, on `threads` threads."""
    on_threads(threads, lambda part: function(*part), cut(total, threads * 4))
