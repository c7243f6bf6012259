"""An estimate of the memory that a rank takes, from the degrees of a graph."""

from __future__ import annotations

import numpy as np

from vlang.records import dataclass
from vlang.runtime.cluster.local_graph import pulled_kinds, read_columns, row_work, work_of
from vlang.runtime.cluster.ranges import cut_ranges
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import BLOCK, Plan, field_of

__all__ = ["RankMemory", "rank_memory"]

_ID, _OFFSET, _DEGREE = 4, 8, 4  # bytes of a neighbour's number, of an offset, and of a degree


@dataclass(frozen=True)
class RankMemory:
    """An upper bound, in bytes, on the memory of the rank with the largest need. Ranks usually mirror fewer vertices.

    Attributes:
        rows: the rows of the owned vertices with their columns, and the transposed edges if vertices notify or push.
        values: the arrays of the run over owned vertices and mirrors, and the values that were sent last.
        results: the values of all vertices of the graph, which every rank receives.
    """

    rows: int
    values: int
    results: int

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {size / 1e6:,.1f}" for name, size in vars(self).items())
        return f"a rank needs at most {sum(vars(self).values()) / 1e6:,.1f} MB of memory ({parts})"


def rank_memory(plan: Plan, graph: Graph, size: int) -> RankMemory:
    """Estimate the memory that a run of `plan` takes on each of `size` ranks, from the degrees of the graph."""
    kinds = pulled_kinds(plan, graph.directed)
    ranges = cut_ranges(work_of(graph, kinds, row_work(plan)), size)
    before = {kind: np.concatenate([[0], np.cumsum(graph.row_lengths(kind), dtype=np.int64)]) for kind in kinds}
    column = sum(graph.columns[name].itemsize for name in read_columns(plan) if name in graph.columns)
    turned = any(stage.notify is not None or "reach" in stage.ways for stage in plan.stages)
    pushed = any("priority" in stage.ways for stage in plan.stages)
    outputs = sum(DTYPES[field.dtype].itemsize * field.width for field in plan.fields if field.output)
    found = []
    for rank in range(size):
        first, last = ranges.of(rank)
        edges = sum(int(ends[last] - ends[first]) for ends in before.values())
        mirrors = min(graph.n - (last - first), edges) if size > 1 else 0
        local = last - first + mirrors + 2 * BLOCK
        rows = edges * (_ID + column) + local * _OFFSET * len(kinds)
        if turned:
            rows += edges * (_ID + column * pushed) + local * _OFFSET * len(kinds)
        sent = (last - first) * (size > 1) + mirrors
        found.append(RankMemory(rows, local * _of_vertex(plan) + sent * _sent(plan), graph.n * (2 * outputs + _ID)))
    return max(found, key=lambda one: one.rows + one.values)


def _of_vertex(plan: Plan) -> int:
    """The bytes of all arrays of a run for each local vertex."""
    fields = {field.name: DTYPES[field.dtype].itemsize * field.width for field in plan.fields}
    sizes = [fields[name] for name in map(field_of, plan.slots) if name is not None]
    sizes += [DTYPES[array.dtype].itemsize * array.width for array in plan.arrays if array.length == "vertices"]
    sizes += [_DEGREE for slot in plan.slots if slot.startswith("degree:")]
    return sum(sizes) + _ID


def _sent(plan: Plan) -> int:
    """The bytes of the values that ranks exchange for a vertex, in all passes."""
    fields = {f"field:{field.name}": DTYPES[field.dtype].itemsize * field.width for field in plan.fields}
    arrays = fields | {array.slot: DTYPES[array.dtype].itemsize * array.width for array in plan.arrays}
    return sum(arrays.get(slot, 0) for slot in {slot for stage in plan.stages for slot in stage.near})
