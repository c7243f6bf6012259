"""What a run gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.reference.values import Array

# Why a loop may end: these mean that it did what its text says.
CONVERGED = ("count", "inactive", "until")


@dataclass
class LoopRun:
    """One execution of a `repeat` or `for i from a to b`. depth: enclosing `repeat` and `for` blocks. active: vertices
    active at the start of each round, all of them in a range. reason: "count" (`n times` or the range is done),
    "until", "inactive" (no vertex is active), "limit" (`at most` or the end of a range reached first), "stalled" (no
    superstep can change anything, and `until` does not hold), "max_rounds"."""

    line: int
    depth: int
    rounds: int = 0
    reason: str = ""
    active: list[int] = field(default_factory=list)


@dataclass
class Outcome:
    """What a program computed. fields: name -> array [n] or [n, k], vertices as dense numbers with -1 for `none`.

    globals: name -> NumPy scalar. loops: every execution of a loop whose rounds are counted, in order of entry.
    """

    fields: dict[str, Array]
    globals: dict[str, Any]
    loops: list[LoopRun]

    @property
    def rounds(self) -> list[int]:
        """Rounds of each top-level loop."""
        return [loop.rounds for loop in self.loops if loop.depth == 0]

    @property
    def converged(self) -> bool:
        """Whether every loop ended as its text wants: not cut off, and not stalled."""
        return all(loop.reason in CONVERGED for loop in self.loops)

    @property
    def reason(self) -> str:
        """Why the first loop that did not converge ended, else why the last one did; "" without loops."""
        failed = [loop.reason for loop in self.loops if loop.reason not in CONVERGED]
        return failed[0] if failed else self.loops[-1].reason if self.loops else ""
