"""The choice between passes that runs share, and a pass by each run."""

from __future__ import annotations

import time

__all__ = ["Sharing"]

_TRIES = 16, 3  # passes by each run, and shared ones, that are timed; the first passes of a run may be by rows only


class Sharing:
    """The choice between passes that runs share, and a pass by each run: the faster one so far.

    On some graphs, the values of a single run stay in a cache that is too small for the values of all runs, so that
    sharing is slower. Both choices yield the same bits. A graph keeps the comparison for all later runs. The comparison
    uses the time from one pass to the next, because the rest of a superstep also depends on the caches.
    """

    def __init__(self) -> None:
        self._spans: dict[bool, list[float]] = {True: [], False: []}
        self._before: tuple[object, float] = object(), 0.0

    @property
    def pays(self) -> bool:
        """Whether the next pass of a run is shared."""
        shared, alone = self._spans[True], self._spans[False]
        if len(shared) < _TRIES[1] or len(alone) < _TRIES[0]:
            return len(shared) < _TRIES[1]
        return min(shared) <= min(alone)

    def ended(self, shared: bool, by: object, runs: int) -> None:
        """Count the time since the last pass if `by`, the passes of a run or a group, also ran the last pass."""
        now = time.perf_counter()
        if self._before[0] is by and len(self._spans[shared]) < _TRIES[shared]:
            self._spans[shared].append((now - self._before[1]) / runs)
        self._before = by, now
