"""Detects loops that would never end because their states repeat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from vlang.runtime.engine.machine import Machine, Stats
from vlang.runtime.plan.plan import LoopSpec, StageSpec, every_step

__all__ = ["WATCHED_FROM", "CycleWatch", "is_watched", "watched_slots"]

WATCHED_FROM = 64  # the superstep of the first copy; most loops end before


def watched_slots(spec: LoopSpec) -> list[str]:
    """The arrays that a superstep of a loop reads and changes."""
    names = dict.fromkeys(n for s in every_step(spec.steps) if isinstance(s, StageSpec) for n in s.written)
    slots = [f"field:{name}" for name in names] + [spec.slot("sent", name) for name in spec.sent]
    return [*slots, *([spec.slot("work", "active")] if spec.explicit else [])]


def is_watched(spec: LoopSpec) -> bool:
    """Return whether a CycleWatch compares the states of a loop."""
    one_way = spec.asynchronous and not spec.explicit
    return spec.limit is None and not spec.reads_iteration and not one_way


class CycleWatch:
    """Detects that the state of a loop equals an earlier state, by Brent's method.

    A CycleWatch keeps one copy of the state. A CycleWatch replaces the copy at supersteps whose number is a power of
    two. A superstep is a function of the state, so a loop whose state repeats never ends. For example, if the tolerance
    of a loop is below the precision of its values, their last bits may alternate for ever. CycleWatch ignores counted
    loops, loops that read `iteration`, and loops with monotonic fields (rule A). The state is compared with the copy
    only after supersteps with the same counts as the superstep of the copy. If memory has no room for a copy, a
    CycleWatch tries again at the next power of two.
    """

    def __init__(self, spec: LoopSpec, machine: Machine) -> None:
        self._spec, self._machine = spec, machine
        self._watched = is_watched(spec)
        self._kept: object = None
        self._kept_at, self._kept_stats = 0, Stats()

    @property
    def numbers(self) -> dict[str, int]:
        """The superstep at which the state was copied (-1 if there is no copy), and the counts of this superstep."""
        known = self._kept is not None
        return {"kept_at": self._kept_at if known else -1, "kept_changed": self._kept_stats.changed,
                "kept_active": self._kept_stats.active}

    @cached_property
    def slots(self) -> Sequence[str]:
        """The slots of the arrays in the copy, in order."""
        return watched_slots(self._spec)

    @property
    def kept(self) -> object:
        """The copy, as `Machine.keep` returned it; None if there is no copy."""
        return self._kept

    def keep(self, kept: object, numbers: Mapping[str, int]) -> None:
        """Adopt a copy of the state from an earlier run, with the `numbers` of this copy."""
        self._kept, self._kept_at = kept, numbers["kept_at"]
        self._kept_stats = Stats(numbers["kept_changed"], numbers["kept_active"])

    def period(self, rounds: int, stats: Stats) -> int | None:
        """The number of supersteps since the last equal state; None if no repetition was found."""
        if not self._watched or rounds < WATCHED_FROM:
            return None
        if self._kept is not None and stats == self._kept_stats and \
                self._machine.same(self.slots, self._kept):
            return rounds - self._kept_at
        if rounds & (rounds - 1) == 0:
            self.close()
            self._kept = self._machine.keep(self.slots)
            self._kept_at, self._kept_stats = rounds, stats
        return None

    def close(self) -> None:
        """Release the copy."""
        if self._kept is not None:
            self._machine.forget(self._kept)
            self._kept = None
