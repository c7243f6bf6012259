"""Loops in priority order (rule O) on several ranks.

All ranks agree on a bound of priorities: the least priority of any vertex in a bucket, plus a step. Every rank empties
    its buckets below the bound with the same kernel as a run in one process. Then the rank sends the changed values to
    the ranks that mirror the vertices. On these ranks, the mirrors enter buckets. The step grows while few edges are
    traversed between two exchanges, and shrinks while many edges are traversed. Values only improve, so the final state
    does not depend on the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.options import Options
from vlang.runtime.cluster.cluster_passes import ClusterPasses
from vlang.runtime.cluster.local_graph import RECEIVERS
from vlang.runtime.cluster.messages import Reader, Sent, joined_parts, value_part
from vlang.runtime.cluster.transports.transport import Buffer, gathered
from vlang.runtime.cpu.ways.cpu_way import Running, only_new
from vlang.runtime.cpu.ways.priority import Priority, PriorityLoop, choose_delta
from vlang.runtime.engine.machine import Loop, Start
from vlang.runtime.engine.trace import Done
from vlang.runtime.graph.edges.shape import Counts
from vlang.runtime.kernels import mirror_kernels
from vlang.runtime.plan.layouts.order_words import (
    ORDER_BOUND,
    ORDER_BUCKETS,
    ORDER_CURSOR,
    ORDER_FILLING,
    ORDER_NOW,
    ORDER_ORIGIN,
    ORDER_SCALE,
    ORDER_SPILLED,
    ORDER_UNSURE,
)
from vlang.runtime.plan.plan import LoopSpec, Plan, PrioritySpec, PushSpec, StageSpec, SweepSpec, every_step

__all__ = ["RankPriority", "combined_apart", "deals"]

_FILL_BESIDE = 3  # waiting vertices enter buckets that have entries already
_MOST_STEP = 1 << 20  # buckets between two exchanges
_FEW, _MANY = 64, 8  # a superstep has few edges below 1 / _FEW of all edges, and many above 1 / _MANY
_AGAIN = 1.5  # steps of a bound if some vertices below the last bound have improved; such a superstep alone is short
_PATIENCE = 4  # supersteps with few edges before the step doubles, as the frontier of a search grows fast at first
_ROUNDS = 4096  # rounds of a call of the kernel, which has room for so many records


class RankPriority(Priority):
    """Runs loops in which vertices push in the order of their values, on all ranks together."""

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """Return the reason why the loop cannot run in priority order; "" if it may."""
        why = super().refused(loop, graph, options)
        if why:
            return why
        apart = combined_apart(loop.stages[0])
        return "ranks exchange fields, and contributions are combined beside them" if apart else ""

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Begin the loop.

        Returns None in the same cases as `Priority.begin`, and if the loop continues a run on another graph.

        If the loop continues from a checkpoint, every vertex that has a value enters a bucket.
        """
        if bound is not None or not only_new(start) or (start is not None and not start.placed):
            return None
        machine.passes.freedoms.of(loop, bound).took("O")
        return _RankPriorityLoop(loop.stages[0], machine.passes)


def combined_apart(stage: StageSpec) -> bool:
    """Return whether a pass that pushes combines contributions in separate words instead of in its fields."""
    spec = stage.way("push", PushSpec)
    return spec is not None and (len(spec.parts) > 1 or not spec.slot.startswith("next:"))


def deals(plan: Plan) -> bool:
    """Return whether all loops may run in priority order, and no other step depends on the order of
    vertices. Then vertices are dealt to the ranks in stripes (vlang.runtime.cluster.dealt).
    """
    loops = [loop.stages for loop in plan.loops]
    return bool(loops) and all(len(stages) == 1 and _pushes(stages[0]) for stages in loops) and \
        not any(spec.fold is not None for spec in plan.values) and not any(stage.pointer for stage in plan.stages) and \
        not any(isinstance(step, SweepSpec) for step in every_step(plan.steps))


def _pushes(stage: StageSpec) -> bool:
    return "priority" in stage.ways and not combined_apart(stage)


def _last(dtype: np.dtype[Any], stage: StageSpec) -> Any:
    """Return the value with the last priority. This value is stored for entries without a vertex, whose memory has old
    values.
    """
    spec = stage.way("priority", PrioritySpec)
    assert spec is not None
    if dtype.kind == "f":
        return np.inf if spec.low else -np.inf
    limits = np.iinfo(dtype)
    return limits.max if spec.low else limits.min


