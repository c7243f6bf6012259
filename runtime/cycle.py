"""Loops that would never end: supersteps that repeat each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.kernelset import LoopSpec, StageSpec
from vlang.runtime.passes import Stats
from vlang.runtime.state import State

__all__ = ["CycleWatch"]

_FROM = 64  # supersteps before which nothing is kept: most loops have ended


class CycleWatch:
    """Notices when the state of a loop returns to what it was, by Brent's method: one copy, kept at powers of two.

    A superstep is a function of the state, so from there on everything repeats. Rounding does this to tolerances that
    the precision cannot reach: the last bits of some values flip for ever. Counted loops and loops that read
    `iteration` are not watched. Costs a comparison a superstep, and that only where as many vertices changed as then.
    """

    def __init__(self, spec: LoopSpec, state: State) -> None:
        names = dict.fromkeys(n for step in spec.steps if isinstance(step, StageSpec) for n in step.written)
        slots = [f"field:{name}" for name in names] + [f"told:{name}" for name in spec.tolds]
        self._slots = [*slots, *(["work:active"] if spec.explicit else [])]
        self._state = state
        self._watched = spec.limit is None and not spec.reads_iteration
        self._kept: list[NDArray[Any]] = []
        self._kept_at, self._kept_stats = 0, Stats()

    def period(self, rounds: int, stats: Stats) -> int | None:
        """How many supersteps ago the state was the same; None if it never was, as far as is known."""
        if not self._watched or rounds < _FROM:
            return None
        if self._kept and stats == self._kept_stats and self._same():
            return rounds - self._kept_at
        if rounds & (rounds - 1) == 0:
            self._kept = [self._state.arrays[slot].copy() for slot in self._slots]
            self._kept_at, self._kept_stats = rounds, stats
        return None

    def _same(self) -> bool:
        return all(_same_bits(kept, self._state.arrays[slot]) for kept, slot in zip(self._kept, self._slots))


def _same_bits(a: NDArray[Any], b: NDArray[Any]) -> bool:
    unsigned = f"uint{8 * a.itemsize}"
    return np.array_equal(a.view(unsigned), b.view(unsigned))
