"""Brief supersteps: full passes over a small graph. One worker runs many of them in one call.

A full pass that Python controls takes 60 us in addition to the time for its vertices and edges, and a full pass inside
a call takes less than one.
"""

from __future__ import annotations

import numpy as np

from vlang.errors import InternalError
from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.passes.brief_script import BriefScript, can_be_written
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.engine.cycle import WATCHED_FROM, is_watched
from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.trace import Series
from vlang.runtime.kernels import brief_kernels
from vlang.runtime.plan.layouts.brief_words import (
    BRIEF_ACTIVE,
    BRIEF_BEFORE,
    BRIEF_CHANGED,
    BRIEF_CREW,
    BRIEF_EDGES,
    BRIEF_FRAME,
    BRIEF_INACTIVE,
    BRIEF_ITERATION,
    BRIEF_OPERATIONS,
    BRIEF_RAN,
    BRIEF_RECORDS,
    BRIEF_ROUNDS,
    BRIEF_SCRIPT,
    BRIEF_STATS,
    BRIEF_STATUS,
    BRIEF_UNCHANGED,
    BRIEF_UNTIL,
    BRIEF_WORDS,
)
from vlang.runtime.plan.plan import SLOT_LISTED, SLOT_STATS, LoopSpec
from vlang.runtime.threads.activity import listeners

__all__ = ["BriefSupersteps"]

_MOST = 1 << 15  # edges and vertices of a superstep, below which a second thread costs more time than it saves
_MOST_ALONE = 1 << 16  # the same for a run with one thread: more edges may have cache blocks, which are timed
_TOTAL = 1 << 22  # edges and vertices of a call, which cannot be interrupted
_RECORDS = 4096  # supersteps of a call


class BriefSupersteps:
    """Runs brief supersteps of a loop.

    Args:
        spec: a loop whose supersteps are full passes.
        passes: launches the passes of the loop.
    """

    def __init__(self, spec: LoopSpec, passes: Passes) -> None:
        self._spec, self._passes, self._script = spec, passes, BriefScript(spec, passes)
        self._in_row = min(_RECORDS, _TOTAL // (self._script.edges + passes.graph.n * len(spec.stages) + 1))
        slots = passes.state.plan.slots
        self._records = np.zeros((self._in_row, 2), np.int64)
        table = self._table = np.zeros(BRIEF_WORDS, np.int64)
        table[BRIEF_FRAME], table[BRIEF_STATS] = passes.state.frame_address, passes.counts_at
        table[BRIEF_SCRIPT], table[BRIEF_OPERATIONS] = address_of(self._script.rows), len(self._script.rows)
        table[BRIEF_CREW], table[BRIEF_RECORDS] = address_of(self._script.words), address_of(self._records)
        table[BRIEF_EDGES] = self._script.edges
        table[BRIEF_ITERATION] = slots["scalar:iteration"] if spec.reads_iteration else 0
        table[BRIEF_UNTIL] = 0 if spec.until is None else slots[f"scalar:{spec.until.name}"]
        counted = spec.exact and spec.limit is not None
        table[BRIEF_UNCHANGED] = (spec.until is not None or counted) and not spec.reads_iteration
        table[BRIEF_INACTIVE] = spec.until is None and not counted

    @staticmethod
    def of(spec: LoopSpec, passes: Passes, blocking: str) -> BriefSupersteps | None:
        """The object that runs brief supersteps of a loop; None if its supersteps are long, or no fixed sequence of
        launches.

        Args:
            spec: the loop.
            passes: launches its passes.
            blocking: as in Options.
        """
        most = _MOST_ALONE if passes.cpu.threads == 1 else _MOST
        costs = [passes.graph.n + (0 if stage.domain is None else passes.pages_of(stage.domain).edges)
                 for stage in spec.stages if not stage.pointer]
        short = max(costs, default=most) < most
        return BriefSupersteps(spec, passes) if short and can_be_written(spec, passes, blocking) else None

    def advance(self, before: int, room: int | None) -> tuple[Series, Stats] | None:
        """Run supersteps until the loop may end.

        Returns the records of the supersteps and the counts of the last one, or None if the next superstep must run
        alone, because listeners want its passes or because fused work has not run yet.

        Args:
            before: the number of supersteps so far.
            room: the maximum number of supersteps; None for no limit.
        """
        passes, script, table = self._passes, self._script, self._table
        if passes.ahead.ready != script.ready or listeners():
            return None
        rounds = self._in_row if room is None else min(room, self._in_row)
        if is_watched(self._spec):  # every state is compared from superstep WATCHED_FROM on
            rounds = min(rounds, max(1, WATCHED_FROM - before))
        table[BRIEF_ROUNDS], table[BRIEF_BEFORE] = rounds, before
        words = passes.state.words
        words[SLOT_LISTED], words[SLOT_STATS] = 0, passes.counts_at
        brief_kernels()["brief"](table.view(np.uint64))
        ran, changed, active, status = table[[BRIEF_RAN, BRIEF_CHANGED, BRIEF_ACTIVE, BRIEF_STATUS]].tolist()
        if status:
            raise InternalError(f"a kernel of the loop in line {self._spec.line} stopped with status {status}")
        if ran % 2:
            passes.state.exchanged(script.exchanged)
        return Series("pull", self._records[:ran]), Stats(changed, active)
