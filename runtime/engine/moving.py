"""Counts the edges that each round of a run moves, for the history."""

from __future__ import annotations

from vlang.runtime.engine.machine import Machine
from vlang.runtime.threads.moved import NOTHING, Moved

__all__ = ["Moving"]


class Moving:
    """Counts the edges that were moved since the last round. `machine` provides the counts for the whole run."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._from = NOTHING  # the counts of the run that are subtracted to get the counts of the current round

    def enter(self) -> Moved:
        """Begin a loop. Returns the counts of the outer round so far; these counts are an argument of `leave`."""
        now = self._machine.moved()
        outer, self._from = now.minus(self._from), now
        return outer

    def leave(self, outer: Moved) -> None:
        """End a loop, and continue the outer round."""
        self._from = self._machine.moved().minus(outer)

    def round(self) -> Moved:
        """End one round, or several rounds that ran in one call; returns the counts of the edges that they moved."""
        now = self._machine.moved()
        if now == self._from:
            return NOTHING
        moved, self._from = now.minus(self._from), now
        return moved
