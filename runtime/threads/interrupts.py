"""Interrupts that are deferred to the end of a superstep, so that the state of the run is consistent."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any, Self

from vlang.runtime.threads.tasks import Task

__all__ = ["GRACE", "Interrupts"]

GRACE = 20.0
"""Seconds after which an interrupted run ends even inside a superstep. Job schedulers kill a job after about 30 s."""


class Interrupts:
    """A context in which the first SIGINT or SIGTERM is recorded, and raised only after at most `grace` seconds.

    A second signal is raised at once. Only handlers that would end the run are replaced: the handler that raises
    KeyboardInterrupt, and the default action of SIGTERM. In threads other than the main thread no handler is replaced.

    Attributes:
        asked: the number of the recorded signal, 0 for none.
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
        """Seconds until the run ends even inside a superstep; infinite if no signal was recorded."""
        return max(0.0, self._end - time.monotonic()) if self.asked else float("inf")

    def raise_noted(self) -> None:
        """Deliver the recorded signal, if any: raise KeyboardInterrupt or end the process."""
        number, self.asked = self.asked, 0
        self._give_back()
        if number:
            signal.raise_signal(number)
            raise KeyboardInterrupt  # reached only if the handler did nothing

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
        """Run by a separate thread: send SIGINT to the main thread unless the context ends within the grace period."""
        if not self._over.acquire(timeout=self._grace) and self._before:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def _give_back(self) -> None:
        """Restore the handlers, and end the thread that runs `_wait`."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
        if self._over.locked():
            self._over.release()
