"""Searches of several runs, with one bit per run: one pass over the edges of a vertex searches the frontiers of all
runs.

Source: Then et al., "The more the merrier: efficient multi-source graph traversal", PVLDB 8, 2014, section 3. A
superstep of a loop with a uniform frontier needs only the set of vertices that the frontier reaches, and a set has no
order. So a shared superstep finds the same sets as separate runs, in whichever direction each of these runs would
search.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.paged.source import Streamed
from vlang.runtime.cpu.passes.edge_costs import REFERENCE
from vlang.runtime.cpu.together.group import Group
from vlang.runtime.cpu.together.woven_pass import TogetherPasses
from vlang.runtime.cpu.ways.cpu_way import Running, only_new
from vlang.runtime.cpu.ways.reach import Reach, ReachLoop
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.engine.trace import Done
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.kernels import search_kernels
from vlang.runtime.plan.plan import LoopSpec
from vlang.runtime.storage.memory import zeros

__all__ = ["SEARCHES", "TogetherReach"]

SEARCHES = 64
"""Searches in a group: the bits of a word."""

_RUN = 8  # words of a bitmap in a task
_WORD = 4.0  # the cost of an edge whose end has a word of bits, divided by that of an edge whose end has one bit


class TogetherReach(Reach):
    """Runs loops with a uniform frontier in a group of runs."""

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop, as `Reach` does."""
        if not only_new(start) or start is not None:
            return super().begin(loop, machine, bound, start)
        passes = machine.passes
        if isinstance(passes.source, Streamed):
            from vlang.runtime.cpu.together.paged_searches import TogetherPagedReachLoop  # start-up

            return TogetherPagedReachLoop(loop.stages[0], passes, True, passes.freedoms.of(loop, bound))
        return TogetherReachLoop(loop.stages[0], passes, True, passes.freedoms.of(loop, bound))


class TogetherReachLoop(ReachLoop):
    """A loop with a uniform frontier. Wide supersteps of the loop are shared if sharing reads fewer edges."""

    def _push(self) -> Done:
        """Let the frontier reach other vertices."""
        return self._shared(self._active, self._edges) or super()._push()

    def _look(self) -> Done:
        """Let unreached vertices search for the frontier."""
        share = self._edges / max(1, len(self._out))
        looked = min(self._left_edges, int(self._left / share)) if share else self._left_edges
        return self._shared(self._left, looked) or super()._look()

    def _shared(self, rows: int, edges: int) -> Done | None:
        """Run a superstep together with other runs; returns None if the run must execute the superstep by itself.

        Args:
            rows: an estimate of the rows that the run would read by itself.
            edges: an estimate of the edges that the run would read by itself.
        """
        passes, costs = self._passes, self._passes.costs or REFERENCE
        assert isinstance(passes, TogetherPasses)
        alone = rows * costs.row / costs.marked + edges
        front, marks, left = self._room.bits[0], self._room.marks[: self._words], self._room.bits[2]
        need = _Search(self._stage.name, self._into, front, left, marks, alone)
        if not passes.group.many or not passes.group.meet(passes.number, need):
            return None
        self._launch("unite", self._words, self._words + min(self._left, edges), 1)
        self._swap()
        self._found()
        return Done(self._active, "early-exit pull", need.edges)


class _Search:
    """The next frontier of a search; a `vlang.runtime.cpu.together.group.Meeting`.

    Args:
        stage: the name of the pass.
        into: the lists along which vertices look for the frontier.
        front: uint64[w], the frontier.
        left: uint64[w], the vertices that are not reached.
        found: uint64[w], all zero; the bits of vertices that the frontier reaches are set.
        alone: an estimate of the cost of the superstep for the run by itself, in edges.
    """

    def __init__(self, stage: str, into: Adjacency, front: NDArray[np.uint64], left: NDArray[np.uint64],
                 found: NDArray[np.uint64], alone: float) -> None:
        self.key: Hashable = stage
        self.edges = 0  # the edges that were read for all runs
        self._into, self._front, self._left, self._found, self._alone = into, front, left, found, alone

    def share(self, group: Group, runs: Sequence[_Search]) -> bool:
        """Find the next frontiers of all runs."""
        if sum(one._alone for one in runs) < _WORD * len(self._into):
            return False
        words, count = len(self._front), len(runs)
        if "bits" not in group.scratch:
            group.scratch["bits"] = zeros(64 * words, np.uint64), zeros(64 * words, np.uint64)
        (there, wanted), kernels = group.scratch["bits"], search_kernels()
        fronts, lefts, founds = (np.array([address_of(array) for array in arrays], np.uint64) for arrays in (
            [one._front for one in runs], [one._left for one in runs], [one._found for one in runs]))
        tasks, counts = np.array([_RUN, words], np.int64), np.zeros(1, np.int64)
        every, cost = -(-words // _RUN), len(self._into) + 64 * words
        group.cpu.launch(kernels["turn"], (fronts, count, there), tasks, every, cost)
        offsets, targets = self._into.addresses
        lists = np.array([offsets, targets], np.uint64)
        group.cpu.launch(kernels["look"], (lists, lefts, founds, count, there, wanted), tasks, every, cost, (counts,))
        for one in runs:
            one.edges = int(counts[0])
        return True
