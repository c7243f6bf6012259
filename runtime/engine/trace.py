"""The history of a run, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["ChaosReport", "Done", "Freedom", "History", "Round", "Series"]

_NAMES = {"A": "any order", "A'": "any order", "S": "any order", "P": "push", "N": "skip", "X1": "early exit",
          "X2": "first neighbour", "O": "priority", "Z": "skip the identity", "K": "components"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Round:
    """One round: a superstep of a `repeat`, or one pass through the block of a `for i from a to b`.

    Attributes:
        loop: which `repeat` or range of the program, from 0 in the order of the text.
        round: its number in that loop, from 1.
        active: vertices active after it, which send in the next superstep; of a range, all.
        mode: "pull", "push", "notify-pull", ..., or "connect" for a whole loop that was run by finding components
            (rule K, docs/internals/rule-k.md).
        seconds: wall-clock time.
        edges: edges traversed by its gathers and its notification.
    """

    loop: int
    round: int
    active: int
    mode: str
    seconds: float
    edges: int


class Done(NamedTuple):
    """One superstep that ran: vertices active after it, its mode, and the edges traversed."""

    active: int
    mode: str
    edges: int


class Series(Sequence[Done]):
    """Supersteps that ran in one call; a `Done` is created only on access, as searches of long paths have millions.

    counts: i64[k, 2], active vertices and edges of each superstep; copied.
    """

    def __init__(self, mode: str, counts: NDArray[np.int64]) -> None:
        self._mode, self._counts = mode, counts.copy()

    def __len__(self) -> int:
        return len(self._counts)

    @overload
    def __getitem__(self, at: int) -> Done: ...
    @overload
    def __getitem__(self, at: slice) -> Series: ...
    def __getitem__(self, at: int | slice) -> Done | Series:
        if isinstance(at, slice):
            return Series(self._mode, self._counts[at])
        active, edges = self._counts[at].tolist()
        return Done(active, self._mode, edges)

    def __iter__(self) -> Iterator[Done]:
        return (Done(active, self._mode, edges) for active, edges in self._counts.tolist())

    @property
    def active(self) -> int:
        """Active vertices, summed over all supersteps."""
        return int(self._counts[:, 0].sum())

    @property
    def edges(self) -> int:
        """Edges traversed."""
        return int(self._counts[:, 1].sum())


class History:
    """The supersteps of a run, one part for each call. edges: traversed so far."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, int, float, Sequence[Done]]] = []
        self.edges = 0

    def add(self, loop: int, first: int, seconds: float, done: Sequence[Done]) -> None:
        """Append supersteps of a loop.

        Args:
            loop: the number of the loop.
            first: the number of the first superstep.
            seconds: the time of each.
            done: the supersteps.
        """
        self._parts.append((loop, first, seconds, done))
        self.edges += done.edges if isinstance(done, Series) else sum(row.edges for row in done)

    def rounds(self, since: int = 0) -> tuple[Round, ...]:
        """The supersteps of all parts from number `since` on."""
        return tuple(Round(loop, number, row.active, row.mode, seconds, row.edges)
                     for loop, first, seconds, done in self._parts[since:] for number, row in enumerate(done, first))


@dataclass(frozen=True)
class Freedom:
    """The use of one rule by one loop.

    Attributes:
        line: the line of the loop.
        rule: the name of the rule.
        granted: whether the rule holds for the loop.
        times: the number of supersteps or passes that used the freedom.
    """

    line: int
    rule: str
    granted: bool
    times: int

    def __str__(self) -> str:
        often = f"{self.times} time{'s' * (self.times != 1)}" if self.times else "(granted, not taken)"
        return f"{self.rule} {_NAMES[self.rule]} {often}"


@dataclass(frozen=True)
class ChaosReport:
    """The freedoms that a chaos run used.

    Attributes:
        seed: the seed of its random choices.
        threads: its threads.
        page_size: bytes of a page.
        freedoms: every rule for every loop, including refused ones.
    """

    seed: int
    threads: int
    page_size: int
    freedoms: tuple[Freedom, ...]

    def lines(self) -> Iterator[str]:
        """The report as text: a line for the run and one for every loop."""
        plural = "s" * (self.threads != 1)
        yield (f"chaos {self.seed}: the same with {self.threads} thread{plural}, pages of {self.page_size} bytes, "
               "contributions in random order")
        for line in dict.fromkeys(freedom.line for freedom in self.freedoms):
            granted = [str(one) for one in self.freedoms if one.line == line and one.granted]
            yield f"loop in line {line}: {', '.join(granted) if granted else 'no freedom but that'}"
