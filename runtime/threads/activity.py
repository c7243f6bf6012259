"""Reports the activity of a process to listeners: steps and their progress, supersteps, and spans of time.

Readers, compilers, machines and the engine report here. A listener shows the reports as progress
(`vlang.api.running.progress`) or writes them to a file (`vlang.runtime.engine.recorder`). Without a listener, a report
costs one look-up of a context variable. Threads that are started as `Task`s report to the listeners of their creator.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from vlang.records import dataclass
from vlang.runtime.threads.moved import NOTHING, Moved

__all__ = ["Listener", "Supersteps", "listened_by", "listeners", "reach", "step", "timed",
           "unreported"]


@dataclass(frozen=True)
class Supersteps:
    """Rounds of a loop that ran in one call.

    Attributes:
        loop: the number of the loop in the program, as in `Round`.
        line: the line of the loop in the program; 0 if it is not known.
        first: the number of the first round.
        begin: when the rounds began, by `time.perf_counter`.
        seconds: the time of each round; the mean time if there are several rounds.
        done: the `Done` of each round; not empty.
        bound: the maximum number of rounds of the loop; None if it is not known.
        gap: the value that `until` compares with a tolerance, and the tolerance; () for other conditions.
        moved: the edges that all of these rounds moved.
    """

    loop: int
    line: int
    first: int
    begin: float
    seconds: float
    done: Sequence[Any]
    bound: int | None = None
    gap: tuple[float, ...] = ()
    moved: Moved = NOTHING


class Listener(Protocol):
    """Receives reports. Methods may be called by several threads; times come from `time.perf_counter`."""

    def begin(self, name: str, of: str, size: int) -> None:
        """The step `name` on `of` begins, perhaps inside another step. `size`, if not 0, is the number of bytes of
        `of`.
        """

    def reach(self, fraction: float, count: str) -> None:
        """The current step has done this fraction of its work, 0 to 1. `count` is the fraction in words, or "".
        """

    def end(self) -> None:
        """The current step has ended."""

    def span(self, kind: str, name: str, begin: float, seconds: float, details: dict[str, Any]) -> None:
        """A span of time has ended.

        Args:
            kind: "step", "pass", "kernel", "read" of a page from disk, "check" of this page, or "copy" of a page to a
                GPU.
            name: the name of the step, pass, kernel or page.
            begin: when the span began.
            seconds: how long it took. Work that is only queued on a GPU has the detail `queued`.
            details: more about the span, such as `bytes`, `edges` and `mode`.
        """

    def rounds(self, ran: Supersteps) -> None:
        """Rounds of a loop have ended."""


_LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("vlang listeners", default=())


def listeners() -> tuple[Listener, ...]:
    """The listeners of the current context."""
    return _LISTENERS.get()


@contextmanager
def listened_by(*more: Listener) -> Iterator[None]:
    """A context manager in which `more` listeners receive all reports."""
    token = _LISTENERS.set((*_LISTENERS.get(), *more))
    try:
        yield
    finally:
        _LISTENERS.reset(token)


@contextmanager
def unreported() -> Iterator[None]:
    """A context manager in which no listener receives reports."""
    token = _LISTENERS.set(())
    try:
        yield
    finally:
        _LISTENERS.reset(token)


def step(name: str, of: str = "", size: int = 0) -> AbstractContextManager[object]:
    """A context manager that reports the step `name` on `of`. `size`, if not 0, is the number of bytes of `of`."""
    found = _LISTENERS.get()
    return _step(found, name, of, size) if found else _IGNORED


@contextmanager
def _step(found: tuple[Listener, ...], name: str, of: str, size: int) -> Iterator[None]:
    for one in found:
        one.begin(name, of, size)
    try:
        with timed("step", f"{name} {of}".strip()):
            yield
    finally:
        for one in found:
            one.end()


def reach(fraction: float, count: str = "") -> None:
    """Report the fraction of the current step that is done, 0 to 1.

    Args:
        count: the fraction in words, such as "3 of 64".
    """
    for one in _LISTENERS.get():
        one.reach(fraction, count)


class _Timed:
    """The context manager that `timed` returns if there are listeners."""

    def __init__(self, found: tuple[Listener, ...], kind: str, name: str, details: dict[str, Any]) -> None:
        self._listeners, self._kind, self._name, self._details = found, kind, name, details

    def __enter__(self) -> dict[str, Any]:
        self._begin = time.perf_counter()
        return self._details

    def __exit__(self, *_: object) -> None:
        seconds = time.perf_counter() - self._begin
        for one in self._listeners:
            one.span(self._kind, self._name, self._begin, seconds, self._details)


class _Ignored:
    """The context manager that `timed` returns without listeners."""

    def __enter__(self) -> dict[str, Any]:
        return {}

    def __exit__(self, *_: object) -> None:
        pass


_IGNORED = _Ignored()


def timed(kind: str, name: str, **details: Any) -> _Timed | _Ignored:
    """A context manager that reports a span with details.

    The block may add details; `Listener.span` lists the kinds.
    """
    found = _LISTENERS.get()
    return _Timed(found, kind, name, details) if found else _IGNORED
