"""Runs of one program on one graph that take turns, and meet to read the edges once for all of them.

Every run is an ordinary run in a thread of its own, and only one of these threads runs at a time. Before a run reads
the edges, it may wait for the other runs with a `Meeting`. When all runs wait, one traversal of the edges computes the
results for all runs, and each run then continues with its own kernels.

The method follows the multi-source traversals of Then et al. (The more the merrier: efficient multi-source graph
traversal, PVLDB 8, 2014), and the products of sparse matrices with blocks of vectors. The runs proceed in lock step,
with barriers between supersteps.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, Protocol, Self

from vlang.errors import VlangError
from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.graph.graph import Graph

__all__ = ["LEAST", "Abandoned", "Group", "Meeting", "OneCpu"]

LEAST = 6
"""Runs below which nothing is shared: a row of values of all runs costs about as much as four values by themselves."""


class Abandoned(VlangError):
    """Raised in the threads of a group that is abandoned."""


class Meeting(Protocol):
    """What a run needs from the edges."""

    @property
    def key(self) -> Hashable:
        """Runs share a traversal only if their keys are equal."""

    def share(self, group: Group, runs: Sequence[Self]) -> bool:
        """Compute the results that `runs`, including this run, wait for; returns False and does nothing if sharing does
        not pay.
        """


class Group:
    """Runs that take turns, and meet where they may share a traversal.

    Args:
        graph: the graph of all runs.
        runs: the number of runs.
        threads: the number of worker threads of kernels, which all runs use one after the other; None for all
            processors.
    """

    def __init__(self, graph: Graph, runs: int, threads: int | None) -> None:
        self.cpu, self.graph = _SharedCpu(threads), graph
        self.shared = 0  # traversals of the edges for several runs
        self.token = object()  # names the group in comparisons that outlive it
        self.alone = 0  # traversals for a single run, where that is compared with a shared one or is faster
        self.scratch: dict[Hashable, Any] = {}  # memory that meetings use again
        self._stopped = False
        self._alive = list(range(runs))
        self._doors = [allocate_lock() for _ in range(runs)]  # a run waits at its door, which is open in its turn
        for door in self._doors[1:]:
            door.acquire()
        self._waiting: dict[int, Meeting] = {}
        self._served: set[int] = set()  # the runs that got what they need at the last meeting

    @property
    def many(self) -> bool:
        """Return whether enough runs are left to share traversals."""
        return len(self._alive) >= LEAST

    def run(self, number: int, work: Callable[[], Any]) -> Any:
        """Call `work` in the thread of a run, which computes only in its turns; returns the result."""
        try:
            self._enter(number)
            return work()
        finally:
            self._alive.remove(number)
            if self._alive and not self._stopped:
                self._doors[self._next(number)].release()

    def stop(self) -> None:
        """Let every run that has not ended end with an error at its next turn."""
        self._stopped = True
        for door in self._doors:
            with suppress(RuntimeError):  # the door is open
                door.release()

    def meet(self, number: int, need: Meeting) -> bool:
        """Wait until every other run has ended or waits; returns whether the results for run `number` were computed."""
        self._waiting[number] = need
        following = self._next(number)
        if following != number:
            self._doors[following].release()
            self._enter(number)
        return number in self._served

    def _enter(self, number: int) -> None:
        """Wait for a turn."""
        self._doors[number].acquire()
        if self._stopped:
            raise Abandoned("another run of the group was interrupted")

    def _next(self, number: int) -> int:
        """The run that has the turn after run `number`. If all runs wait, the results that they wait for are computed
        first.
        """
        if self._stopped:
            raise Abandoned("another run of the group was interrupted")
        if len(self._waiting) == len(self._alive):
            try:
                self._serve()
            except BaseException:
                self.stop()
                raise
            self._waiting.clear()
        ready = [other for other in self._alive if other not in self._waiting]
        return next((other for other in ready if other >= number), ready[0])

    def _serve(self) -> None:
        """Compute what waiting runs need. If too few runs have the same key, each of these runs computes its results by
        itself.
        """
        alike: dict[Hashable, list[int]] = {}
        for number, need in self._waiting.items():
            alike.setdefault(need.key, []).append(number)
        self._served = set()
        for runs in alike.values():
            if len(runs) >= LEAST and self._waiting[runs[0]].share(self, [self._waiting[number] for number in runs]):
                self._served.update(runs)
                self.shared += 1


class _SharedCpu(Cpu):
    """A `Cpu` that all runs of a group share, and that only the group closes."""

    def close(self) -> None:
        """Does nothing, because other runs still use the threads."""

    def end(self) -> None:
        """Return the crew to the idle crews."""
        super().close()


class OneCpu(Freedoms):
    """The choices of a run that launches kernels on the `Cpu` of its group."""

    def __init__(self, cpu: Cpu) -> None:
        self._cpu = cpu

    def cpu(self, threads: int | None) -> Cpu:
        """The `Cpu` of the group."""
        return self._cpu
