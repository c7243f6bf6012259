"""Implements loops that contain blocks, and sweeps, with operations that every machine has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.engine.machine import Done, Machine, Stats
from vlang.runtime.plan.plan import LoopSpec, StageSpec, Step, SweepSpec

__all__ = ["MaskedSweep", "NestedLoop", "finite"]


class NestedLoop:
    """Runs the supersteps of a loop that contains blocks: one superstep per call.

    Implements `vlang.runtime.engine.machine.Loop`.

    Args:
        spec: the loop.
        machine: holds the state.
        run: runs steps, and returns the number of edges that their passes traverse.
        inside: whether the loop begins inside of a superstep, at a checkpoint that is already restored.

    Attributes:
        stats: the counts of the last superstep.
    """

    def __init__(
        self, spec: LoopSpec, machine: Machine, run: Callable[[Sequence[Step]], int], inside: bool = False,
    ) -> None:
        self.stats = Stats()
        self._spec, self._machine, self._run, self._inside = spec, machine, run, inside
        self._last = Done(0, "pull", 0)
        if inside:
            return
        for name in spec.sent:
            machine.fill(spec.slot("sent", name), 0)
        if spec.explicit:
            machine.fill(spec.slot("work", "active"), 1)

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep. The number of edges in the record excludes inner loops, which report their own edges."""
        for name in () if self._inside else self._spec.starts:
            self._machine.copy(self._spec.slot("start", name), f"field:{name}")
        self._inside = False
        edges = self._run(self._spec.steps)
        self.stats = self._machine.counted()
        self._last = Done(self.stats.active, "pull", edges)
        return (self._last,)

    def last(self) -> Done:
        """The last superstep."""
        return self._last

    def close(self) -> None:
        """Do nothing, because there is nothing to release."""


def finite(values: NDArray[Any]) -> NDArray[np.bool_]:
    """For each value, whether it is finite, bool[n]. The least and the greatest signed integer represent infinity."""
    if values.dtype.kind != "i":
        return np.ones(len(values), np.bool_)
    limits = np.iinfo(values.dtype)
    found: NDArray[np.bool_] = (values != limits.min) & (values != limits.max)
    return found


class MaskedSweep:
    """A sweep whose passes test for every vertex whether it is in the level.

    Implements `vlang.runtime.engine.machine.Sweep`.
    """

    def __init__(self, spec: SweepSpec, machine: Machine) -> None:
        self._machine = machine
        values = machine.array(f"field:{spec.field}")
        chosen = finite(values)
        if spec.guard is not None:
            chosen &= machine.array(spec.guard) != 0
        levels: list[int] = np.unique(values[chosen]).tolist()
        self.levels: Sequence[int] = levels if spec.up else levels[::-1]

    def run_levels(self, first: int) -> tuple[int, int]:
        """Return 0 levels, because this sweep runs its levels one at a time."""
        return 0, 0

    def run_pass(self, stage: StageSpec, level: int) -> int:
        """Run a pass with a mask that selects only the vertices of the level; returns the number of edges traversed."""
        return self._machine.run_pass(stage)
