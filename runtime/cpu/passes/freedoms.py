"""The choices of a run on the CPU that do not change its results.

A plain run makes the cheapest choice. A chaos run makes a random choice (vlang.runtime.cpu.cpu_chaos).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.plan.plan import LoopSpec

__all__ = ["PLAIN", "Freedoms", "Frontier"]

T = TypeVar("T")


class Frontier(Protocol):
    """The frontier of a loop that pushes.

    Attributes:
        rounds: the number of supersteps so far.
        vertices: the number of vertices of the graph.
    """

    @property
    def rounds(self) -> int: ...
    @property
    def vertices(self) -> int: ...
    def entries(self) -> NDArray[np.uint64]:
        """The distinct entries in the queue of the frontier, uint64."""

    def entries_of(self, vertices: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The entries for some vertices. Vertices with too many edges for one entry are omitted."""

    def put(self, entries: NDArray[np.uint64]) -> None:
        """Replace the frontier by `entries`. Entries beyond the capacity of the queue are dropped."""


class Freedoms:
    """The choices of a run and of its loops.

    This class chooses by options and costs; the subclass `Chaos` chooses at random.

    Passes and loops call a method wherever the rules of the language (docs/language.md, section 10) permit a choice.
    """

    def of(self, loop: LoopSpec, bound: int | None) -> Freedoms:
        """Return the choices for one loop.

        This method is called when the loop begins. `bound` is the maximum number of supersteps, or None.
        """
        return self

    # --------------------------------------------------------------------------------------------------- the run
    def cpu(self, threads: int | None) -> Cpu:
        """The `Cpu` that launches kernels."""
        return Cpu(threads)

    def ways(self, ways: Sequence[T]) -> Sequence[T]:
        """The execution ways that a loop may use; always includes the last way."""
        return ways

    def options(self, options: Options) -> Options:
        """The options that determine the execution way of a loop."""
        return options

    # ---------------------------------------------------------------------------------------------------- passes
    def blocking(self, asked: str) -> str:
        """Return whether full passes run over cache blocks: "always", "never" or "auto", as in Options."""
        return asked

    def as_list(self) -> bool:
        """Return whether a full pass runs over a list of all vertices."""
        return False

    def levels_together(self) -> bool:
        """Return whether several levels of a sweep run in one call."""
        return True

    def reordered(self, vertices: NDArray[np.uint32]) -> bool:
        """Possibly reorder the listed vertices in place; returns whether the order changed.

        If the order changed, each vertex becomes a task.
        """
        return False

    def tasks(self, tasks: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """The tasks of a launch in the order in which workers take them. The first `count` tasks are used."""
        return tasks

    def notify(self, marks: NDArray[np.uint8]) -> None:
        """Possibly mark more vertices, which then run in addition to the receivers of changes (rule N)."""

    # ----------------------------------------------------------------------------------------------------- loops
    def choose(self, rule: str, decide: Callable[[], bool]) -> bool:
        """Make a choice that a rule permits.

        `decide` makes the choice by comparing costs. `rule` is the name of the rule, or "" if the choice needs no rule.
        """
        return decide()

    def took(self, rule: str) -> None:
        """Record that a loop used a rule."""

    def many(self) -> bool:
        """Return whether several supersteps over few vertices may run in one call."""
        return True

    def in_place(self, asked: bool) -> bool:
        """Return whether the next pass writes to the buffer that it reads."""
        return asked

    def part(self, n: int, done: int) -> NDArray[np.int64] | None:
        """The vertices of the next superstep (rules A and S), or None for all n vertices.

        `done` is the number of supersteps so far.
        """
        return None

    def part_of_pass(self, part: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """The vertices of the next pass, in a superstep for which `part` returned vertices."""
        return part

    def refreshed(self, n: int) -> NDArray[np.int64]:
        """The vertices whose messages are updated before a pass, in a superstep for which `part` returned vertices."""
        return np.arange(n)

    def put_off(self, active: NDArray[np.uint8], done: int) -> bool:
        """Possibly clear flags of active vertices, which then send later (rule A').

        Returns whether a flag was cleared.
        """
        return False

    def before_push(self, frontier: Frontier) -> None:
        """Possibly change the frontier before a push.

        The method may reorder or repeat entries, add vertices (rule P), or delay entries (rule A).
        """

    def after_push(self, frontier: Frontier) -> None:
        """Add the entries that `before_push` has delayed to the frontier of the next superstep."""


PLAIN = Freedoms()
