"""Work that is queued piece by piece, so that the caller can do other work in between."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

__all__ = ["Pieces", "completed", "queue_some"]

_T = TypeVar("_T")
Pieces = Generator[None, None, _T]
"""Queues a piece of work before each yield, and the last piece before it returns."""


def completed(pieces: Pieces[_T]) -> _T:
    """Queue all pieces; returns what the generator returns."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            found: _T = end.value
            return found


def queue_some(pieces: Pieces[_T], most: int) -> _T | None:
    """Queue at most `most` pieces; returns what the generator returns, or None if it has not returned."""
    try:
        for _ in range(most):
            next(pieces)
    except StopIteration as end:
        found: _T = end.value
        return found
    return None
