"""The base class of loops that manage their own frontiers."""

from __future__ import annotations

from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.trace import Done

__all__ = ["FrontierLoop"]


class FrontierLoop:
    """A loop that reports its last superstep. From the report, the engine decides whether the loop ends.

    A subclass sets `_last` after each superstep.
    """

    _last = Done(0, "push", 0)

    @property
    def stats(self) -> Stats:
        """The counts of the last superstep. The changed vertices are exactly the active vertices."""
        return Stats(self._last.active, self._last.active)

    def last(self) -> Done:
        """The last superstep."""
        return self._last

    def close(self) -> None:
        """Do nothing, because these loops exchange no buffers."""
