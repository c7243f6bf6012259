"""Tasks that run in other threads to their end, even if an interrupt arrives.

KeyboardInterrupt may be raised in the main thread between any two bytecodes. Therefore Python code, such as
threading.Condition and its users (including Thread.start), may leave a lock held. In this module a single built-in call
starts a task, and the caller waits for the task on a single built-in lock.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable
from contextvars import copy_context
from typing import Generic, TypeVar, cast

__all__ = ["Task", "completed"]

_T = TypeVar("_T")

_LOOK = 0.05  # seconds


class Task(Generic[_T]):
    """A function that a new thread calls once, in the context (PEP 567) of the thread that creates the task.

    The context has NumPy's allocator and error state.

    Attributes:
        begun: whether the thread was started, or is being started.
    """

    def __init__(self, work: Callable[[], _T]) -> None:
        self.begun = False
        self._work = work
        self._context = copy_context()
        self._done = allocate_lock()
        self._done.acquire()
        self._over = False
        self._value: _T | None = None
        self._error: BaseException | None = None

    def begin(self) -> bool:
        """Start the thread; returns False if the system cannot start another thread."""
        self.begun = True  # set first: an interrupt is raised no earlier than after the call below
        try:
            start_new_thread(self._run, ())
        except RuntimeError:
            self.begun = False
        return self.begun

    @property
    def ended(self) -> bool:
        """Return whether the function has returned, or was never started."""
        return not self.begun or self._over

    def wait(self) -> None:
        """Wait until the function has returned; returns at once if the function was never started."""
        while not self.ended:
            # The lock is released when the function returns. The timeout is for interrupts: libraries such as polars
            # install a SIGINT handler after which the system restarts the wait, and Python can raise no
            # KeyboardInterrupt while it waits.
            if self._done.acquire(timeout=_LOOK):
                self._done.release()

    def result(self) -> _T:
        """Wait, and return the result of the function or raise its exception.

        If the task was never started, the calling thread calls the function.
        """
        if not self.begun:
            return self._work()
        self.wait()
        if self._error is not None:
            raise self._error
        return cast(_T, self._value)

    def _run(self) -> None:
        try:
            self._value = self._context.run(self._work)
        except BaseException as error:
            self._error = error
        finally:
            del self._work, self._context
            self._over = True
            self._done.release()


def completed(work: Callable[[], _T]) -> _T:
    """Return `work()`, which runs to its end even if an interrupt is raised in the calling thread in the meantime.

    If the caller is the main thread, another thread runs `work`. This function is for calls into libraries whose state
    an interrupt could corrupt. `work` must not take locks that the caller holds.
    """
    if get_ident() != threading.main_thread().ident:
        return work()
    task = Task(work)
    task.begin()
    return task.result()
