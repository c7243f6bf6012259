"""Draws for runs on the CPU that take every freedom which the facts of a program grant, superstep by superstep.

Threads take tasks, and lists of vertices, in random order; a pass runs over rows or cache blocks; a superstep runs in
full, over the vertices that must run again and any others (rule N), or along the edges of the active vertices (rule P)
and of others, some twice. Where vertices may run in any order (rules A and S), some supersteps run over a random part
of the vertices, in place or not, and read messages of which only some are new; frontiers are put off in part. Where
changes may be sent in any order (rule A'), a random part of the active vertices sends. Rules X2, Z, O and K are a
choice among ways to run. A loop ends only after a superstep that left no vertex out.
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

_ORDERED = 48  # supersteps after which none is left out, so that a loop ends, and before cycles are looked for
_BUSY = 1 << 20  # what a launch claims to cost, so that all threads take part

T = TypeVar("T")


class _Workers(Cpu):
    """Threads that share even the smallest launch."""

    def launch(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int,
               after: tuple[Any, ...] = ()) -> None:
        """As `Cpu.launch`, on all threads."""
        super().launch(kernel, before, tasks, count, max(cost, _BUSY), after)


class Chaos(Freedoms):
    """Freedoms drawn at random. line: of the loop under way, 0 for the whole run. order: the rule by which its vertices
    may run in any order; "" where none is granted, or where supersteps are counted."""

    def __init__(self, draws: Draws, line: int = 0, order: str = "") -> None:
        self._draws, self._line, self._order = draws, line, order
        self._later = np.zeros(0, np.uint64)  # entries of the frontier that are put off

    def of(self, loop: LoopSpec, bound: int | None) -> Chaos:
        """Draws for one loop."""
        return Chaos(self._draws, loop.line, loop.order if bound is None else "")

    # --------------------------------------------------------------------------------------------------- the run
    def cpu(self, threads: int | None) -> Cpu:
        """Threads that share every launch."""
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
        """Some other vertices run, too."""
        if self._draws.coin():
            marks[self._draws.some(len(marks))] = 1

    # ----------------------------------------------------------------------------------------------------- loops
    def choose(self, rule: str, decide: Callable[[], bool]) -> bool:
        """Either, whatever pays."""
        chosen = self._draws.coin()
        if chosen and rule:
            self.took(rule)
        return chosen

    def took(self, rule: str) -> None:
        """Count it."""
        self._draws.use(self._line, rule)

    def many(self) -> bool:
        """Now and then."""
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
        """Under rule S all passes of a superstep run over the same vertices, since one that is done must not be written
        again."""
        return part if self._order == "S" else self._draws.some(n)

    def refreshed(self, n: int) -> NDArray[np.int64]:
        """Other vertices send old messages."""
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
        """The frontier in random order, some of it twice, some of it later, with vertices that are not in it."""
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
        """What a push found, and what it put off, is the frontier."""
        if len(self._later):
            self.took("A")
            found = frontier.entries()
            frontier.put(np.concatenate([found, self._later[~np.isin(self._later, found)]]))
            self._later = np.zeros(0, np.uint64)
