"""Random choices for runs on the CPU that take every freedom that the facts of a program grant, superstep by superstep.

Tasks and lists of vertices are taken in random order, and a pass runs over rows or cache blocks. A superstep runs over
all vertices, over those that must run again and any others (rule N), or along the edges of the active vertices (rule P)
and of others, some twice. Where vertices may run in any order (rules A and S), some supersteps run over a random part
of the vertices, in place or not, with only some messages updated; parts of frontiers are delayed. Where changes may be
sent in any order (rule A'), a random part of the active vertices sends. Rules X2, Z, O and K choose among ways to run.
A loop ends only after a superstep that left no vertex out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.compile.objects import Kernel
from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.cpu.passes.freedoms import Freedoms, Frontier
from vlang.runtime.engine.draws import Draws
from vlang.runtime.plan.plan import LoopSpec

__all__ = ["Chaos"]

_ORDERED = 48  # supersteps after which no vertex is left out: a loop must end, and before cycles are looked for
_BUSY = 1 << 20  # the cost given for a launch, so that all threads take part

T = TypeVar("T")


class _Workers(Cpu):
    """A `Cpu` that runs even the smallest launch on all threads."""

    def launch(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int,
               after: tuple[Any, ...] = ()) -> None:
        """As `Cpu.launch`, on all threads."""
        super().launch(kernel, before, tasks, count, max(cost, _BUSY), after)


class Chaos(Freedoms):
    """Freedoms drawn at random.

    Args:
        draws: the random choices of the run.
        line: the line of the running loop, 0 for the whole run.
        order: the rule by which its vertices may run in any order; "" if none is granted or supersteps are counted.
    """

    def __init__(self, draws: Draws, line: int = 0, order: str = "") -> None:
        self._draws, self._line, self._order = draws, line, order
        self._later = np.zeros(0, np.uint64)  # delayed entries of the frontier

    def of(self, loop: LoopSpec, bound: int | None) -> Chaos:
        """Random choices for one loop."""
        return Chaos(self._draws, loop.line, loop.order if bound is None else "")

    # --------------------------------------------------------------------------------------------------- the run
    def cpu(self, threads: int | None) -> Cpu:
        """A `Cpu` that runs every launch on all threads."""
        return _Workers(threads)

    def ways(self, ways: Sequence[T]) -> Sequence[T]:
        """A random part of the ways."""
        return [way for way in ways[:-1] if self._draws.coin(0.4)] + [ways[-1]]

    def options(self, options: Options) -> Options:
        """Order of priority wherever rule O allows it, whether it pays or not."""
        return replace(options, schedule="priority")

    # ---------------------------------------------------------------------------------------------------- passes
    def blocking(self, asked: str) -> str:
        """By blocks or by rows."""
        return "always" if self._draws.coin() else "never"

    def as_list(self) -> bool:
        """A list of all vertices, or not."""
        return self._draws.coin()

    def levels_together(self) -> bool:
        """Levels of a sweep in one call."""
        return self._draws.coin()

    def reordered(self, vertices: NDArray[np.uint32]) -> bool:
        """Any order of listed vertices."""
        self._draws.order(vertices)
        return True

    def tasks(self, tasks: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Any order of tasks."""
        mixed = tasks[:count].copy()
        self._draws.order(mixed)
        return mixed

    def notify(self, marks: NDArray[np.uint8]) -> None:
        """Mark some other vertices to run, too."""
        if self._draws.coin():
            marks[self._draws.some(len(marks))] = 1

    # ----------------------------------------------------------------------------------------------------- loops
    def choose(self, rule: str, decide: Callable[[], bool]) -> bool:
        """A random answer, whichever is cheaper."""
        chosen = self._draws.coin()
        if chosen and rule:
            self.took(rule)
        return chosen

    def took(self, rule: str) -> None:
        """Count the use of a rule."""
        self._draws.use(self._line, rule)

    def many(self) -> bool:
        """True at random."""
        return self._draws.coin(0.25)

    def in_place(self, asked: bool) -> bool:
        """In place where vertices may run in any order."""
        chosen = self._order in ("A", "S") and self._draws.coin()
        if chosen:
            self.took(self._order)
        return chosen

    def part(self, n: int, done: int) -> NDArray[np.int64] | None:
        """Some supersteps run over a part of the vertices."""
        if self._order not in ("A", "S") or not 0 < done < _ORDERED or self._draws.coin():
            return None
        self.took(self._order)
        return self._draws.some(n)

    def part_of_pass(self, part: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """Under rule S all passes of a superstep run over the same vertices, since a final vertex must not be written
        again."""
        return part if self._order == "S" else self._draws.some(n)

    def refreshed(self, n: int) -> NDArray[np.int64]:
        """A random part of the vertices; the messages of the others stay old."""
        return self._draws.some(n)

    def put_off(self, active: NDArray[np.uint8], done: int) -> bool:
        """Some active vertices send nothing in this superstep."""
        if self._order != "A'" or not 0 < done < _ORDERED or self._draws.coin():
            return False
        sending = np.flatnonzero(active)
        if len(sending) < 2:
            return False
        active[sending[self._draws.some(len(sending) - 1)]] = 0
        self.took("A'")
        return True

    def before_push(self, frontier: Frontier) -> None:
        """Shuffle the frontier, repeat some entries, delay some, and add vertices that are not in it."""
        draws = self._draws
        entries = frontier.entries()
        draws.order(entries)
        self._later = np.zeros(0, np.uint64)
        if self._order == "A" and frontier.rounds < _ORDERED and draws.coin():
            kept = len(draws.some(len(entries)))
            entries, self._later = entries[:kept], entries[kept:]
        twice = entries[draws.rng.random(len(entries)) < 0.25]
        others = frontier.entries_of(draws.some(frontier.vertices)[: len(entries)])
        frontier.put(np.concatenate([entries, twice, others]))
        self.took("P")

    def after_push(self, frontier: Frontier) -> None:
        """Make the vertices found by a push, and the delayed entries, the frontier."""
        if len(self._later):
            self.took("A")
            found = frontier.entries()
            frontier.put(np.concatenate([found, self._later[~np.isin(self._later, found)]]))
            self._later = np.zeros(0, np.uint64)
