"""Plain threads over disjoint ranges. What is computed never depends on how many there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

__all__ = ["available_threads", "cut", "on_threads", "over"]

Item = TypeVar("Item")
Result = TypeVar("Result")

GRAIN = 1 << 15
"""Entries below which a range is not worth a thread of its own."""


def available_threads() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cut(total: int, parts: int) -> list[tuple[int, int]]:
    """0..total in at most `parts` consecutive non-empty ranges of equal length, none much below GRAIN."""
    parts = max(1, min(parts, total // GRAIN))
    return [(total * i // parts, total * (i + 1) // parts) for i in range(parts)] if total else []


def on_threads(threads: int, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`[function(i) for i in items]` on up to `threads` threads; the first exception is raised."""
    if threads <= 1 or len(items) <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(function, items))


def over(total: int, threads: int, function: Callable[[int, int], object]) -> None:
    """Call `function(first, last)` for ranges that make up 0..total, on `threads` threads."""
    on_threads(threads, lambda part: function(*part), cut(total, threads * 4))
