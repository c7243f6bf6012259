"""The choices of a run on the CPU that do not change its results.

A plain run takes the cheapest; a chaos run draws them at random (vlang.runtime.cpu.cpu_chaos).
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
    """The frontier of a loop that pushes, with the supersteps so far and the number of vertices of the graph."""

    @property
    def rounds(self) -> int: ...
    @property
    def vertices(self) -> int: ...
    def entries(self) -> NDArray[np.uint64]:
        """The entries of its queue, each once."""

    def entries_of(self, vertices: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The entries of vertices, without vertices that have too many edges for one entry."""

    def put(self, entries: NDArray[np.uint64]) -> None:
        """Replace the frontier by these entries, as many as the queue holds."""


class Freedoms:
    """The choices of a run, and of each of its loops: this class follows the options and the costs.

    Passes and loops call a method where the rules of the language (docs/language.md, section 10) leave a choice.
    """

    def of(self, loop: LoopSpec, bound: int | None) -> Freedoms:
        """The choices of one loop, at its start. bound: supersteps at most, None for no bound."""
        return self

    # --------------------------------------------------------------------------------------------------- the run
    def cpu(self, threads: int | None) -> Cpu:
        """The `Cpu` that launches kernels."""
        return Cpu(threads)

    def ways(self, ways: Sequence[T]) -> Sequence[T]:
        """The ways that a loop may use; always includes the last one."""
        return ways

    def options(self, options: Options) -> Options:
        """The options by which a way is chosen."""
        return options

    # ---------------------------------------------------------------------------------------------------- passes
    def blocking(self, asked: str) -> str:
        """Whether the next full pass runs by cache blocks, as in Options."""
        return asked

    def as_list(self) -> bool:
        """Whether a full pass runs over a list of all vertices."""
        return False

    def levels_together(self) -> bool:
        """Whether several levels of a sweep run in one call."""
        return True

    def reordered(self, vertices: NDArray[np.uint32]) -> bool:
        """Whether the listed vertices were reordered, in place; then each is a task of its own."""
        return False

    def tasks(self, tasks: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """The first `count` tasks of a launch, in the order in which workers take them."""
        return tasks

    def notify(self, marks: NDArray[np.uint8]) -> None:
        """Mark other vertices to run beside the receivers of a change (rule N)."""

    # ----------------------------------------------------------------------------------------------------- loops
    def choose(self, rule: str, decide: Callable[[], bool]) -> bool:
        """A choice that a rule leaves open; `decide` compares the costs. rule: "" for a choice outside of the rules."""
        return decide()

    def took(self, rule: str) -> None:
        """Record that a loop used a rule."""

    def many(self) -> bool:
        """Whether supersteps over few vertices may run in one call."""
        return True

    def in_place(self, asked: bool) -> bool:
        """Whether the next pass writes to the buffer that it reads."""
        return asked

    def part(self, n: int, done: int) -> NDArray[np.int64] | None:
        """The vertices that the next superstep runs over (rules A and S); None for all n. done: supersteps so far."""
        return None

    def part_of_pass(self, part: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """The vertices over which a pass of a superstep with a `part` runs."""
        return part

    def refreshed(self, n: int) -> NDArray[np.int64]:
        """The vertices whose messages are updated before a pass of a superstep with a `part`."""
        return np.arange(n)

    def put_off(self, active: NDArray[np.uint8], done: int) -> bool:
        """Whether flags of some active vertices were cleared, so that these send later (rule A')."""
        return False

    def before_push(self, frontier: Frontier) -> None:
        """Before a push: may reorder or repeat entries and add vertices (rule P), or delay entries (rule A)."""

    def after_push(self, frontier: Frontier) -> None:
        """After a push: add delayed entries to the next frontier."""


PLAIN = Freedoms()
