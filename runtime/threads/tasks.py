"""Tasks in other threads that an interrupt cannot leave half done.

KeyboardInterrupt is raised in the main thread, between any two bytecodes. So nothing here relies on Python code to
release a lock, as threading.Condition and all that uses it do, including Thread.start. One built-in call starts a task,
and its caller waits for one built-in lock.
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
    """A function that is called once, in a thread of its own and in the context (PEP 567) of the thread that makes it.

    NumPy keeps its allocator and its error state there. begun: whether the call was started or is about to be.
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
        """Start the thread; False where the system grants no more."""
        self.begun = True  # an interrupt is raised after the call below at the earliest
        try:
            start_new_thread(self._run, ())
        except RuntimeError:
            self.begun = False
        return self.begun

    @property
    def ended(self) -> bool:
        """Whether the function has ended, or was not begun."""
        return not self.begun or self._over

    def wait(self) -> None:
        """Return when the function has ended; at once if it was not begun."""
        while not self.ended:
            # It wakes at the end. The time limit is for interrupts: libraries such as polars handle SIGINT so that the
            # system restarts a wait, during which Python cannot raise KeyboardInterrupt.
            if self._done.acquire(timeout=_LOOK):
                self._done.release()

    def result(self) -> _T:
        """The result or the exception of the function, which is called here if it was not begun."""
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
    """`work()`, which runs to its end even if an interrupt is raised here meanwhile.

    The main thread runs it in another thread. It is meant for calls that change the state of libraries which may not
    survive an interrupt. `work` must not need locks that the caller holds.
    """
    if get_ident() != threading.main_thread().ident:
        return work()
    task = Task(work)
    task.begin()
    return task.result()
