"""Chaos runs on the CPU, for tests: random choices in every superstep wherever the rules permit several choices.

Tasks and lists of vertices are processed in random order, and a pass runs over rows or over cache blocks. A superstep
runs over all vertices or over a part. Under rule N, the part consists of the notified vertices and some random
vertices. Under rule P, the superstep pushes from the active vertices and some random vertices, and processes some edges
twice. If vertices may run in any order (rules A and S), some supersteps run over a random part of the vertices and
update only some of the messages. Supersteps over a random part may or may not update values in place. Under rule A
entries of frontiers are delayed. If changes may be sent in any order (rule A'), a random part of the active vertices
sends. Where rules X2, Z, O and K permit several execution ways, one way is chosen at random. A loop ends only after a
superstep that skipped no vertex.
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

_ORDERED = 48  # no vertex is left out after this many supersteps, so that loops end; cycles are detected later
_BUSY = 1 << 20  # the minimum cost that is passed to a launch, so that it runs on all threads

T = TypeVar("T")


class _Workers(Cpu):
    """A `Cpu` that runs every launch, however small, on all threads."""

    def launch(self, kernel: Kernel, before: tuple[Any, ...], tasks: NDArray[np.int64], count: int, cost: int,
               after: tuple[Any, ...] = ()) -> None:
        """Like `Cpu.launch`, but always on all threads."""
        super().launch(kernel, before, tasks, count, max(cost, _BUSY), after)


class Chaos(Freedoms):
    """A subclass of `Freedoms` that makes random choices.

    Args:
        draws: the random choices of the run.
        line: the source line of the running loop, 0 for the whole run.
        order: the rule (A, A' or S) that permits any order of the loop's vertices; "" if no rule does, or if the number
            of supersteps is fixed.
    """

    def __init__(self, draws: Draws, line: int = 0, order: str = "") -> None:
        self._draws, self._line, self._order = draws, line, order
        self._later = np.zeros(0, np.uint64)  # delayed entries of the frontier

    def of(self, loop: LoopSpec, bound: int | None) -> Chaos:
        """The random choices for one loop."""
        return Chaos(self._draws, loop.line, loop.order if bound is None else "")

    # --------------------------------------------------------------------------------------------------- the run
    def cpu(self, threads: int | None) -> Cpu:
        """A `Cpu` that runs every launch on all threads."""
        return _Workers(threads)

    def ways(self, ways: Sequence[T]) -> Sequence[T]:
        """A random subset of the execution ways. The last way is always included."""
        return [way for way in ways[:-1] if self._draws.coin(0.4)] + [ways[-1]]

    def options(self, options: Options) -> Options:
        """Options that select priority order wherever rule O permits it, even if it is slower."""
        return replace(options, schedule="priority")

    # ---------------------------------------------------------------------------------------------------- passes
    def blocking(self, asked: str) -> str:
        """Return whether full passes run over cache blocks: "always" or "never", at random."""
        return "always" if self._draws.coin() else "never"

    def as_list(self) -> bool:
        """True or False at random: whether a full pass runs over a list of all vertices."""
        return self._draws.coin()

    def levels_together(self) -> bool:
        """True or False at random: whether several levels of a sweep run in one call."""
        return self._draws.coin()

    def reordered(self, vertices: NDArray[np.uint32]) -> bool:
        """Shuffle the listed vertices."""
        self._draws.order(vertices)
        return True

    def tasks(self, tasks: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """The tasks in random order."""
        mixed = tasks[:count].copy()
        self._draws.order(mixed)
        return mixed

    def notify(self, marks: NDArray[np.uint8]) -> None:
        """Mark random vertices. The marked vertices run in addition to the notified vertices."""
        if self._draws.coin():
            marks[self._draws.some(len(marks))] = 1

    # ----------------------------------------------------------------------------------------------------- loops
    def choose(self, rule: str, decide: Callable[[], bool]) -> bool:
        """True or False at random, independent of the costs."""
        chosen = self._draws.coin()
        if chosen and rule:
            self.took(rule)
        return chosen

    def took(self, rule: str) -> None:
        """Count the use of a rule."""
        self._draws.use(self._line, rule)

    def many(self) -> bool:
        """Whether several supersteps over few vertices may run in one call: True at random, in one of four cases."""
        return self._draws.coin(0.25)

    def in_place(self, asked: bool) -> bool:
        """If vertices may run in any order, True or False at random; otherwise False."""
        chosen = self._order in ("A", "S") and self._draws.coin()
        if chosen:
            self.took(self._order)
        return chosen

    def part(self, n: int, done: int) -> NDArray[np.int64] | None:
        """A random part of the vertices in some supersteps, if a rule permits it; None in all other supersteps."""
        if self._order not in ("A", "S") or not 0 < done < _ORDERED or self._draws.coin():
            return None
        self.took(self._order)
        return self._draws.some(n)

    def part_of_pass(self, part: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """The vertices of the next pass: a new random part under rule A, and the given part under rule S.

        Under rule S, a pass over vertices outside the given part could write a final vertex again.
        """
        return part if self._order == "S" else self._draws.some(n)

    def refreshed(self, n: int) -> NDArray[np.int64]:
        """A random part of the vertices whose messages are updated. The messages of all other vertices stay old."""
        return self._draws.some(n)

    def put_off(self, active: NDArray[np.uint8], done: int) -> bool:
        """In some supersteps, clear the flags of some active vertices so that they send nothing (rule A')."""
        if self._order != "A'" or not 0 < done < _ORDERED or self._draws.coin():
            return False
        sending = np.flatnonzero(active)
        if len(sending) < 2:
            return False
        active[sending[self._draws.some(len(sending) - 1)]] = 0
        self.took("A'")
        return True

    def before_push(self, frontier: Frontier) -> None:
        """Shuffle the frontier, repeat some entries, delay some entries, and add vertices from outside the frontier."""
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
        """Add the entries that `before_push` delayed to the frontier of the next superstep."""
        if len(self._later):
            self.took("A")
            found = frontier.entries()
            frontier.put(np.concatenate([found, self._later[~np.isin(self._later, found)]]))
            self._later = np.zeros(0, np.uint64)
