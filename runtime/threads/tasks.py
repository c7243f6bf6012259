"""Work in other threads, in a way that an interrupt cannot leave half done.

KeyboardInterrupt is raised in the main thread, between any two bytecodes. So nothing here relies on code written in
Python to give a lock back (threading.Condition and all that is built on it does, Thread.start included): a task is one
call of the interpreter's to start, and one lock of the interpreter's to wait for.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable
from typing import Generic, TypeVar, cast

__all__ = ["Task", "completed"]

_T = TypeVar("_T")


class Task(Generic[_T]):
    """A function that is called once, in a thread of its own. begun: whether it has been, or soon will be."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self.begun = False
        self._work = work
        self._done = allocate_lock()
        self._done.acquire()
        self._value: _T | None = None
        self._error: BaseException | None = None

    def begin(self) -> bool:
        """Start the thread; False where the system grants no more."""
        self.begun = True  # an interrupt comes behind the call below at the earliest
        try:
            start_new_thread(self._run, ())
        except RuntimeError:
            self.begun = False
        return self.begun

    def wait(self) -> None:
        """Return when the function has ended, or at once where it was not begun."""
        if self.begun:
            with self._done:
                pass

    def result(self) -> _T:
        """What the function returns or raises; called here where it was not begun."""
        if not self.begun:
            return self._work()
        self.wait()
        if self._error is not None:
            raise self._error
        return cast(_T, self._value)

    def _run(self) -> None:
        try:
            self._value = self._work()
        except BaseException as error:
            self._error = error
        finally:
            del self._work
            self._done.release()


def completed(work: Callable[[], _T]) -> _T:
    """`work()`, which runs to its end even if an interrupt is raised here meanwhile: in another thread, then.

    For what changes the state of libraries that cannot be trusted to survive an interrupt. The locks that the caller
    holds must not be needed by it.
    """
    if get_ident() != threading.main_thread().ident:
        return work()
    task = Task(work)
    task.begin()
    return task.result()
