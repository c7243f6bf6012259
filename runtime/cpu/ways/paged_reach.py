"""Loops with a uniform frontier (rule X2) over pages on disk.

The frontier is a bitmap. A superstep runs in the direction that reads fewer bytes from disk. If the vertices of the
frontier mark their neighbours, the pages with out-edges of the frontier are read. If the unreached vertices look for a
neighbour in the frontier, the pages with in-edges of unreached vertices are read. Pages may arrive in any order,
because marks are bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.paged.work import Tasks
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.mode import should_look
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.frontier_loop import FrontierLoop
from vlang.runtime.cpu.ways.paged_frontier import Frontiers, bits_set, set_bits
from vlang.runtime.engine.trace import Done
from vlang.runtime.kernels import paged_frontier_kernels
from vlang.runtime.plan.layouts.reach_words import (
    REACH_ACTIVE,
    REACH_COMING,
    REACH_COUNTED,
    REACH_COUNTS,
    REACH_FRONT,
    REACH_LEFT,
    REACH_MARKS,
    REACH_ONE,
    REACH_SENDER,
    REACH_VERTICES,
    REACH_WORDS,
)
from vlang.runtime.plan.plan import StageSpec
from vlang.runtime.storage.memory import empty, zeros
from vlang.types import OPPOSITE

__all__ = ["PagedReachLoop"]

_RUN = 32  # words of a bitmap in a task


class PagedReachLoop(FrontierLoop):
    """A loop whose only pass has a uniform frontier; a `vlang.runtime.engine.machine.Loop`.

    Per vertex the loop needs three bits of memory, one more bit for each thread, and one more bit for each adjacency
    direction.

    Args:
        stage: the pass.
        passes: launches the pass; its source streams pages.
        looks: whether unreached vertices may search for a neighbour in the frontier.
        free: the choices of the loop.
        flags: uint8[n], bit 0 is set for the vertices of the frontier at the start; None for all vertices with a value.
    """

    def __init__(
        self, stage: StageSpec, passes: Passes, looks: bool, free: Freedoms, flags: NDArray[np.uint8] | None = None,
    ) -> None:
        assert stage.domain is not None
        self._stage, self._passes, self._looks, self._free = stage, passes, looks, free
        self._out, self._into = Frontiers(passes, self._receivers(stage.domain)), Frontiers(passes, stage.domain)
        n, self._threads = passes.graph.n, passes.cpu.threads
        self._words = -(-n // 64)
        self._front, self._coming, self._left = (empty(self._words, np.uint64) for _ in range(3))
        self._marks = zeros(self._threads * self._words, np.uint64)
        self._counts, self._tasks = np.zeros(REACH_COUNTED, np.int64), np.zeros(2, np.int64)
        self._taken = np.zeros(2, np.int64)
        self._table = np.zeros(REACH_WORDS, np.uint64)
        self._table[REACH_VERTICES] = n
        for word, array in ((REACH_LEFT, self._left), (REACH_MARKS, self._marks), (REACH_COUNTS, self._counts)):
            self._table[word] = address_of(array)
        self._unreached = n
        self._begun = False
        self._flags = flags

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep."""
        if not self._begun:
            self._begin()
        if self._looks and self._unreached == 0:
            self._last = Done(0, "early-exit pull", 0)
            return (self._last,)
        pushed = self._out.wanted(self._front)
        looked = self._into.wanted(self._left) if self._looks else pushed
        looks = self._looks and self._free.choose("", lambda: self._should_look(pushed, looked))
        self._taken[1] = 0
        if looks:
            self._mark("look", self._into, looked, (self._front, self._left))
            edges = int(self._taken[1])
        else:
            self._mark("mark", self._out, pushed, (self._front,))
            edges = self._out.edges(self._front)
        self._launch("take", self._threads)
        self._front, self._coming = self._coming, self._front
        active, edges = self._reached(int(self._counts[REACH_ACTIVE]), edges)
        self._unreached -= active
        self._last = Done(active, "early-exit pull" if looks else "push", edges)
        self._free.took("X2" if looks else "P")
        return (self._last,)

    def _receivers(self, domain: str) -> str:
        """The direction of the edges from senders to receivers."""
        return OPPOSITE[domain]

    def sync(self) -> NDArray[np.uint8]:
        """The frontier as flags, uint8[n]. The fields are up to date between supersteps."""
        return bits_set(self._front, self._passes.graph.n)

    def _reached(self, active: int, edges: int) -> tuple[int, int]:
        """Record a superstep, with the number of vertices reached and the number of edges traversed."""
        return active, edges

    def _begin(self) -> None:
        """Find the vertices that have values.

        All vertices with a value form the frontier, unless the caller of the constructor selected only a part.
        """
        self._begun = True
        self._free.took("Z")
        self._launch("spot", 0)
        self._unreached -= int(self._counts[REACH_ACTIVE])
        if self._flags is not None:
            set_bits(self._front, self._flags)
            self._counts[REACH_ONE] = np.argmax(self._flags & 1) if len(self._flags) else 0
            self._last = Done(int((self._flags & 1).sum()), "push", 0)
            self._flags = None

    def _should_look(self, pushed: NDArray[np.uint8], looked: NDArray[np.uint8]) -> bool:
        """Whether a search by unreached vertices reads fewer bytes than a push, or is cheaper if both read nothing."""
        push, look = self._out.missing(pushed), self._into.missing(looked)
        if push or look:
            return look < push
        passes, was = self._passes, self._last.mode == "early-exit pull"
        return should_look(passes.costs, was, passes.graph.n, self._out.pages.edges, self._last.active,
                           self._out.edges(self._front), self._unreached, self._into.edges(self._left))

    def _mark(self, name: str, way: Frontiers, wanted: NDArray[np.uint8], bits: tuple[NDArray[np.uint64], ...]) -> None:
        """Launch kernels that mark vertices, batch by batch of pages.

        Args:
            name: the prefix of the names of the kernels, "mark" or "look".
            way: the pages of an adjacency direction.
            wanted: uint8[P], 1 for the pages to read.
            bits: the bitmaps that the kernels read.
        """
        for short, long in way.batches(wanted):
            self.mark_batch(name, way, short, long, bits)

    def mark_batch(
        self, name: str, way: Frontiers, short: Tasks, long: Tasks, bits: tuple[NDArray[np.uint64], ...]
    ) -> None:
        """Launch kernels that mark vertices along edges that are in memory. Rows without edges of the bitmaps are
        allowed, and mark nothing.

        Args:
            name: the prefix of the names of the kernels, "mark" or "look".
            way: the pages of an adjacency direction.
            short: tasks over rows.
            long: tasks over segments of long rows.
            bits: the bitmaps that the kernels read.
        """
        kernels, cpu = paged_frontier_kernels(), self._passes.cpu
        after = (*bits, self._marks, self._words)
        launches = (("rows", (way.table,), short), ("segments", (way.table, way.pages.segments), long))
        for role, before, tasks in launches:
            if len(tasks):
                self._taken[0] = 0
                cpu.launch(kernels[f"{name}_{role}"], (*before, *after), tasks, len(tasks), way.weight, (self._taken,))

    def _launch(self, role: str, number: int) -> None:
        """Launch a kernel of the pass over the words of its bitmaps."""
        self._table[REACH_SENDER] = self._counts[REACH_ONE]
        self._counts[:REACH_ONE] = 0
        self._table[REACH_FRONT], self._table[REACH_COMING] = address_of(self._front), address_of(self._coming)
        self._tasks[:] = _RUN, number
        kernel: Any = self._passes.kernels[self._stage.kernels[role]]
        self._passes.cpu.launch(kernel, (self._passes.state.frame,), self._tasks, -(-self._words // _RUN), self._words,
                                (self._table,))
