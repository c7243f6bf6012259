"""Threads that stay: helpers who join the launches of a caller within microseconds, and sleep between calls.

Helpers never come back to the interpreter: opening a launch, joining, closing, falling asleep and waking are machine
code (crew.py of vlang.runtime.kernels), as each way through the interpreter's lock may cost two switches of threads.
Whoever is awake looks for launches all the time, so joins at once. A crew serves one caller at a time.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vlang.errors import InternalError
from vlang.runtime.compile.objects import Kernel, address_of
from vlang.runtime.kernels import crew_kernels
from vlang.runtime.plan.layouts.crew_words import (
    CREW_ARGS,
    CREW_COUNT,
    CREW_COUNTER,
    CREW_DESK,
    CREW_DESKS,
    CREW_FUNCTION,
    CREW_MOST_ARGS,
    CREW_STATUS,
)
from vlang.runtime.threads.tasks import Task
from vlang.runtime.threads.workers import available_threads

__all__ = ["Crew", "give_back", "take_crew"]


class Crew:
    """Up to `room` helpers, who are started when they are first wanted. counter: the address of a word of i64 that is 0
    when a launch begins."""

    def __init__(self, room: int) -> None:
        self._kernels = crew_kernels()
        self._kernels.prepare(self._kernels)
        self._launch = self._kernels["launch"]
        self._words = np.zeros(CREW_DESKS + CREW_DESK * room, np.int64)
        self._threads: list[Task[int]] = []
        self._process = os.getpid()
        self._lost = weakref.finalize(self, _finished, self._process, self._kernels["end"], self._words, self._threads)
        self._lost.atexit = False
        self.room = room
        self.counter = address_of(self._words) + 8 * CREW_COUNTER

    @property
    def usable(self) -> bool:
        """Whether this process has its threads: one that was forked off has not."""
        return self._process == os.getpid()

    def __len__(self) -> int:
        return len(self._threads)

    def helpers(self, wanted: int) -> int:
        """Have so many helpers, or as many as the system grants: how many there are of them."""
        while self._threads and not self._threads[-1].begun:  # an interrupt came just before
            self._threads.pop()
        while len(self._threads) < min(wanted, self.room):
            number = len(self._threads)
            self._kernels["prepare"](self._words, number)
            helper = Task(partial(self._kernels["serve"], self._words, number))
            self._threads.append(helper)
            if not helper.begin():  # no more threads are to be had
                self._threads.pop()
                break
        return min(wanted, len(self._threads))

    def launch(self, kernel: Kernel, args: Sequence[int | None], helpers: int) -> None:
        """Run a kernel on this thread and so many helpers (see `helpers`), until all who joined are done. args: its
        words (`Kernel.words`). Nothing can interrupt it, as no array may go before."""
        if not kernel.wide or len(args) > CREW_MOST_ARGS:
            raise InternalError(f"kernel {kernel.name} cannot be launched: its arguments are not up to "
                                f"{CREW_MOST_ARGS} words of 64 bits")
        words = self._words
        words[CREW_FUNCTION], words[CREW_COUNT] = kernel.address, len(args)
        words[CREW_ARGS : CREW_ARGS + len(args)] = [arg or 0 for arg in args]
        self._launch(words, helpers)
        kernel.ended(int(words[CREW_STATUS]))

    def end(self) -> None:
        """Let the helpers go, and wait until they have gone."""
        _finished(self._process, self._kernels["end"], self._words, self._threads)
        self._lost.detach()
        for helper in self._threads:
            helper.wait()


def _finished(process: int, end: Kernel, words: NDArray[np.int64], threads: list[Task[int]]) -> None:
    """Let the helpers of a crew go; the crew may be one that nothing refers to since an interrupt."""
    if process == os.getpid():
        end(words, len(threads))


_MOST_IDLE = 2
_idle: list[Crew] = []
_lock = threading.Lock()


def take_crew(helpers: int) -> Crew:
    """A crew for one caller, which may have so many helpers."""
    with _lock:
        at = next((i for i, crew in enumerate(_idle) if crew.room >= helpers), None)
        if at is not None:
            return _idle.pop(at)
    return Crew(max(helpers, available_threads() - 1))


def give_back(crew: Crew) -> None:
    """Keep a crew for the next caller, unless there are enough or it has more threads than there are processors."""
    if not crew.usable:
        return
    with _lock:
        keep = len(_idle) < _MOST_IDLE and len(crew) < available_threads()
        if keep:
            _idle.append(crew)
    if not keep:
        crew.end()


def _before_fork() -> None:
    """End who sleeps: a process that forks should have one thread, or Python warns."""
    with _lock:
        crews = _idle[:]
        _idle.clear()
    for crew in crews:
        crew.end()


def _forked() -> None:
    """A child process has one thread, and finds the lock as others may have held it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_forked)
