"""The CPU: threads that take tasks as they become free, each in one call of a kernel that releases the GIL."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import Kernel
from vlang.runtime.cpu.crew.crew import Crew, give_back, take_crew
from vlang.runtime.kernels import crew_kernels
from vlang.runtime.plan.layouts.meet_words import MEET_CREW, MEET_JOINED
from vlang.runtime.threads.workers import available_threads

__all__ = ["Cpu"]

_SMALL = 1 << 15  # edges and vertices below which a second thread costs more than it brings


class Cpu:
    """Launches passes. threads: how many work at once; results do not depend on it."""

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or available_threads()
        self._crew: Crew | None = None
        self._alone = np.zeros(1, dtype=np.int64)  # the counter of launches without helpers

    def close(self) -> None:
        """Let the other threads go."""
        crew, self._crew = self._crew, None  # first, so that no crew is given back twice after an interrupt
        if crew is not None:
            give_back(crew)

    def prepare(self, cost: int) -> None:
        """Load what launches of that cost need, so that none waits for it."""
        if self.threads > 1 and cost >= _SMALL:
            crew_kernels().prepare(crew_kernels())

    def launch(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int,
               after: tuple[Any, ...] = ()) -> None:
        """Run `kernel(*before, tasks, count, counter, *after)` until all tasks are done. cost: about how much work."""
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
        """Run `kernel(*before, control, *after)` by threads that wait for each other inside.

        control: begins with the words of vlang.runtime.plan.layouts.meet_words. cost: about how much work. most:
        threads.
        """
        helpers = self._helpers(min(self.threads, most or self.threads) - 1) if cost >= _SMALL else 0
        control[MEET_CREW], control[MEET_JOINED] = helpers + 1, 0
        args = (*before, control, *after)
        if helpers == 0 or self._crew is None:
            kernel(*args)
        else:
            self._crew.launch(kernel, kernel.words(args), helpers)

    def _helpers(self, count: int) -> int:
        """Have `count` other threads at hand, or as many as the system grants."""
        if count < 1:
            return 0
        if self._crew is None or not self._crew.usable:
            self._crew = take_crew(self.threads - 1)
        found = self._crew.helpers(count)
        if found < count:
            self.threads = found + 1
        return found
