"""The base class of loops on GPUs that count active and changed vertices on the device."""

from __future__ import annotations

from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.trace import Done

__all__ = ["CountedLoop"]


class CountedLoop:
    """A loop that reports its last superstep. A subclass sets `_stats` and `_done` after each call of `advance`."""

    _stats = Stats()
    _done = Done(0, "push", 0)

    @property
    def stats(self) -> Stats:
        """The counts of the last superstep."""
        return self._stats

    def last(self) -> Done:
        """Return the record of the last superstep."""
        return self._done
