"""Thin supersteps: supersteps of notify-pull over few vertices. One worker runs many thin supersteps in one call.

A superstep of notify-pull that Python controls takes 0.2 ms or more: it scans the flags of all vertices, and each of
its steps is a launch. A superstep inside a call takes one microsecond in addition to the time for its vertices and
edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vlang.errors import InternalError
from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.passes.lists import Lists
from vlang.runtime.cpu.passes.mode import notify_costs, reads_of
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.skipping import Skipping
from vlang.runtime.engine.cycle import WATCHED_FROM, is_watched
from vlang.runtime.engine.machine import Stats
from vlang.runtime.engine.state import whole_words
from vlang.runtime.engine.trace import Series
from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.kernels import thin_kernels
from vlang.runtime.plan.layouts.crew_words import CREW_DESKS
from vlang.runtime.plan.layouts.thin_words import (
    THIN_ACTIVE,
    THIN_CHANGED,
    THIN_CONTROL,
    THIN_CREW,
    THIN_ENTRIES,
    THIN_FIRSTS,
    THIN_FLAGS,
    THIN_FRAME,
    THIN_FULL,
    THIN_MARKS,
    THIN_MOST,
    THIN_NOTIFIED,
    THIN_OFFSETS,
    THIN_PAGES,
    THIN_PULL,
    THIN_PULLED,
    THIN_QUEUE,
    THIN_RAN,
    THIN_RECORDS,
    THIN_ROUNDS,
    THIN_ROW,
    THIN_ROWS,
    THIN_SEND,
    THIN_STATUS,
    THIN_SWAPPED,
    THIN_SWAPS,
    THIN_TARGETS,
    THIN_TASKS,
    THIN_TODO,
    THIN_TOTAL,
    THIN_WORDS,
)
from vlang.runtime.plan.plan import LoopSpec, StageSpec
from vlang.runtime.threads.activity import timed

__all__ = ["ThinSupersteps", "thin_stage"]

_MOST = 1 << 15  # edges and vertices of a superstep, below which a second thread costs more time than it saves
_TOTAL = 1 << 22  # edges and vertices of a call, which cannot be interrupted
_RECORDS = 4096  # supersteps of a call
_ROUND = 20_000.0  # nanoseconds that a full pass takes on a graph without edges
_WAIT = 64  # the maximum number of supersteps without an attempt


def thin_stage(spec: LoopSpec) -> StageSpec | None:
    """The only step of a loop if thin supersteps can run it, that is, a pass that may skip vertices; otherwise None.

    The result is None for a loop with `until`, because only Python code detects its last superstep. The result is also
    None for a pass with structures, which needs scratch memory of the workers.
    """
    stage = spec.steps[0] if len(spec.steps) == 1 else None
    if not isinstance(stage, StageSpec) or stage.notify is None or stage.domain is None or not stage.loop_end:
        return None
    own = spec.explicit or spec.until is not None or spec.starts or spec.reads_iteration
    return None if own or stage.structures or stage.pointer or "pull" not in stage.kernels else stage


class ThinSupersteps:
    """Runs thin supersteps of a loop.

    Args:
        spec: the loop.
        stage: the only pass of the loop (see `thin_stage`).
        passes: launches the pass.
        skipping: the pass over notified vertices.
        always: whether an option requires notify-pull, so that costs are not compared.
    """

    def __init__(self, spec: LoopSpec, stage: StageSpec, passes: Passes, skipping: Skipping, always: bool) -> None:
        self._spec, self._stage, self._passes, self._skipping = spec, stage, passes, skipping
        assert stage.domain is not None
        assert stage.notify is not None
        domain, against = passes.pages_of(stage.domain), passes.pages_of(stage.notify)
        self._pages = (domain, against) if isinstance(domain, Pages) and isinstance(against, Pages) else None
        if passes.costs is None and not always:
            self._pages = None  # the published rule decides by the notification alone
        self._always, self._wait, self._idle = always, 0, 0

    def advance(self, active: int | None, before: int, room: int | None) -> tuple[Series, Stats] | None:
        """Run supersteps.

        Returns the records of the supersteps and the counts of the last superstep, or None if the next superstep is not
        thin.

        Args:
            active: the number of active vertices; None if unknown.
            before: the number of supersteps so far.
            room: the maximum number of supersteps; None for no limit.
        """
        if self._pages is None or (active is not None and active > _MOST):
            return None
        if self._wait > 0:
            self._wait -= 1
            return None
        rounds = _RECORDS if room is None else min(room, _RECORDS)
        if is_watched(self._spec):  # every state is compared from superstep WATCHED_FROM on
            rounds = min(rounds, max(1, WATCHED_FROM - before))
        with timed("pass", self._stage.name, mode="listed", over=self._stage.domain) as about:
            records, stats = self._run(*self._pages, rounds)
            about["edges"] = int(records[:, 1].sum())
        self._idle = 0 if len(records) else min(_WAIT, 2 * self._idle + 1)
        self._wait = self._idle
        return (Series("notify-pull", records), stats) if len(records) else None

    def _run(self, domain: Pages, against: Pages, rounds: int) -> tuple[NDArray[np.int64], Stats]:
        """Run up to `rounds` supersteps.

        Returns, for each superstep, the numbers of active vertices and of edges, int64[k, 2]; and the counts of the
        last superstep.
        """
        passes, stage, skipping = self._passes, self._stage, self._skipping
        kernels = passes.kernels
        skipping.catch_up()
        frame, records, control = passes.aimed(stage), np.zeros((rounds, 2), np.int64), np.zeros(THIN_CONTROL, np.int64)
        tasks = np.zeros((1 if domain.count == 1 else _MOST, 3), np.int64)
        words = np.zeros(CREW_DESKS, np.int64)
        swaps = self._swaps()
        table = np.zeros(THIN_WORDS, np.uint64)
        for word, array in (
            (THIN_OFFSETS, against.adjacency.offsets), (THIN_TARGETS, against.adjacency.targets),
            (THIN_ROWS, domain.adjacency.offsets), (THIN_FIRSTS, domain.firsts), (THIN_FRAME, frame),
            (THIN_QUEUE, skipping.changed.short), (THIN_TODO, skipping.todo.short), (THIN_FLAGS, skipping.flags),
            (THIN_MARKS, skipping.marks), (THIN_TASKS, tasks), (THIN_CREW, words), (THIN_SWAPS, swaps),
            (THIN_RECORDS, records),
        ):
            table[word] = address_of(array)
        table[THIN_PAGES], table[THIN_SWAPPED] = domain.count, len(stage.swaps)
        table[THIN_PULL] = kernels[stage.kernels.get("listed", stage.kernels["pull"])].address
        table[THIN_SEND] = kernels[stage.kernels["messages"]].address if "messages" in stage.kernels else 0
        control[THIN_ENTRIES] = self._queued()
        control[THIN_ROUNDS], control[THIN_MOST], control[THIN_TOTAL] = rounds, _MOST, _TOTAL
        control[THIN_FULL] = np.iinfo(np.int64).max
        if not self._always:
            notified, row, pulled, full = notify_costs(passes.costs, domain.edges, reads_of(stage))
            control[[THIN_NOTIFIED, THIN_ROW, THIN_PULLED]] = [int(1000 * cost) for cost in (notified, row, pulled)]
            control[THIN_FULL] = int(1000 * (full / passes.cpu.threads + _ROUND))
        thin_kernels()["thin"](table, control)
        if control[THIN_STATUS]:
            raise InternalError(f"a kernel of pass {stage.name} stopped with status {control[THIN_STATUS]}")
        skipping.last = Lists(*(np.zeros(0, np.uint32),) * 3)  # both buffers of each field are equal
        return records[: control[THIN_RAN]], Stats(int(control[THIN_CHANGED]), int(control[THIN_ACTIVE]))

    def _swaps(self) -> NDArray[np.uint64]:
        """A table with a row for each field with two buffers: the addresses of the buffers, and the bytes per vertex.
        The table has at least one row.
        """
        arrays, n = self._passes.state.arrays, max(1, self._passes.graph.n)
        swaps = np.zeros((max(1, len(self._stage.swaps)), 3), np.uint64)
        for row, name in zip(swaps, self._stage.swaps):
            now, new = arrays[f"field:{name}"], arrays[f"next:{name}"]
            row[:] = address_of(now), address_of(new), now.nbytes // n
        return swaps

    def _queued(self) -> int:
        """Write the vertices with flags to the queue; returns their number."""
        words = whole_words(self._skipping.flags)
        return int(thin_kernels()["queued_flags"](words, len(words), self._skipping.changed.short))
