"""What happened in a run, superstep by superstep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["ChaosReport", "Freedom", "Round"]

_NAMES = {"A": "any order", "A'": "any order", "S": "any order", "P": "push", "N": "skip", "X1": "early exit",
          "X2": "first neighbour", "O": "priority", "Z": "skip the identity", "K": "components"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Round:
    """One superstep.

    loop: which `repeat` of the program, from 0 in the order of the text. round: the superstep in that loop, from 1.
    active: vertices active after it (those that the next superstep must hear). mode: "pull", "notify-pull", or
    "connect" for a whole loop that was run by finding components (rule K, docs/internals/rule-k.md).
    seconds: wall-clock time. edges: edges traversed by its gathers and its notification.
    """

    loop: int
    round: int
    active: int
    mode: str
    seconds: float
    edges: int


@dataclass(frozen=True)
class Freedom:
    """One rule and one loop. line: of the loop. times: how often the run took the freedom: supersteps, or passes."""

    line: int
    rule: str
    granted: bool
    times: int

    def __str__(self) -> str:
        often = f"{self.times} time{'s' * (self.times != 1)}" if self.times else "(granted, not taken)"
        return f"{self.rule} {_NAMES[self.rule]} {often}"


@dataclass(frozen=True)
class ChaosReport:
    """What a run took. freedoms: every rule for every loop, refused ones too."""

    seed: int
    threads: int
    page_size: int
    freedoms: tuple[Freedom, ...]

    def lines(self) -> Iterator[str]:
        """What was taken, a line for the run and one for every loop."""
        plural = "s" * (self.threads != 1)
        yield (f"chaos {self.seed}: the same with {self.threads} thread{plural}, pages of {self.page_size} bytes, "
               "contributions in random order")
        for line in dict.fromkeys(freedom.line for freedom in self.freedoms):
            granted = [str(one) for one in self.freedoms if one.line == line and one.granted]
            yield f"loop in line {line}: {', '.join(granted) if granted else 'no freedom but that'}"
