"""Passes over notified vertices (notify-pull) in supersteps, and the choice between notify-pull and full passes."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cpu.paged.source import Streamed
from vlang.runtime.cpu.passes.blocking import has_room
from vlang.runtime.cpu.passes.lists import Lists
from vlang.runtime.cpu.passes.mode import reads_less, reads_of, should_notify
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.passes.receivers import Receivers
from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.state import flags
from vlang.runtime.kernels import paged_frontier_kernels
from vlang.runtime.plan.plan import StageSpec

__all__ = ["LISTED", "Skipping"]

LISTED = 28  # maximum bytes per vertex for the list of changed vertices and for tasks over listed vertices
# Nanoseconds by which notify-pull takes longer than a full pass on a graph without edges. Where a pass has structures,
# its edges take so much longer than estimated that this time does not matter.
_LAUNCHES = 100_000.0


class Skipping:
    """A pass over edges that may skip vertices whose inputs have not changed since the last run of the pass (rule N).

    Args:
        stage: the pass.
        passes: launches the pass.
        active: the slot with flags of vertices that must run again, because the result of `activate when` may change;
            "" if there is no such slot.

    Attributes:
        last: the vertices that the last run processed; None for all.
        marks: uint8[n], marks of notified vertices; all zero between two runs.
        todo: the lists of vertices that run next.
    """

    def __init__(self, stage: StageSpec, passes: Passes, active: str) -> None:
        assert stage.notify is not None
        self._stage, self._passes, self._against = stage, passes, stage.notify
        self._active = active
        self.last: Lists | None = None
        self._expected = 0.0  # the edges that the receivers were expected to pull in the next run
        self._share = 1.0  # the edges that they pulled in the last run, relative to what was expected
        n = passes.graph.n
        self.marks = flags(n)
        self.todo = Lists.room(n, len(passes.pages_of(stage.domain or "in").longs))

    @cached_property
    def changed(self) -> Lists:
        """The lists of changed vertices, which notify their receivers."""
        return Lists.room(self._passes.graph.n, len(self._passes.pages_of(self._against).longs))

    @cached_property
    def _receivers(self) -> Receivers | None:
        """See `Passes.receivers`."""
        return self._passes.receivers(self._stage.domain or "in")

    @property
    def flags(self) -> NDArray[np.uint8]:
        """The flags of changed vertices (`StageSpec.notify`), uint8[n]."""
        flags_: NDArray[np.uint8] = self._passes.state.arrays[f"work:notify.{self._stage.name}"]
        return flags_

    def chosen(self, asked: str) -> bool:
        """Return whether the pass should run as notify-pull (see `should_notify`); `asked` is the option `mode`."""
        if asked not in ("auto", "dual"):
            return asked == "notify-pull"
        passes, graph = self._passes, self._passes.graph
        if not has_room(LISTED * graph.n, passes.later):
            return False
        edges = graph.m * (2 if self._against == "both" and graph.directed else 1)
        reached = passes.reached(self.flags, self._against)
        if isinstance(passes.source, Streamed):
            return self._reads_less(passes.source, reached, edges)
        return self._costs_less(reached, edges)

    def _costs_less(self, reached: int, edges: int) -> bool:
        """Return whether notify-pull over edges in memory costs less than a full pass.

        The estimate ignores that changed vertices often have common receivers. Therefore the number of edges that this
        pass pulled when it last ran over lists corrects the estimate.
        """
        passes = self._passes
        fixed, reads = 0.0 if self._stage.structures else _LAUNCHES, reads_of(self._stage)
        if passes.costs is None or not should_notify(passes.costs, reached, edges, fixed=fixed, reads=reads):
            return passes.costs is None and should_notify(None, reached, edges)
        if self._receivers is None:
            return True
        rows, self._expected = self._receivers.expected(reached)
        return should_notify(passes.costs, reached, edges, rows=self._share * rows,
                             pulled=self._share * self._expected, fixed=fixed, reads=reads)

    def _reads_less(self, source: Streamed, reached: int, edges: int) -> bool:
        """Return whether notify-pull reads fewer bytes than a full pass over pages on disk.

        Args:
            source: the pages.
            reached: the number of edges of changed vertices.
            edges: the number of edges of a full pass.
        """
        if self._passes.costs is None:
            return should_notify(None, reached, edges, source.random_cost)
        domain = self._stage.domain or "in"
        against, pages = source.pages(self._against), source.pages(domain)
        wanted = np.zeros(against.count, np.uint8)
        paged_frontier_kernels()["pages_of_flags"](
            self.flags, against.firsts, against.count, against.n, against.longs, len(against.longs),
            against.segment_pages, wanted)
        full = source.missing(domain, range(pages.count))
        if not full:
            return should_notify(self._passes.costs, reached, edges)
        notified = source.missing(self._against, np.flatnonzero(wanted).tolist())
        return reads_less(notified, min(reached, against.n), pages.count, full)

    def run(self, in_place: bool) -> tuple[Stats, int]:
        """Notify the receivers of changed vertices, then process them (Garaph, USENIX ATC'17, section 4.2)."""
        stage, passes, state = self._stage, self._passes, self._passes.state
        against = passes.pages_of(self._against)
        changed = self.changed
        passes.split(self.flags, 1, against, changed, self.marks)
        passes.send(stage, changed)
        edges = passes.notify(self._against, changed, self.marks)
        if self._active:
            np.bitwise_or(self.marks, state.arrays[self._active], out=self.marks)
        if not in_place:
            self.catch_up()
        passes.split(self.marks, 1, passes.pages_of(stage.domain or "in"), self.todo, self.marks)
        stats, traversed = passes.listed(stage, self.todo)
        if self._expected:
            self._share, self._expected = min(1.0, max(1, traversed) / self._expected), 0.0
        if not in_place:
            for name in stage.swaps:
                passes.per_field("exchange", name, self.todo)
        self.last = self.todo
        return stats, edges + traversed

    def catch_up(self) -> None:
        """Make both buffers of each field equal, because a pass over lists writes only the listed vertices."""
        for name in self._stage.swaps:
            if self.last is None or not self._stage.sole:
                np.copyto(self._passes.state.arrays[f"next:{name}"], self._passes.state.arrays[f"field:{name}"])
            else:
                self._passes.per_field("copy", name, self.last)
