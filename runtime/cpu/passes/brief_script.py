"""The script of a superstep of full passes, which machine code repeats (runtime/kernels/brief.py)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.paged.work import Tasks
from vlang.runtime.cpu.passes.blocking import never_blocks
from vlang.runtime.cpu.passes.freedoms import PLAIN
from vlang.runtime.cpu.passes.fused_work import sent_ahead
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.graph.topology.pages import Pages, vertex_tasks
from vlang.runtime.plan.layouts.brief_words import (
    BRIEF_CLEAR,
    BRIEF_COPY,
    BRIEF_COUNT,
    BRIEF_EXCHANGE,
    BRIEF_LAUNCH,
    BRIEF_PUT,
    BRIEF_ROW,
)
from vlang.runtime.plan.layouts.crew_words import CREW_COUNTER, CREW_DESKS
from vlang.runtime.plan.plan import (
    BLOCK,
    SLOT_FUSED,
    SLOT_LONGS,
    SLOT_PAGES,
    SLOT_SEGMENTS,
    LoopSpec,
    ScalarSpec,
    StageSpec,
)

__all__ = ["BriefScript", "can_be_written"]


def can_be_written(loop: LoopSpec, passes: Passes, blocking: str) -> bool:
    """Return whether full passes of a loop are a fixed sequence of launches over edges in memory, by rows.

    Args:
        loop: the loop.
        passes: launches its passes.
        blocking: as in Options.
    """
    if type(passes) is not Passes or passes.freedoms is not PLAIN or passes.state.windows is not None:
        return False  # ranks, shared passes and chaos runs do more than launch the kernels
    return not loop.nested and all(_fixed(stage, passes, blocking) for stage in loop.stages)


def _fixed(stage: StageSpec, passes: Passes, blocking: str) -> bool:
    if stage.structures or stage.pointer:
        return False
    pages = None if stage.domain is None else passes.pages_of(stage.domain)
    return pages is None or (isinstance(pages, Pages) and
                             ("blocked" not in stage.kernels or never_blocks(blocking, pages.edges)))


class BriefScript:
    """The operations of a superstep, in the order in which `Superstep` and `Passes` do the same.

    Args:
        loop: a loop for which `can_be_written` is true.
        passes: launches the passes of the loop.

    Attributes:
        ready: the kernels whose work must be fused into the pass before the superstep, and is after it
            (`Ahead.ready`).
        words: the words by which kernels are called (crew_words.py).
        exchanged: the pairs of slots that a superstep exchanges.
        edges: the edges that a superstep traverses.
    """

    def __init__(self, loop: LoopSpec, passes: Passes) -> None:
        self._passes, self._rows, self._alive = passes, list[tuple[int, ...]](), list[Tasks]()
        self.words = np.zeros(CREW_DESKS, np.int64)
        self._counter = address_of(self.words) + self.words.itemsize * CREW_COUNTER
        self.exchanged: list[tuple[str, str]] = []
        self.edges = 0
        last = loop.stages[-1].fused
        self.ready: Collection[str] = () if last is None else last.kernels
        slots, arrays = passes.state.plan.slots, passes.state.arrays
        for name in loop.starts:
            field = f"field:{name}"
            self._add(BRIEF_COPY, slots[loop.slot("start", name)], slots[field], arrays[field].nbytes)
        for step in loop.plain:
            if isinstance(step, StageSpec):
                self._pass(step)
            else:
                self._value(step)
        if loop.until is not None:
            self._value(loop.until)
        self.rows: NDArray[np.int64] = np.array(self._rows, np.uint64).view(np.int64)

    def _add(self, kind: int, *given: int) -> None:
        self._rows.append((kind, *given, *(0,) * (BRIEF_ROW - 1 - len(given))))

    def _launch(self, kernel: str, tasks: Tasks, frame: int | None = None) -> None:
        """Launch a kernel over tasks, with the frame of the state by default."""
        if len(tasks):
            self._alive.append(tasks)
            self._add(BRIEF_LAUNCH, self._passes.kernels[kernel].address, 4, frame or self._passes.state.frame_address,
                      address_of(tasks), len(tasks), self._counter)

    def _value(self, spec: ScalarSpec) -> None:
        """Compute a graph-level value."""
        passes = self._passes
        if spec.fold is not None and spec.fold.kernel not in self.ready:
            self._launch(spec.fold.kernel, passes.by_block)
        self._add(BRIEF_LAUNCH, passes.kernels["scalars"].address, 3, passes.state.frame_address, spec.index,
                  -(-passes.graph.n // BLOCK))

    def _exchange(self, pairs: list[tuple[str, str]]) -> None:
        slots = self._passes.state.plan.slots
        for one, other in pairs:
            self._add(BRIEF_EXCHANGE, slots[one], slots[other])
        self.exchanged += pairs

    def _pass(self, stage: StageSpec) -> None:
        """Run a full pass, with its fused work."""
        passes = self._passes
        self._add(BRIEF_CLEAR)
        if "messages" in stage.kernels and stage.kernels["messages"] not in self.ready:
            self._launch(stage.kernels["messages"], passes.by_vertex)
        inside = stage.fused is not None and passes.ahead.inside(stage, passes.later)
        if stage.fused is not None:
            for kind, *given in passes.ahead.operations(stage, inside):
                self._add(kind, *given)
        self._rows_of(stage)
        self._exchange([(f"edges:{name}", f"kept:{name}") for name in stage.stores])
        if stage.fused is not None and not inside:
            self._launch(stage.fused.kernel, passes.by_block, address_of(passes.ahead.frame))
        self._add(BRIEF_PUT, SLOT_FUSED, 0)
        self._exchange([*sent_ahead(stage, inside), *((f"field:{name}", f"next:{name}") for name in stage.swaps)])
        self.ready = () if stage.fused is None else stage.fused.kernels
        if stage.loop_end:
            self._add(BRIEF_COUNT)

    def _rows_of(self, stage: StageSpec) -> None:
        """Launch the kernels of a pass over all rows."""
        passes = self._passes
        if stage.domain is None:
            self._launch(stage.kernels["compute"], passes.by_vertex)
            return
        pages = passes.pages_of(stage.domain)
        assert isinstance(pages, Pages)
        for slot, address in zip((SLOT_PAGES, SLOT_SEGMENTS, SLOT_LONGS), passes.aim(stage, pages)):
            self._add(BRIEF_PUT, slot, address)
        self._launch(stage.kernels["pull"], pages.tasks)
        if len(pages.longs):
            self._launch(stage.kernels["segments"], pages.segment_tasks)
            self._launch(stage.kernels["finish"], vertex_tasks(len(pages.longs), 64))
        self.edges += pages.edges
