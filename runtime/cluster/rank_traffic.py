"""The bytes that ranks send in a superstep, computed from a graph without a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cluster.dealt import Dealt
from vlang.runtime.cluster.local_graph import cut, dealt_rows, pulled_kinds, row_work, work_of
from vlang.runtime.cluster.local_numbers import mirrors_of
from vlang.runtime.cluster.messages import bytes_of
from vlang.runtime.cluster.ranges import Ranges
from vlang.runtime.cluster.rank_priority import deals
from vlang.runtime.cluster.shared_edges import SharedEdges
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Fold, LoopSpec, Plan, ScalarSpec, StageSpec, Step, field_of

__all__ = ["LoopTraffic", "rank_traffic"]

_HEAD = 8  # bytes of the first word of a part of a message
_COUNTS = 32  # bytes of the four counts of a pass


@dataclass(frozen=True)
class LoopTraffic:
    """The bytes that all ranks together send in a superstep of a loop.

    Attributes:
        line: the line of the loop in the program.
        mirrors: the number of copies of vertices on ranks that do not own them, over all ranks.
        values: bytes of the values of all mirrors, which a superstep of full passes sends if every value changes.
        rest: bytes that a superstep may send in any case: counts, flags, results of reductions, pads.
    """

    line: int
    mirrors: int
    values: int
    rest: int

    def __str__(self) -> str:
        return (f"a superstep of the loop in line {self.line} sends at most {self.values + self.rest:,} bytes in all: "
                f"{self.values:,} if the values of all {self.mirrors:,} mirrors change, fewer if they do not, and "
                f"at most {self.rest:,} of counts, flags and reductions")


def rank_traffic(plan: Plan, graph: Graph, size: int) -> list[LoopTraffic]:
    """Return the traffic of every loop of a plan on `size` ranks. The function reads the edges of the graph once."""
    kinds = pulled_kinds(plan, graph.directed)
    deal = deals(plan) and not isinstance(graph.stored, SharedEdges)
    dealt, ranges = cut(work_of(graph, kinds, row_work(plan)), size, 1, deal)
    counts = np.concatenate([_mirror_counts(graph, kinds, dealt, ranges, rank) for rank in range(size)])
    return [_of_loop(plan, loop, ranges, counts[counts > 0]) for loop in plan.loops]


def _mirror_counts(
    graph: Graph, kinds: Sequence[str], dealt: Dealt | None, ranges: Ranges, rank: int
) -> NDArray[np.int64]:
    """Return the number of mirrors on a rank, int64[ranks]: entry r counts the vertices that rank r owns."""
    near = [dealt_rows(graph, kind, (), dealt, *ranges.of(rank)).targets for kind in kinds]
    return np.diff(np.searchsorted(mirrors_of(ranges, rank, near), ranges.bounds))


def _of_loop(plan: Plan, loop: LoopSpec, ranges: Ranges, mirrors: NDArray[np.int64]) -> LoopTraffic:
    """Return the traffic of a loop; `mirrors` has the number of mirrors for each pair of ranks that exchange values."""
    widths = _widths(plan, "vertices")
    peers, values, rest = ranges.size - 1, 0, 0
    for stage in _passes(loop.steps):
        near = [slot for slot in stage.near if slot in widths]
        heads = _HEAD * len(near) * ranges.size * peers
        values += sum(bytes_of(count, count, widths[slot])[2] for slot in near for count in mirrors.tolist())
        rest += heads + _COUNTS * ranges.size * peers
        if stage.notify is not None:  # flags of changed vertices, at most as a bitmap
            rest += _HEAD * ranges.size * peers + sum(_HEAD * -(-count // 64) for count in mirrors.tolist())
    folds = _folds(loop)
    rest += sum(_merged(plan, fold, ranges) for fold in folds) + _padded(folds, widths, ranges)
    return LoopTraffic(loop.line, int(mirrors.sum()), values, rest)


def _merged(plan: Plan, fold: Fold, ranges: Ranges) -> int:
    """Return the number of bytes of the partial results of a reduction, which every rank sends to all others."""
    parts = _widths(plan, "blocks")
    blocks = sum(high - low for low, high in map(ranges.blocks, range(ranges.size)))
    return blocks * (ranges.size - 1) * sum(parts.get(slot, 0) for slot in fold.arrays)


def _padded(folds: Sequence[Fold], widths: dict[str, int], ranges: Ranges) -> int:
    """Return the number of bytes that the owners of pads send for the reductions that read the values of the pads."""
    read = {slot for fold in folds for slot in fold.arrays if slot in widths}
    counts = []
    for rank in range(ranges.size):
        low, high = ranges.padded(rank)
        ends = np.clip(ranges.bounds, low, high)
        counts += [count for owner, count in enumerate(np.diff(ends).tolist()) if count and owner != rank]
    return sum(_HEAD - (-count * widths[slot] // _HEAD) * _HEAD for slot in read for count in counts)


def _widths(plan: Plan, length: str) -> dict[str, int]:
    """Return the size of an entry in bytes, for each slot whose array has the length `length` ("vertices" or "blocks").
    """
    found = {array.slot: DTYPES[array.dtype].itemsize * array.width for array in plan.arrays if array.length == length}
    if length == "vertices":
        sizes = {field.name: DTYPES[field.dtype].itemsize * field.width for field in plan.fields}
        found |= {slot: sizes[name] for slot in plan.slots if (name := field_of(slot)) is not None}
    return found


def _passes(steps: Sequence[Step]) -> Iterator[StageSpec]:
    """Yield the passes of a superstep, without the passes of inner loops."""
    return (step for step in steps if isinstance(step, StageSpec))


def _folds(loop: LoopSpec) -> list[Fold]:
    """Return the reductions of a superstep."""
    scalars = [*(step for step in loop.steps if isinstance(step, ScalarSpec)), loop.until]
    return [spec.fold for spec in scalars if spec is not None and spec.fold is not None]
