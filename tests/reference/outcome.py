"""The result of a run of the interpreter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.reference.values import Array

# Reasons for the end of a loop that ran to completion as written.
CONVERGED = ("count", "inactive", "until")


@dataclass
class LoopRun:
    """One execution of a `repeat` or `for i from a to b`.

    Attributes:
        line: The line of the loop.
        depth: The number of `repeat` and `for` blocks around it.
        rounds: The number of rounds that were run.
        reason: The reason why the loop ended: "count" (`n times` or the range is done), "until", "inactive" (no vertex
            is active), "limit", "stalled" or "max_rounds". The reason "limit" means that `at most` or the end of a
            range was reached first. The reason "stalled" means that no superstep can change anything, and that `until`
            does not hold.
        active: The number of active vertices at the start of each round; in a range, all vertices are active.
    """

    line: int
    depth: int
    rounds: int = 0
    reason: str = ""
    active: list[int] = field(default_factory=list)


@dataclass
class Outcome:
    """The values that a program computed.

    Attributes:
        fields: name -> array [n] or [n, k], vertices as dense numbers with -1 for `none`.
        globals: name -> NumPy scalar.
        edges: name -> array [m] of each edge state, in the order of the stored edges.
        loops: every execution of a loop with counted rounds, in order of entry.
    """

    fields: dict[str, Array]
    globals: dict[str, Any]
    loops: list[LoopRun]
    edges: dict[str, Array] = field(default_factory=dict)

    @property
    def rounds(self) -> list[int]:
        """The number of rounds of each top-level loop."""
        return [loop.rounds for loop in self.loops if loop.depth == 0]

    @property
    def converged(self) -> bool:
        """Whether every loop ended as written: it was neither cut off nor stalled."""
        return all(loop.reason in CONVERGED for loop in self.loops)

    @property
    def reason(self) -> str:
        """The reason of the first loop that did not converge, or else of the last loop; "" if there are no loops."""
        failed = [loop.reason for loop in self.loops if loop.reason not in CONVERGED]
        return failed[0] if failed else self.loops[-1].reason if self.loops else ""
