"""Runs loops with a single pass that pushes over pages on disk. A superstep reads only the pages of active vertices.

The frontier is a bitmap, and contributions may be combined in any order, so pages may arrive in any order. If a full
pull reads no more bytes than the push and costs less, the superstep is a full pull, as for edges in memory
(vlang.runtime.cpu.ways.push).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.paged.source import Streamed
from vlang.runtime.cpu.passes.freedoms import Freedoms
from vlang.runtime.cpu.passes.mode import should_pull
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.frontier_loop import FrontierLoop
from vlang.runtime.cpu.ways.joined_words import open_words, push_spec
from vlang.runtime.cpu.ways.paged_frontier import Frontiers, bits_set
from vlang.runtime.engine.trace import Done
from vlang.runtime.plan.layouts.paged_words import (
    PAGED_COUNTS,
    PAGED_FOUND,
    PAGED_FRONT,
    PAGED_ORIGIN,
    PAGED_PAGES,
    PAGED_SEGMENTS,
    PAGED_VERTICES,
    PAGED_WORDS,
)
from vlang.runtime.plan.plan import StageSpec
from vlang.runtime.storage.memory import zeros
from vlang.types import OPPOSITE

__all__ = ["PagedPushLoop"]

_RUN = 64  # words of a bitmap in a task


class PagedPushLoop(FrontierLoop):
    """A loop whose only pass may push, over pages on disk; a `vlang.runtime.engine.machine.Loop`.

    The loop needs three bits of memory per vertex.

    Args:
        stage: the pass.
        passes: launches the pass; its source streams pages.
        other: whether supersteps may be full passes if a full pass is cheaper.
        start_flags: uint8[n], bit 0 is set for vertices that are active at the start; None activates all vertices whose
            contribution differs from the identity (rule Z).
        free: the choices of the loop.
    """

    def __init__(
        self, stage: StageSpec, passes: Passes, other: bool, start_flags: NDArray[np.uint8] | None, free: Freedoms
    ) -> None:
        assert stage.domain is not None
        assert isinstance(passes.source, Streamed)
        self._stage, self._passes, self._state, self._source = stage, passes, passes.state, passes.source
        self._other, self._start_flags, self._free = other and stage.notify is not None, start_flags, free
        self._out = Frontiers(passes, OPPOSITE[stage.domain], stage.columns)
        n = passes.graph.n
        self._words = -(-n // 64)
        self._front, self._found = zeros(self._words, np.uint64), zeros(self._words, np.uint64)
        self._counts, self._tasks = np.zeros(1, np.int64), np.zeros(2, np.int64)
        self._table = np.zeros(PAGED_WORDS, np.uint64)
        self._table[PAGED_PAGES], self._table[PAGED_COUNTS] = address_of(self._out.table), address_of(self._counts)
        self._table[PAGED_SEGMENTS], self._table[PAGED_VERTICES] = address_of(self._out.pages.segments), n
        open_words(self._state, push_spec(stage))
        self._active = 0
        self._begun = False

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep."""
        if not self._begun:
            self._begun = True
            if self._start_flags is None:
                self._free.took("Z")
            self._choose(0 if self._start_flags is None else address_of(self._start_flags))
        wanted, edges = self._out.wanted(self._front), self._out.edges(self._front)
        pulls = self._other and self._free.choose("", lambda: self._should_pull(wanted, edges))
        self._last = self._full() if pulls else self._push(wanted, edges)
        return (self._last,)

    def sync(self) -> NDArray[np.uint8]:
        """The frontier as flags, uint8[n]. The fields are up to date between supersteps."""
        return bits_set(self._front, self._passes.graph.n)

    def _should_pull(self, wanted: NDArray[np.uint8], edges: int) -> bool:
        """Return whether a full pull reads no more bytes than a push of the frontier, and is cheaper."""
        domain = self._stage.domain or "in"
        pages = self._source.pages(domain)
        full = self._source.missing(domain, range(pages.count))
        return full <= self._out.missing(wanted) and \
            should_pull(self._passes.costs, self._active, edges, pages.edges)

    def _push(self, wanted: NDArray[np.uint8], edges: int) -> Done:
        """Push from the vertices of the frontier; the vertices that change become the next frontier."""
        self._aim()
        out, kernels = self._out, self._passes.kernels
        for short, long in out.batches(wanted):
            for role, tasks in (("spread_rows", short), ("spread_segments", long)):
                if len(tasks):
                    self._passes.cpu.launch(kernels[self._stage.kernels[role]], (self._state.frame,), tasks, len(tasks),
                                            out.weight, (self._table,))
        self._launch("gather_up")
        self._front, self._found = self._found, self._front
        self._active = int(self._counts[0])
        self._free.took("P")
        return Done(self._active, "push", edges)

    def _full(self) -> Done:
        """Run a full pass; the vertices that change become the next frontier."""
        stats, edges = self._passes.full(self._stage)
        for name in self._stage.swaps:
            self._state.swap(name)
        open_words(self._state, push_spec(self._stage))
        self._choose(address_of(self._state.arrays[f"work:notify.{self._stage.name}"]))
        return Done(stats.active, "pull", edges)

    def _choose(self, origin: int) -> None:
        """Build the frontier from the flags at address `origin`, or the first frontier of the loop if `origin` is 0."""
        self._table[PAGED_ORIGIN] = origin
        self._launch("choose_front")
        self._active = int(self._counts[0])

    def _launch(self, role: str) -> None:
        """Launch a kernel of the pass over the words of bitmaps."""
        self._aim()
        self._counts[0] = 0
        self._tasks[:] = _RUN, self._words
        kernel = self._passes.kernels[self._stage.kernels[role]]
        self._passes.cpu.launch(kernel, (self._state.frame,), self._tasks, -(-self._words // _RUN),
                                self._passes.graph.n, (self._table,))

    def _aim(self) -> None:
        self._table[PAGED_FRONT], self._table[PAGED_FOUND] = address_of(self._front), address_of(self._found)
