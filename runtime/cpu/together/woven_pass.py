"""Full passes of several runs in one traversal of the edges.

The values of all runs at one vertex lie side by side (`weave`), and the kernels of the skeleton `woven` reduce the
contributions of all runs with vector instructions. For each run, the same contributions are reduced in the same order
as if the run ran alone. Therefore its result has the same bits.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.paged.work import Tasks, by_page
from vlang.runtime.cpu.passes.edge_costs import Costs
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.passes.traced import traced
from vlang.runtime.cpu.together.group import Group
from vlang.runtime.cpu.together.sharing import Sharing
from vlang.runtime.engine.machine import Stats
from vlang.runtime.graph.topology.pages import Pages, vertex_tasks
from vlang.runtime.kernels import together_kernels
from vlang.runtime.plan.layouts.together_words import (
    TOGETHER_FRAMES,
    TOGETHER_NEAR,
    TOGETHER_RUNS,
    TOGETHER_SIZE,
    TOGETHER_VERTICES,
    TOGETHER_WIDTH,
    TOGETHER_WORDS,
    WIDTH,
)
from vlang.runtime.plan.plan import BLOCK, SLOT_LISTED, SLOT_STATS, StageSpec
from vlang.runtime.plan.together_spec import TogetherSpec
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.memory import empty, zeros

__all__ = ["TogetherPasses"]

_TRIED = 1 << 20  # edges of a pass from which shared passes are compared with passes by each run
_SHARE = 3.0  # the cost of an edge that a run pulls alone, divided by its share of a traversal for WIDTH runs


class TogetherPasses(Passes):
    """The passes of one run of a group."""

    def join(self, group: Group, number: int) -> None:
        """Share passes with a group from now on, as run `number` of the group."""
        self.group, self.number, self.token = group, number, object()

    @cached_property
    def costs(self) -> Costs | None:
        """The edge costs of a run that shares full passes."""
        costs = super().costs
        return None if costs is None else replace(costs, pulled=costs.pulled / _SHARE)

    def use_blocks(self, stage: StageSpec, asked: str, coming: int | None) -> None:
        """Let passes that are not shared use cache blocks; under a memory budget no blocks are used, because the runs
        need the memory.
        """
        if ledger.limit is None:
            super().use_blocks(stage, asked, coming)

    def sharing(self, stage: StageSpec) -> Sharing | None:
        """The object that compares shared passes of a stage with separate passes; None if all passes are shared."""
        pages = self.pages_of(stage.domain or "in")
        if not isinstance(pages, Pages) or pages.edges < _TRIED:
            return None
        key = "together", stage.name, hash(self.state.plan.text), self.cpu.threads
        found: Sharing = pages.adjacency.derived(key, Sharing)
        return found

    def aimed_at(self, stage: StageSpec) -> NDArray[np.uint64]:
        """A copy of the frame, with the addresses of the pages of a stage."""
        assert stage.domain is not None
        self.aim(stage, self.pages_of(stage.domain))
        return self.state.frame.copy()

    def batches(self, stage: StageSpec, *work: Tasks) -> Iterable[Sequence[Tasks]]:
        """Yield batches of the tasks of a stage whose pages are in memory (`by_page`)."""
        assert stage.domain is not None
        return by_page(self.source, stage.domain, stage.columns, self._table(stage), *work)

    @traced("full")
    def full(self, stage: StageSpec, fused: bool = False) -> tuple[Stats, int]:
        """Run a stage over all vertices. If runs may share the reductions of the stage, the group computes the
        reductions.
        """
        spec = stage.way("together", TogetherSpec)
        if spec is None or stage.domain is None or not self.group.many:
            return super().full(stage, fused)
        sharing = self.sharing(stage)
        if sharing is not None and not sharing.pays:
            result = super().full(stage, fused)
            sharing.ended(False, self.token, 1)
            self.group.alone += 1
            return result
        words = self.state.words
        words[SLOT_LISTED], words[SLOT_STATS] = 0, self.counts_at
        self._stats.fill(0)
        self.send_all(stage)
        pages = self.pages_of(stage.domain)
        size = self.graph.n + len(pages.segments)
        for slot in spec.parts:  # the accumulators of the vertices come before those of segments
            if len(self.state.arrays[slot]) != size:
                self.state.put(slot, empty(size, self.state.arrays[slot].dtype))
        if not self.group.meet(self.number, _Pass(self, stage, spec)):
            return super().full(stage, fused)
        ahead = fused and stage.fused is not None
        if ahead:
            self.ahead.aim(stage, False)
        else:
            self.ahead.clear()
        self._launch(stage.kernels["summed"], self.by_vertex, len(self.by_vertex), self.graph.n)
        if ahead:
            self.run_fused(stage, self.ahead.frame)
            self.ahead.arrived(stage, False)
        return self._counted(pages.edges)


class _Pass:
    """A full pass whose reductions a run needs; a `vlang.runtime.cpu.together.group.Meeting`."""

    def __init__(self, passes: TogetherPasses, stage: StageSpec, spec: TogetherSpec) -> None:
        self.passes, self.stage, self.spec = passes, stage, spec

    @property
    def key(self) -> Hashable:
        """The pass, and the bits of the graph-level values that its contributions read."""
        state = self.passes.state
        return (self.stage.name, *(state.words[state.plan.slots[slot]] for slot in self.spec.same))

    def share(self, group: Group, runs: Sequence[_Pass]) -> bool:
        """Compute the reductions of at most WIDTH runs at a time."""
        for first in range(0, len(runs), WIDTH):
            self._compute(group, [one.passes for one in runs[first : first + WIDTH]])
        sharing = self.passes.sharing(self.stage)
        if sharing is not None:
            sharing.ended(True, group.token, len(runs))
        return True

    def _compute(self, group: Group, runs: Sequence[TogetherPasses]) -> None:
        stage, n, count, cpu = self.stage, group.graph.n, len(runs), group.cpu
        assert stage.domain is not None
        pages, slots, frame = self.passes.pages_of(stage.domain), self.passes.state.plan.slots, \
            self.passes.aimed_at(stage)
        whole, table = vertex_tasks(n, 4 * BLOCK), np.zeros(TOGETHER_WORDS, np.uint64)
        for number, slot in enumerate(self.spec.values):
            arrays = [passes.state.arrays[slot] for passes in runs]
            addresses, bits = np.array([address_of(array) for array in arrays], np.uint64), 8 * arrays[0].dtype.itemsize
            rows = _rows(group, number, bits)
            cpu.launch(together_kernels(bits)[f"weave_u{bits}"], (addresses, count, rows), whole, len(whole), n * count)
            frame[slots[slot]] = address_of(rows)
            if number == 0:
                table[[TOGETHER_NEAR, TOGETHER_SIZE]] = address_of(rows), WIDTH * rows.itemsize
        table[[TOGETHER_WIDTH, TOGETHER_RUNS, TOGETHER_VERTICES]] = WIDTH, count, n
        table[TOGETHER_FRAMES : TOGETHER_FRAMES + count] = [passes.state.frame_address for passes in runs]
        cost, every = count * (pages.edges + n), max(1, len(pages.tasks) + len(pages.segment_tasks))

        def launch(role: str, tasks: Tasks, part: int) -> None:
            if len(tasks):
                kernel = self.passes.kernels[stage.kernels[role]]
                cpu.launch(kernel, (address_of(frame),), tasks, len(tasks), part, (table,))

        for short, long in self.passes.batches(stage, pages.tasks, pages.segment_tasks):
            launch("woven", short, cost * len(short) // every)
            launch("woven_parts", long, cost * len(long) // every)
        launch("woven_longs", vertex_tasks(len(pages.longs), 64), cost)


def _rows(group: Group, number: int, bits: int) -> NDArray[Any]:
    """Memory for the woven values, of `bits` bits each, of array number `number` that a pass reads."""
    key = "woven", number, bits
    if key not in group.scratch:
        group.scratch[key] = zeros(group.graph.n * WIDTH, np.dtype(f"u{bits // 8}"))
    rows: NDArray[Any] = group.scratch[key]
    return rows
