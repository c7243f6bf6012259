"""Launches of kernels on the threads of the CPU. Every thread calls the kernel once, and the kernel takes tasks."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import Kernel, address_of
from vlang.runtime.cpu.crew.crew import Crew, give_back, take_crew
from vlang.runtime.kernels import crew_kernels
from vlang.runtime.plan.layouts.meet_words import MEET_CREW, MEET_JOINED
from vlang.runtime.plan.layouts.play_words import PLAY_HELPERS
from vlang.runtime.threads.activity import listeners, timed
from vlang.runtime.threads.processors import available_threads

__all__ = ["Cpu"]

_SMALL = 1 << 15  # edges and vertices of a launch below which a second thread costs more time than it saves


class Cpu:
    """Launches kernels on `threads` threads. Results do not depend on the number of threads."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_threads()
        self._crew: Crew | None = None
        self._alone = np.zeros(1, dtype=np.int64)  # the task counter of launches without helpers
        self._alone_at = address_of(self._alone)
        self._span: AbstractContextManager[object] | None = None  # reports the launch that `begin` has opened
        self._tasks: NDArray[np.int64] | None = None  # the tasks of this launch, kept alive

    def close(self) -> None:
        """Return the crew to the idle crews. A launch that is open after an interrupt is completed first."""
        self.complete()
        crew, self._crew = self._crew, None  # cleared first, so that after an interrupt the crew is not returned twice
        if crew is not None:
            give_back(crew)

    def prepare(self, cost: int) -> None:
        """Load the kernels of the crew if launches of this cost use a crew, so that launches do not wait for loading.
        """
        if self.threads > 1 and cost >= _SMALL:
            crew_kernels().prepare(crew_kernels())

    def launch(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int,
               after: tuple[Any, ...] = ()) -> None:
        """Run `kernel(*before, tasks, count, counter, *after)` until all tasks are done.

        Args:
            kernel: a kernel that takes task numbers from `counter` until it reaches `count`.
            before: the arguments before the tasks.
            tasks: int64, contiguous; most kernels take int64[T, 3].
            count: the number of tasks.
            cost: the approximate number of edges and vertices that the launch processes.
            after: the arguments after the counter.
        """
        if count == 0:
            return
        helpers = self._helpers(min(self.threads, count) - 1) if cost >= _SMALL else 0
        if not listeners():
            self._run(kernel, before, tasks, count, helpers, after)
            return
        with timed("kernel", kernel.name, tasks=count, threads=helpers + 1):
            self._run(kernel, before, tasks, count, helpers, after)

    def begin(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int) -> None:
        """Let the other threads begin a launch, and return at once; `complete` ends the launch.

        Until then the arrays in `before` must stay alive, and no other launch may begin. A launch for which one thread
        is enough has ended when this method returns.

        Args:
            kernel, before, tasks, count, cost: as for `launch`; at least one task.
        """
        helpers = self._helpers(min(self.threads, count) - 1) if cost >= _SMALL else 0
        if helpers == 0 or self._crew is None:
            self.launch(kernel, before, tasks, count, cost)
            return
        self._span = timed("kernel", kernel.name, tasks=count, threads=helpers + 1)
        self._span.__enter__()
        self._tasks = tasks
        self._crew.begin(kernel, kernel.words((*before, tasks, count, self._crew.counter)), helpers)

    def complete(self) -> None:
        """Join the launch that `begin` has opened, if any; returns when all of its tasks are done."""
        if self._span is not None and self._crew is not None:
            self._crew.join()
            self._span.__exit__(None, None, None)
            self._span = self._tasks = None

    def _run(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, helpers: int,
             after: tuple[Any, ...]) -> None:
        if helpers == 0 or self._crew is None:
            self._alone[0] = 0
            if len(before) == 1 and type(before[0]) is int and not after:  # most launches: nothing is converted
                kernel.at(before[0], address_of(tasks), count, self._alone_at)
            else:
                kernel(*before, tasks, count, self._alone_at, *after)
        else:
            words = kernel.words((*before, tasks, count, self._crew.counter, *after))
            self._crew.launch(kernel, words, helpers)

    def crew(self, kernel: Kernel, before: tuple[Any, ...], control: NDArray[np.int64], cost: int,
             after: tuple[Any, ...] = (), most: int | None = None) -> None:
        """Run `kernel(*before, control, *after)` on several threads, which synchronise at barriers inside the kernel.

        Args:
            kernel: the kernel.
            before: the arguments before the control block.
            control: int64, the control block; it begins with the layout of vlang.runtime.plan.layouts.meet_words.
            cost: the approximate number of edges and vertices that the launch processes.
            after: the arguments after the control block.
            most: the maximum number of threads; None for no limit.
        """
        helpers = self._helpers(min(self.threads, most or self.threads) - 1) if cost >= _SMALL else 0
        control[MEET_CREW], control[MEET_JOINED] = helpers + 1, 0
        args = (*before, control, *after)
        with timed("kernel", kernel.name, threads=helpers + 1):
            if helpers == 0 or self._crew is None:
                kernel(*args)
            else:
                self._crew.launch(kernel, kernel.words(args), helpers)

    def play(self, script: NDArray[np.int64], costs: NDArray[np.int64], level_slot: int) -> None:
        """Run the launches of a script, one after the other.

        Args:
            script: int64[k, PLAY_WORDS]. The word PLAY_HELPERS is the maximum number of helpers; this method may reduce
                it.
            costs: int64[k], the approximate number of edges and vertices that each launch processes.
            level_slot: the slot in each frame to which the level of a launch is written.
        """
        script[costs < _SMALL, PLAY_HELPERS] = 0
        found = self._helpers(min(self.threads - 1, int(script[:, PLAY_HELPERS].max(initial=0))))
        np.minimum(script[:, PLAY_HELPERS], found, out=script[:, PLAY_HELPERS])
        with timed("kernel", "script", launches=len(script), threads=found + 1):
            self._taken().play(script, level_slot)

    @property
    def counter(self) -> int:
        """The address of the task counter that the launches of a script use."""
        return self._taken().counter

    def _taken(self) -> Crew:
        """The crew of this object, taken from the idle crews on first use."""
        if self._crew is None or not self._crew.usable:
            self._crew = take_crew(self.threads - 1)
        return self._crew

    def _helpers(self, count: int) -> int:
        """Start `count` helpers, or as many as the system can start; returns their number."""
        if count < 1:
            return 0
        found = self._taken().helpers(count)
        if found < count:
            self.threads = found + 1
        return found
