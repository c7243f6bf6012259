"""Loops in priority order on the CPU (rule O).

One call of a kernel empties many buckets and updates values in place. The final state is the same as after a run by
supersteps. The module vlang.runtime.plan.layouts.order_words defines the layout of the arrays that workers share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.compile.objects import address_of
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.cpu_way import CpuWay, Running, on_disk, only_new
from vlang.runtime.cpu.ways.joined_words import close_words, open_words, push_spec
from vlang.runtime.cpu.ways.push import push_stage, pushed_directions
from vlang.runtime.engine.machine import Loop, Start, Stats
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.engine.trace import Done, Series
from vlang.runtime.graph.edges.shape import Counts, Shape
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.adjacency import Adjacency
from vlang.runtime.graph.topology.packed import PackedEdges, packed_edges
from vlang.runtime.plan.layouts.order_words import (
    ORDER_BOUND,
    ORDER_BUCKETS,
    ORDER_CONTROL,
    ORDER_CURSOR,
    ORDER_DESK,
    ORDER_FILLING,
    ORDER_FIXED,
    ORDER_GRANT,
    ORDER_IDLE,
    ORDER_LINKS,
    ORDER_NOW,
    ORDER_POOL,
    ORDER_REACHED,
    ORDER_RECORDED,
    ORDER_RECORDS,
    ORDER_ROUNDS,
    ORDER_RUN,
    ORDER_RUNS,
    ORDER_SCALE,
    ORDER_SHIFT,
    ORDER_SPILLED,
    ORDER_TAKEN,
    ORDER_TARGET,
    ORDER_UNSURE,
    ORDER_VERTICES,
    ORDER_WAITERS,
    ORDER_WORKERS,
)
from vlang.runtime.plan.plan import PAGE_COLUMNS, PAGE_OFFSETS, PAGE_TARGETS, LoopSpec, Plan, PrioritySpec, StageSpec
from vlang.runtime.storage.memory import empty, zeros
from vlang.types import OPPOSITE

__all__ = ["Priority", "PriorityLoop"]

_ROUNDS = 4096  # maximum number of rounds in a call; a run can be interrupted only between calls
_WIDTH = 3.0  # the width of a bucket if the mean weight and the mean degree are 1
_WIDEST = 900  # the largest exponent of a width: the width and its reciprocal stay finite when a run adapts them
_SAMPLE = 1 << 16  # weights from which the width of a bucket is chosen
_FILL_START, _FILL_WAITERS = 1, 2
_ANEW = "every bucket would read its pages anew"


class Priority(CpuWay):
    """Runs loops in which vertices push in the order of their values, best values first (rule O)."""

    name = "priority"

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """The reason why the loop cannot run in priority order; "" if it may.

        With schedule="auto", the loop runs in priority order only if edges have different weights, and no other option
        fixes how supersteps run.
        """
        if graph.streamed:
            return on_disk(graph, _ANEW)
        if options.schedule == "rounds":
            return "rounds, as asked"
        spec = _spec(loop)
        if spec is None:
            return _never(loop)
        if options.schedule == "priority" or options.target is not None:
            return ""
        if options.max_rounds is not None:
            return "max_rounds counts supersteps"
        if options.mode != "auto" or options.asynchronous or options.blocking == "always":
            return "how supersteps run was asked for"
        if not any(_vary(graph, name) for name in spec.columns):
            return "all edges weigh the same, so rounds are about in order of priority already"
        return ""

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """Yield the role of the only kernel, which runs the whole loop."""
        return frozenset({"priority"})

    def directions(self, loop: LoopSpec) -> tuple[str, ...]:
        """The adjacency directions of the edges along which vertices push."""
        return pushed_directions(loop)

    def memory(self, loop: LoopSpec, shape: Shape, threads: int) -> int:
        """The bytes of the pool of runs (blocks of bucket entries), of one bit per vertex, and of a sample of weights.

        Packed edges are not included, because they replace converted weights, and another estimate includes converted
        weights.
        """
        return runs_of(shape.n, threads) * (8 + 4 * ORDER_RUN) + shape.n // 8 + 16 * min(shape.m, _SAMPLE)

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop; returns None if supersteps are bounded, or if vertices must run without new input."""
        if bound is not None or not only_new(start):
            return None
        machine.passes.freedoms.of(loop, bound).took("O")
        start_flags = None if start is None else start.flags
        return PriorityLoop(loop.stages[0], machine.passes, start_flags, machine.options.target)

    def said(self, loop: LoopSpec) -> list[str]:
        """Lines that say whether vertices may push in priority order, and which optimisations then apply."""
        spec = _spec(loop)
        if spec is None:
            return [f"order: rounds ({_never(loop)})"]
        lines = [f"order: by priority where {' or '.join(spec.columns)} differs from edge to edge, else rounds (rule O)"
                 if spec.columns else "order: rounds, or by priority on request (all edges weigh the same)"]
        if spec.packed:
            lines.append(f"packed: an edge and its {spec.columns[0]} are one, where they fit into 32 bits")
        if spec.refined:
            lines.append("buckets: narrower or wider as the loop runs")
        return lines

    def problem(self, plan: Plan, graph: Graph, options: Options) -> str:
        """The error message if priority order is required but impossible, or if the target is unusable; otherwise "".
        """
        if graph.streamed and (options.schedule == "priority" or options.target is not None):
            return f"{plan.name} cannot run in order of priority: {on_disk(graph, _ANEW)}; rounds stream them"
        if options.schedule == "priority" and all(self.refused(loop, graph, options) for loop in plan.loops):
            why = f": {_never(plan.loops[0])}" if plan.loops else ", as it has no loop"
            return f"{plan.name} cannot run in order of priority{why}"
        why = "" if options.target is None else self._no_target(plan, graph, options)
        return f"{plan.name} cannot stop at a target: {why}; leave out the target" if why else ""

    def _no_target(self, plan: Plan, graph: Graph, options: Options) -> str:
        if len(plan.loops) != 1:
            return f"that is for programs with one loop, and it has {len(plan.loops) or 'none'}"
        (loop,) = plan.loops
        if all(step is not loop for step in plan.steps):
            return f"line {loop.line}: the loop stands in another block"
        if loop is not plan.steps[-1]:
            return f"line {loop.line}: what is computed after the loop needs the final values of all vertices"
        if loop.limit is not None:
            return f"line {loop.line}: the loop counts supersteps, and an order of priority has none"
        if loop.until is not None:
            return f"line {loop.line}: `until` decides when the loop ends"
        if self.refused(loop, graph, options):
            return f"line {loop.line}: the loop cannot run in order of priority (rule O): {_never(loop)}"
        return ""


