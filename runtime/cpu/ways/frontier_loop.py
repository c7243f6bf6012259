"""What the loops that keep a frontier themselves have in common."""

from __future__ import annotations

from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.trace import Done

__all__ = ["FrontierLoop"]


class FrontierLoop:
    """The last superstep of a loop, from which the engine reads its end; a subclass sets `_last`."""

    _last = Done(0, "push", 0)

    @property
    def stats(self) -> Stats:
        """The counts of the last superstep: a vertex that changes is active."""
        return Stats(self._last.active, self._last.active)

    def last(self) -> Done:
        """The last superstep."""
        return self._last

    def close(self) -> None:
        """Nothing to release: no buffers were exchanged."""
