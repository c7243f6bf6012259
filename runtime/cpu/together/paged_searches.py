"""Searches of several runs over pages on disk: each page that a run needs is read once for all runs.

Every run marks its own vertices in its own bitmap, as a run alone does. A page that only other runs need marks nothing,
so that the result of a run does not depend on the other runs.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cpu.together.group import Group
from vlang.runtime.cpu.together.woven_pass import TogetherPasses
from vlang.runtime.cpu.ways.paged_frontier import Frontiers
from vlang.runtime.cpu.ways.paged_reach import PagedReachLoop

__all__ = ["TogetherPagedReachLoop"]


class TogetherPagedReachLoop(PagedReachLoop):
    """A loop with a uniform frontier over pages on disk, whose supersteps read their pages together with other runs."""

    def _mark(self, name: str, way: Frontiers, wanted: NDArray[np.uint8], bits: tuple[NDArray[np.uint64], ...]) -> None:
        """Mark vertices, together with the runs that read pages of the same direction in this superstep."""
        passes = self._passes
        assert isinstance(passes, TogetherPasses)
        need = _Marking(self, name, way, wanted, bits)
        if not passes.group.many or not passes.group.meet(passes.number, need):
            super()._mark(name, way, wanted, bits)


class _Marking:
    """The pages that a search needs; a `vlang.runtime.cpu.together.group.Meeting`.

    Args:
        loop: the search.
        name: the prefix of the names of the kernels, "mark" or "look".
        way: the pages of an adjacency direction.
        wanted: uint8[P], 1 for the pages that the search needs.
        bits: the bitmaps that the kernels read.
    """

    def __init__(
        self, loop: PagedReachLoop, name: str, way: Frontiers, wanted: NDArray[np.uint8],
        bits: tuple[NDArray[np.uint64], ...],
    ) -> None:
        self._loop, self._name, self._way, self._wanted, self._bits = loop, name, way, wanted, bits

    @property
    def key(self) -> Hashable:
        """The direction in which the search reads edges."""
        return self._name, self._way.kind

    def share(self, group: Group, runs: Sequence[_Marking]) -> bool:
        """Read each page that a run needs once, and let every run mark its vertices."""
        wanted = np.bitwise_or.reduce([one._wanted for one in runs])
        for short, long in self._way.batches(wanted):
            for one in runs:
                one._loop.mark_batch(self._name, self._way, short, long, one._bits)
        return True