class _RankPriorityLoop(PriorityLoop):
    """The loop of one rank; a `vlang.runtime.engine.machine.Loop`. The loop reports each bound as a superstep."""

    def __init__(self, stage: StageSpec, passes: ClusterPasses | Any) -> None:
        assert isinstance(passes, ClusterPasses)
        self._rank, self._numbers = passes, passes.numbers
        passes.refresh(stage)
        super().__init__(stage, passes)
        (self._field,) = (part.field for part in self._words.parts)
        self._values: NDArray[Any] = passes.state.arrays[f"field:{self._field}"]
        self._values[self._numbers.lower : self._numbers.low] = _last(self._values.dtype, stage)
        self._size = self._values.itemsize
        self._sent = [Sent.of(len(wanted), self._size) for wanted in self._numbers.wanted]
        for sent, wanted in zip(self._sent, self._numbers.wanted):
            sent.values[:] = self._values[wanted].view(np.uint8)
        self._width, self._step, self._few, self._least = 0.0, 1, 0, 0.0
        degree = passes.local.entries(stage.domain or "in") / max(1, passes.numbers.ranges.n)
        self._table.view(np.float64)[ORDER_SCALE] = 1 / choose_delta(stage, self._out, degree)
        self._mine, self._top = 0.0, -np.inf  # the least priority in buckets of this rank, and the largest bound so far
        self._begun = self._spilled = False

    def _receivers(self, domain: str) -> str:
        return f"{RECEIVERS}{domain}"

    def advance(self, room: int | None) -> Sequence[Done]:
        """Empty the buckets below the next bound, and exchange the values that have changed."""
        if not self._begun:
            self._begun = True
            self._agree(0)
        steps = self._step * (_AGAIN if self._least < self._top else 1)
        bound = max(self._least + steps * self._width, float(np.nextafter(self._least, np.inf)))
        self._table.view(np.float64)[ORDER_BOUND] = bound
        self._spilled |= bool(self._control[ORDER_SPILLED])
        self._control[ORDER_SPILLED] = 0
        # Vertices below an earlier bound have left their buckets, and must enter them again if they improve.
        self._control[ORDER_UNSURE] = self._spilled or self._mine < self._top
        self._top = max(self._top, bound)
        edges = int(self._rounds(_ROUNDS)[:, 1].sum())
        self._exchange(edges > 0)
        self._control[ORDER_FILLING], self._control[ORDER_CURSOR] = _FILL_BESIDE, 0
        self._agree(edges)
        return (self._last,)

    def _agree(self, edges: int) -> None:
        """Enter waiting vertices into buckets, and agree with all ranks on the least priority and on the next step.

        `edges` is the number of edges that this rank has traversed since the last call.
        """
        left = int(self._rounds(0)[-1, 0])
        floats = self._table.view(np.float64)
        now, scale = int(self._control[ORDER_NOW]), float(floats[ORDER_SCALE])
        self._mine = float(floats[ORDER_ORIGIN]) + now / scale if now < ORDER_BUCKETS else np.inf
        mine = np.array([self._mine, left, edges, 1 / scale])
        found = np.stack(gathered(self._rank.transport, mine, f"bound of {self._stage.name}")).view(np.float64)
        self._least = float(found[:, 0].min())
        active, total = int(found[:, 1].sum()), int(found[:, 2].sum())
        self._width = self._width or float(found[0, 3])
        self._few = self._few + 1 if total * _FEW < self._rank.local.m else 0
        if self._few > _PATIENCE:
            self._step = min(2 * self._step, _MOST_STEP)
        elif total * _MANY > self._rank.local.m:
            self._step = max(1, self._step // 2)
        self._last = Done(active, "priority", total)

    def _exchange(self, changed: bool) -> None:
        """Send the changed values of owned vertices to their mirrors; mirrors that change wait for a bucket.

        `changed` is False if this rank has traversed no edge since the last call. Then no owned vertex has changed.
        """
        transport = self._rank.transport
        buffers: list[Buffer] = [np.zeros(0, np.uint8)] * transport.size
        for rank, places in enumerate(self._numbers.wanted):
            if rank != transport.rank:
                looked = places if changed else places[:0]
                buffers[rank] = joined_parts(value_part(self._values, looked, self._size, self._sent[rank], True))
        for rank, message in enumerate(transport.exchange(buffers, f"values of {self._field}")):
            if rank == transport.rank:
                continue
            first, last = self._numbers.mirrors_of(rank)
            some = Reader(message).values([self._values[first:last]], self._size)
            places = np.arange(last - first, dtype=np.uint32) if some is None else some
            mirror_kernels()["wait"](places, len(places), first, self._waiters)

    def close(self) -> None:
        """Restore the second buffer of the field. The loop, and not the exchange, has written the mirrors."""
        super().close()
        self._rank.forget(f"field:{self._field}")
