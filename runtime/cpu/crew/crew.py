"""A crew: persistent worker threads (helpers) that join the launches of a caller within microseconds.

Helpers never return to the Python interpreter, because each acquisition of the GIL can cost two thread switches.
Machine code (vlang.runtime.kernels.crew) opens, joins and closes launches, and lets helpers sleep and wake. A helper
that is awake polls for launches, and joins a launch at once. A helper goes to sleep after a while without launches. A
crew serves one caller at a time.
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
from vlang.runtime.kernels import crew_kernels, play_kernels
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
from vlang.runtime.threads.processors import available_threads
from vlang.runtime.threads.tasks import Task

__all__ = ["Crew", "give_back", "take_crew"]


class Crew:
    """A crew of up to `room` helper threads, which are started on first use.

    Attributes:
        counter: the address of an i64 that is 0 at the start of each launch; kernels take task numbers from this
            counter.
        processors: the default number of threads of a run when the crew was created.
    """

    def __init__(self, room: int) -> None:
        self._kernels = crew_kernels()
        self._kernels.prepare(self._kernels)
        self._launch = self._kernels["launch"]
        self._begun: Kernel | None = None  # the kernel of a launch that `begin` has opened
        self._words = np.zeros(CREW_DESKS + CREW_DESK * room, np.int64)
        self._threads: list[Task[int]] = []
        self._process = os.getpid()
        self._lost = weakref.finalize(self, _finished, self._process, self._kernels["end"], self._words, self._threads)
        self._lost.atexit = False
        self.room, self.processors = room, available_threads()
        self._at = address_of(self._words)
        self.counter = self._at + 8 * CREW_COUNTER

    @property
    def usable(self) -> bool:
        """Whether the helpers exist in this process. After a fork, the child process has no helpers."""
        return self._process == os.getpid()

    def __len__(self) -> int:
        return len(self._threads)

    def helpers(self, wanted: int) -> int:
        """Start helpers until `wanted` helpers run or the system cannot start more; returns the number of helpers."""
        while self._threads and not self._threads[-1].begun:  # an interrupt came before the thread was started
            self._threads.pop()
        while len(self._threads) < min(wanted, self.room):
            number = len(self._threads)
            self._kernels["prepare"](self._words, number)
            helper = Task(partial(self._kernels["serve"], self._words, number))
            self._threads.append(helper)
            if not helper.begin():  # the system cannot start more threads
                self._threads.pop()
                break
        return min(wanted, len(self._threads))

    def launch(self, kernel: Kernel, args: Sequence[int | None], helpers: int) -> None:
        """Run a kernel on this thread and up to `helpers` helpers.

        Returns when all threads that joined the launch have finished.

        `args` are the arguments as words (`Kernel.words`). A launch cannot be interrupted, because its arrays must stay
        alive until the launch ends. Raises InternalError if the kernel fails.
        """
        self._write(kernel, args)
        self._launch.at(self._at, helpers)
        kernel.ended(int(self._words[CREW_STATUS]))

    def begin(self, kernel: Kernel, args: Sequence[int | None], helpers: int) -> None:
        """Let up to `helpers` helpers run a kernel, and return at once.

        The arrays of the kernel must stay alive, and no other launch may begin, until `join` has returned. Arguments
        and errors are those of `launch`.
        """
        self._write(kernel, args)
        self._begun = kernel  # first, so that after an interrupt the launch is joined if it is open
        self._kernels["begin"].at(self._at, helpers)

    def join(self) -> None:
        """Run the kernel of the launch that `begin` has opened, if any, on this thread, too.

        Returns when all threads have finished. Raises InternalError if the kernel fails.
        """
        if self._begun is not None:
            self._kernels["join"].at(self._at, 0)
            kernel, self._begun = self._begun, None
            kernel.ended(int(self._words[CREW_STATUS]))

    def _write(self, kernel: Kernel, args: Sequence[int | None]) -> None:
        """Write the kernel and the arguments of the next launch into the memory of the crew."""
        if not kernel.wide or len(args) > CREW_MOST_ARGS:
            raise InternalError(f"kernel {kernel.name} cannot be launched: its arguments are not up to "
                                f"{CREW_MOST_ARGS} words of 64 bits")
        words = self._words
        words[CREW_FUNCTION], words[CREW_COUNT] = kernel.address, len(args)
        words[CREW_ARGS : CREW_ARGS + len(args)] = [arg or 0 for arg in args]

    def play(self, script: NDArray[np.int64], level_slot: int) -> None:
        """Run the launches of a script, int64[k, PLAY_WORDS], one after the other. The call cannot be interrupted.

        `level_slot` is the slot in each frame to which the level of a launch is written. Raises InternalError if a
        kernel fails.
        """
        ran = play_kernels()["play"](self._words, script.view(np.uint64), len(script), level_slot)
        if ran < len(script):
            raise InternalError(f"launch {ran} of a script stopped with status {int(self._words[CREW_STATUS])}")

    def end(self) -> None:
        """Stop the helpers, and wait until they have ended."""
        _finished(self._process, self._kernels["end"], self._words, self._threads)
        self._lost.detach()
        for helper in self._threads:
            helper.wait()


def _finished(process: int, end: Kernel, words: NDArray[np.int64], threads: list[Task[int]]) -> None:
    """Stop the helpers of a crew. The function is also called when the crew itself is freed, for example after an
    interrupt.
    """
    if process == os.getpid():
        end(words, len(threads))


_MOST_IDLE = 2
_idle: list[Crew] = []
_lock = threading.Lock()


def take_crew(helpers: int) -> Crew:
    """Take a crew with room for at least `helpers` helpers from the idle crews, or create a new crew."""
    with _lock:
        at = next((i for i, crew in enumerate(_idle) if crew.room >= helpers), None)
        if at is not None:
            return _idle.pop(at)
    return Crew(max(helpers, available_threads() - 1))


def give_back(crew: Crew) -> None:
    """Keep a crew for the next caller, or end it.

    The crew is ended if enough crews are already idle, or if the crew has more threads than the machine has processors.
    """
    if not crew.usable:
        return
    with _lock:
        keep = len(_idle) < _MOST_IDLE and len(crew) < crew.processors
        if keep:
            _idle.append(crew)
    if not keep:
        crew.end()


def _before_fork() -> None:
    """End the idle crews before a fork, because Python warns if a process with several threads forks."""
    with _lock:
        crews = _idle[:]
        _idle.clear()
    for crew in crews:
        crew.end()


def _forked() -> None:
    """Replace the lock in a child process. At the fork, a thread that exists only in the parent may have held the lock.
    """
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_forked)
