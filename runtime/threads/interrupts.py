"""Interrupts that wait for the end of a superstep, so that what they leave behind is whole."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any, Self

from vlang.runtime.threads.tasks import Task

__all__ = ["GRACE", "Interrupts"]

GRACE = 20.0
"""Seconds after which a run that was interrupted ends wherever it is: schedulers grant half a minute."""


class Interrupts:
    """A context in which SIGINT and SIGTERM are noted instead of raised: once, and for GRACE seconds at most.

    A second signal is raised at once. Only handlers that would end the run are replaced: those that raise
    KeyboardInterrupt, and the system's own for SIGTERM. In other threads than the main one nothing is replaced.

    Attributes:
        asked: the signal that was noted, 0 for none.
    """

    def __init__(self, grace: float = GRACE) -> None:
        self.asked = 0
        self._grace, self._end = grace, 0.0
        self._before: dict[int, Any] = {}
        self._over = threading.Lock()
        self._watch: Task[None] | None = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                now = signal.getsignal(number)
                ends = now is signal.default_int_handler or (number == signal.SIGTERM and now is signal.SIG_DFL)
                if ends:
                    self._before[number] = now
                    signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()

    @property
    def left(self) -> float:
        """Seconds until the run ends wherever it is; infinite if there was no signal."""
        return max(0.0, self._end - time.monotonic()) if self.asked else float("inf")

    def raise_noted(self) -> None:
        """Do now what the noted signal would have done: raise KeyboardInterrupt, or end the process."""
        number, self.asked = self.asked, 0
        self._give_back()
        if number:
            signal.raise_signal(number)
            raise KeyboardInterrupt  # only if the handler did nothing

    def _note(self, number: int, _frame: FrameType | None) -> None:
        """The handler of both signals."""
        if self.asked:
            self._give_back()
            raise KeyboardInterrupt
        self.asked, self._end = number, time.monotonic() + self._grace
        self._over.acquire(blocking=False)
        self._watch = Task(self._wait)
        self._watch.begin()

    def _wait(self) -> None:
        """In a thread of its own: send the signal again unless the context ends in time."""
        if not self._over.acquire(timeout=self._grace) and self._before:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _give_back(self) -> None:
        """Restore the handlers, and end the thread that waits."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
        if self._over.locked():
            self._over.release()