def _spec(loop: LoopSpec) -> PrioritySpec | None:
    """The priority of vertices in the only pass of a loop; None if the loop has no priority order."""
    stage = push_stage(loop)
    return None if stage is None else stage.way("priority", PrioritySpec)


def _spec_of(stage: StageSpec) -> PrioritySpec:
    spec = stage.way("priority", PrioritySpec)
    assert spec is not None
    return spec


def _never(loop: LoopSpec) -> str:
    """The reason why a loop cannot run in priority order, whatever the options and the graph are."""
    if loop.nested:
        return "it holds other blocks"
    refused = (stage.refused["priority"] for stage in loop.stages if "priority" in stage.refused)
    return next(refused, "a superstep is more than one pass that pushes")


def _vary(graph: Counts, name: str) -> bool:
    low, high = graph.column_range(name)
    return low != high


class PriorityLoop:
    """A loop whose only pass may run in priority order; a `vlang.runtime.engine.machine.Loop`.

    In a round, all workers together empty one bucket. The loop reports rounds as supersteps. Per vertex, the loop needs
    about 17 bytes of memory for buckets, and one bit that is set while the vertex waits for space in a bucket. If edges
    are packed into words, the graph keeps 4 more bytes per edge.

    Args:
        stage: the pass.
        passes: launches the pass.
        start_flags: uint8[n], bit 0 is set for vertices that are active at the start; None activates all vertices.
        target: the dense number of the vertex whose final value ends the loop; None for no target.
    """

    def __init__(
        self, stage: StageSpec, passes: Passes, start_flags: NDArray[np.uint8] | None = None, target: int | None = None,
    ) -> None:
        assert stage.domain is not None
        spec = _spec_of(stage)
        self._stage, self._passes, self._state = stage, passes, passes.state
        self._words = push_spec(stage)
        graph, workers = passes.graph, passes.cpu.threads
        n = graph.n
        self._out = graph.adjacency(self._receivers(stage.domain), tuple(name for name, _ in stage.columns))
        self._packed = _packed(stage, graph, self._out)
        runs = runs_of(n, workers)
        self._links = empty(runs, np.int64)
        self._entries = empty(runs * ORDER_RUN, np.uint32)
        self._entries[:ORDER_RUN] = 0  # run 0 is never used, but its entries may be prefetched
        self._waiters = zeros(-(-n // 64), np.uint64)
        self._records = np.zeros((_ROUNDS, 2), np.int64)
        self._desks = np.zeros((workers, ORDER_DESK), np.int64)
        self._places = np.zeros((workers, ORDER_BUCKETS + 8), np.int64)
        self._control = np.zeros(ORDER_CONTROL, np.int64)
        self._control[ORDER_VERTICES] = n
        self._control[ORDER_TARGET] = -1 if target is None else target
        self._control[ORDER_RUNS], self._control[ORDER_FIXED] = runs, not spec.refined
        self._control[ORDER_TAKEN] = 1  # run 0 is never used
        self._fill(_FILL_START)
        if start_flags is not None:
            self._wait_for(start_flags)
        self._table = np.zeros(ORDER_WORKERS + 2 * workers, np.uint64)
        self._aim(self._out)
        self._table.view(np.float64)[[ORDER_SCALE, ORDER_BOUND]] = 1 / choose_delta(stage, self._out), np.inf
        self._kept = self._state.arrays[self._words.slot]
        self._apart = len(self._words.parts) > 1 or not self._words.slot.startswith("next:")
        if self._apart:
            open_words(self._state, self._words)
        else:  # contributions are combined in the field itself
            self._state.put(self._words.slot, self._state.arrays[f"field:{spec.field}"])
        self._last = Done(0, "priority", 0)

    def _receivers(self, domain: str) -> str:
        """The direction of the edges from senders to receivers."""
        return OPPOSITE[domain]

    def _aim(self, out: Adjacency) -> None:
        """Write the addresses of all arrays to the table that the kernel reads."""
        table = self._table
        table[PAGE_OFFSETS], table[PAGE_TARGETS] = address_of(out.offsets), address_of(out.targets)
        if self._packed is not None:
            table[PAGE_TARGETS], table[ORDER_SHIFT] = address_of(self._packed.words), self._packed.shift
        else:
            for number, (name, dtype) in enumerate(self._stage.columns):
                table[PAGE_COLUMNS + number] = address_of(out.column(name, DTYPES[dtype]))
        for word, array in ((ORDER_LINKS, self._links), (ORDER_POOL, self._entries), (ORDER_WAITERS, self._waiters),
                            (ORDER_RECORDS, self._records)):
            table[word] = address_of(array)
        for worker, (desk, places) in enumerate(zip(self._desks, self._places)):
            table[ORDER_WORKERS + 2 * worker] = address_of(desk)
            table[ORDER_WORKERS + 2 * worker + 1] = address_of(places)

    def _fill(self, who: int) -> None:
        """Let the next call first enter vertices into buckets. `who` selects the vertices (_FILL_...)."""
        self._control[ORDER_FILLING], self._control[ORDER_SPILLED], self._control[ORDER_CURSOR] = who, 0, 0
        self._control[ORDER_NOW] = ORDER_BUCKETS

    def _wait_for(self, start_flags: NDArray[np.uint8]) -> None:
        """Let the loop begin with only those vertices in buckets that have bit 0 set in their flags."""
        bits = np.packbits(start_flags & 1, bitorder="little")
        self._waiters.view(np.uint8)[: len(bits)] = bits
        self._fill(_FILL_WAITERS)
        self._control[ORDER_UNSURE] = 1

    @property
    def stats(self) -> Stats:
        """The number of active vertices: the entries of the next bucket, or 0 if the target is final."""
        if self._control[ORDER_REACHED]:
            return Stats()
        return Stats(self._last.active, self._last.active)

    def last(self) -> Done:
        """The last round."""
        return self._last

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run rounds until all buckets are empty, or until the maximum number of rounds per call is reached."""
        control, records = self._control, self._rounds(min(_ROUNDS, room or _ROUNDS))
        if records[-1, 0] == 0 and control[ORDER_SPILLED]:
            self._fill(_FILL_WAITERS)
            control[ORDER_UNSURE] = 1
            records[-1, 0] = np.count_nonzero(self._waiters)
        rows = Series("priority", records)
        self._last = rows[-1]
        return rows

    def _rounds(self, most: int) -> NDArray[np.int64]:
        """Run at most `most` rounds; returns their records (ORDER_RECORDS), int64[rounds, 2]."""
        control, passes = self._control, self._passes
        control[ORDER_ROUNDS] = most
        control[ORDER_IDLE : ORDER_IDLE + 3] = 0
        kernel = passes.kernels[self._stage.kernels["priority"]]
        passes.cpu.crew(kernel, (self._state.frame,), control, len(self._out) + passes.graph.n, (self._table,))
        control[ORDER_FILLING] = 0
        return self._records[: control[ORDER_RECORDED]]

    def sync(self) -> None:
        """Copy combined values from their words to the fields.

        Returns no frontier: the entries of buckets are not saved, so a resumed loop begins with all vertices.
        """
        if self._apart:
            close_words(self._state, self._words)

    def close(self) -> None:
        """Copy combined values from their words to the fields, or restore the second buffer of the field."""
        if self._apart:
            close_words(self._state, self._words)
        else:
            self._state.put(self._words.slot, self._kept)


def _packed(stage: StageSpec, graph: Graph, out: Adjacency) -> PackedEdges | None:
    """The edges with their weights packed into words, if the program reads a single edge column with small values."""
    spec = _spec_of(stage)
    if not spec.packed:
        return None
    (name,) = spec.columns
    return packed_edges(out, name, *graph.column_range(name))


def runs_of(n: int, workers: int) -> int:
    """The number of runs (blocks of entries) in the pool for n vertices.

    The pool has room for stale entries, because a vertex may be in several buckets. The pool also has room for the runs
    that each worker has begun.
    """
    return 4 * n // ORDER_RUN + workers * (ORDER_BUCKETS + 1 + ORDER_GRANT) + ORDER_GRANT


def choose_delta(stage: StageSpec, out: Adjacency, degree: float | None = None) -> float:
    """Choose the width of a bucket, a power of two, from the mean weight and the mean degree.

    For low degrees buckets are wide, because every bucket costs a barrier. For high degrees buckets are narrow, so that
    few edges lead back into the same bucket. The measurements are in docs/internals/performance.md.

    Args:
        stage: the pass.
        out: the edges along which vertices push. The function reads a sample of their weights.
        degree: the mean degree of the graph; None for the mean degree of `out`.
    """
    spec = _spec_of(stage)
    steps = [out.column(name)[:_SAMPLE] for name in spec.columns]
    step = _mean(steps[0], spec.log) if steps else 1.0
    degree = max(1.0, len(out) / max(1, len(out.offsets) - 1) if degree is None else degree)
    exponent = round(math.log2(step) + math.log2(_WIDTH / degree**1.5))
    return 2.0 ** min(max(exponent, -_WIDEST), _WIDEST) if steps else 1.0


def _mean(weights: NDArray[Any], log: bool) -> float:
    sound = weights[np.isfinite(weights) & (weights > 0)].astype(np.float64)
    if log:
        sound = -np.log2(sound)
    largest = float(sound.max(initial=0.0))
    mean = largest * float(np.mean(sound / largest)) if largest > 0 else 0.0  # the sum of the weights may be infinite
    return mean if mean > 0 else 1.0
