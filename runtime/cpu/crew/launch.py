"""The CPU: threads that take tasks as they become free, each in one call of a kernel that releases the GIL."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import Kernel
from vlang.runtime.cpu.crew.crew import Crew, give_back, take_crew
from vlang.runtime.kernels import crew_kernels
from vlang.runtime.plan.layouts.meet_words import MEET_CREW, MEET_JOINED
from vlang.runtime.plan.layouts.play_words import PLAY_HELPERS
from vlang.runtime.threads.processors import available_threads

__all__ = ["Cpu"]

_SMALL = 1 << 15  # edges and vertices below which a second thread costs more than it saves


class Cpu:
    """Launches passes on `threads` threads; results do not depend on their number."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_threads()
        self._crew: Crew | None = None
        self._alone = np.zeros(1, dtype=np.int64)  # the counter of launches without helpers

    def close(self) -> None:
        """Give the crew of threads back."""
        crew, self._crew = self._crew, None  # first, so that no crew is given back twice after an interrupt
        if crew is not None:
            give_back(crew)

    def prepare(self, cost: int) -> None:
        """Load the kernels of the crew if launches of this cost use it, so that no launch waits for them."""
        if self.threads > 1 and cost >= _SMALL:
            crew_kernels().prepare(crew_kernels())

    def launch(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int,
               after: tuple[Any, ...] = ()) -> None:
        """Run `kernel(*before, tasks, count, counter, *after)` until all tasks are done.

        Args:
            kernel: takes tasks from `counter` until `count` are taken.
            before: arguments before the tasks.
            tasks: int64, contiguous; rows of three in most kernels.
            count: tasks in all.
            cost: about how many edges and vertices the launch processes.
            after: arguments behind the counter.
        """
        if count == 0:
            return
        helpers = self._helpers(min(self.threads, count) - 1) if cost >= _SMALL else 0
        if helpers == 0 or self._crew is None:
            self._alone[0] = 0
            kernel(*before, tasks, count, self._alone, *after)
            return
        words = kernel.words((*before, tasks, count, self._crew.counter, *after))
        self._crew.launch(kernel, words, helpers)

    def crew(self, kernel: Kernel, before: tuple[Any, ...], control: NDArray[np.int64], cost: int,
             after: tuple[Any, ...] = (), most: int | None = None) -> None:
        """Run `kernel(*before, control, *after)` on threads that synchronise at barriers inside it.

        Args:
            kernel: the kernel.
            before: arguments before the control block.
            control: int64; begins with the layout of vlang.runtime.plan.layouts.meet_words.
            cost: about how many edges and vertices the launch processes.
            after: arguments behind the control block.
            most: the largest number of threads; None for no limit.
        """
        helpers = self._helpers(min(self.threads, most or self.threads) - 1) if cost >= _SMALL else 0
        control[MEET_CREW], control[MEET_JOINED] = helpers + 1, 0
        args = (*before, control, *after)
        if helpers == 0 or self._crew is None:
            kernel(*args)
        else:
            self._crew.launch(kernel, kernel.words(args), helpers)

    def play(self, script: NDArray[np.int64], costs: NDArray[np.int64], level_slot: int) -> None:
        """Run the launches of a script, one after the other.

        Args:
            script: int64[k, PLAY_WORDS], with the most helpers of each launch.
            costs: int64[k], about how many edges and vertices each launch processes.
            level_slot: of the frames, for the level.
        """
        script[costs < _SMALL, PLAY_HELPERS] = 0
        found = self._helpers(min(self.threads - 1, int(script[:, PLAY_HELPERS].max(initial=0))))
        np.minimum(script[:, PLAY_HELPERS], found, out=script[:, PLAY_HELPERS])
        self._taken().play(script, level_slot)

    @property
    def counter(self) -> int:
        """The address of the counter of the launches of a script."""
        return self._taken().counter

    def _taken(self) -> Crew:
        """The crew of this caller."""
        if self._crew is None or not self._crew.usable:
            self._crew = take_crew(self.threads - 1)
        return self._crew

    def _helpers(self, count: int) -> int:
        """Start `count` helpers, or as many as the system grants; returns their number."""
        if count < 1:
            return 0
        found = self._taken().helpers(count)
        if found < count:
            self.threads = found + 1
        return found
