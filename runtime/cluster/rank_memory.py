"""An estimate of the memory that a rank takes, from the degrees of a graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vlang.errors import OutOfMemory
from vlang.records import dataclass
from vlang.runtime.cluster.cluster_ways import CLUSTER_WAYS
from vlang.runtime.cluster.local_graph import cut, pulled_kinds, read_columns, row_work, work_of
from vlang.runtime.cluster.rank_priority import combined_apart, deals
from vlang.runtime.cluster.shared_edges import SharedEdges
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.build import bytes_in_flight
from vlang.runtime.plan.plan import BLOCK, LoopSpec, Plan, StageSpec, field_of
from vlang.runtime.storage.available import in_bytes, memory_option

__all__ = ["RankMemory", "check_rank_need", "rank_memory"]

_ID, _OFFSET, _DEGREE = 4, 8, 4  # bytes of a neighbour's number, of an offset, and of a degree
_POINTER = 44  # bytes of a pointer: value, place, entry, order, number, and 16 more while lists are built
_ORDER = 8  # bytes a vertex of an order of rows
_CUT = 3 * 8  # bytes a vertex while ranges are cut: work, its sums, and a temporary array of sums
_NUMBERED = 13  # bytes a vertex while neighbours get local numbers: a table, dense numbers, sums and marks
_SHARED = 1 << 16  # bytes of buffers that do not depend on the graph


@dataclass(frozen=True)
class RankMemory:
    """An upper bound, in bytes, on the memory of the rank with the largest need. Ranks usually mirror fewer vertices.

    Attributes:
        rows: the rows of the owned vertices with their columns, and the transposed edges if vertices notify or push.
        values: the arrays of the run over owned vertices and mirrors, and the values that were sent last.
        results: the values of all vertices of the graph, which every rank receives.
        table: the degrees of all vertices of the graph, the order of their rows, and the share of the edges that the
            rank has read.
        reading: the bytes needed in addition to `rows` and `table` while rows are read and numbered.
        loops: the arrays of the loop that needs most, such as buckets and lists of vertices.
        speed: copies of edges in the order in which loops read them, such as cache blocks. If a budget does not permit
            these copies, the copies are left out.
    """

    rows: int
    values: int
    results: int
    table: int
    reading: int
    loops: int
    speed: int

    @property
    def peak(self) -> int:
        """The peak of reading and of the run, without `speed`."""
        return self.rows + self.table + max(self.reading, self.values + self.results + self.loops)

    @property
    def most(self) -> int:
        """The peak of reading and of the run, with `speed`."""
        return max(self.peak, self.rows + self.table + self.values + self.results + self.loops + self.speed)

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {size / 1e6:,.1f}" for name, size in vars(self).items() if name != "speed")
        more = f", and {(self.most - self.peak) / 1e6:,.1f} MB more for speed" if self.most > self.peak else ""
        return f"a rank needs at most {self.peak / 1e6:,.1f} MB of memory ({parts}){more}"


def rank_memory(plan: Plan, graph: Graph, size: int) -> RankMemory:
    """Estimate the memory that a run of `plan` takes on each of `size` ranks, from the degrees of the graph.

    If vertices may be dealt in stripes, the estimate is the larger one of both orders, since options decide.
    """
    orders = (False, True) if deals(plan) and size > 1 and not isinstance(graph.stored, SharedEdges) else (False,)
    return max((_estimated(plan, graph, size, deal) for deal in orders), key=lambda one: one.peak)


def _estimated(plan: Plan, graph: Graph, size: int, deal: bool) -> RankMemory:
    kinds = pulled_kinds(plan, graph.directed)
    dealt, ranges = cut(work_of(graph, kinds, row_work(plan)), size, 1, deal)
    lengths = {kind: graph.row_lengths(kind) for kind in kinds}
    if dealt is not None:
        lengths = {kind: dealt.inward(array) for kind, array in lengths.items()}
    before = {kind: np.concatenate([[0], np.cumsum(array, dtype=np.int64)]) for kind, array in lengths.items()}
    column = sum(graph.columns[name].itemsize for name in read_columns(plan) if name in graph.columns)
    turned = any(stage.notify is not None or "reach" in stage.ways for stage in plan.stages)
    pushed = any("priority" in stage.ways for stage in plan.stages)
    outputs = sum(DTYPES[field.dtype].itemsize * field.width for field in plan.fields if field.output)
    degrees = len({*kinds, *(("in", "out") if "both" in kinds else ())})
    table = graph.n * (_DEGREE * degrees + (0 if graph.order is None else _ORDER))
    if isinstance(graph.stored, SharedEdges):
        table += graph.stored.listed.nbytes
    found = []
    for rank in range(size):
        first, last = ranges.of(rank)
        counts = [int(ends[last] - ends[first]) for ends in before.values()]
        edges = sum(counts)
        mirrors = min(graph.n - (last - first), edges) if size > 1 else 0
        local = last - first + mirrors + 2 * BLOCK
        rows = edges * (_ID + column) + local * _OFFSET * len(kinds)
        most = max(counts, default=0)  # entries of one direction, or of "both"
        reading = max(_CUT * graph.n - rows, (_NUMBERED + _ID * deal) * graph.n + most * _ID + mirrors * 2 * _ID, 0)
        if turned:
            turning = bytes_in_flight(local, most, column > 0) + 2 * _OFFSET * local
            extra = edges * (_ID + column * pushed) + local * _OFFSET * len(kinds)
            rows, reading = rows + extra, max(reading - extra, turning)
        sent = (last - first) * (size > 1) + mirrors
        values = local * _of_vertex(plan) + sent * _sent(plan) + _pointed(plan, graph.n, local) + _SHARED
        loops, speed = _loops(plan, Shape(local, most, graph.directed))
        found.append(RankMemory(rows, values, graph.n * ((2 + deal) * outputs + _ID), table, reading, loops, speed))
    return max(found, key=lambda one: one.peak)


def check_rank_need(plan: Plan, graph: Graph, size: int, beside: int, limit: int) -> int:
    """Compare the memory that a rank needs with its part of a budget, before anything large is read; returns this part
    in bytes.

    Args:
        plan: the plan that the ranks run.
        graph: the whole graph, of which only degrees are read.
        size: the number of ranks.
        beside: the number of ranks on this machine, which share the budget in equal parts.
        limit: the budget of this machine in bytes.

    Raises OutOfMemory, with a sufficient budget.
    """
    need, share = rank_memory(plan, graph, size), limit // beside
    if need.peak > share:
        shared = f", which {beside} ranks of this machine share," if beside > 1 else ""
        raise OutOfMemory(f"{plan.name} on {graph.name}: {need}, and its part of the budget of {in_bytes(limit)}"
                          f"{shared} is {in_bytes(share)}: give {memory_option(need.peak * beside)}, or run more ranks "
                          "on other machines")
    return share


def _loops(plan: Plan, shape: Shape) -> tuple[int, int]:
    """Return, for a part of the graph, the most bytes that a loop needs, and the most optional bytes that a loop takes
    for speed.
    """
    loops = speed = 0
    for loop in plan.loops:
        way = next(way for way in CLUSTER_WAYS if _runs(loop, way.name))
        loops = max(loops, way.memory(loop, shape, 1))
        packed = shape.m * _ID if way.name == "priority" else 0  # edges with their weights, or converted weights
        speed = max(speed, way.optional(loop, shape) + packed)
    return loops, speed


def _runs(loop: LoopSpec, way: str) -> bool:
    """Return whether a loop runs in a given execution way, if options and values permit this way."""
    if way == "connect":
        return loop.copied is not None
    if way in ("priority", "reach"):
        return len(loop.stages) == 1 and way in loop.stages[0].ways and \
            not (way == "priority" and combined_apart(loop.stages[0]))
    return True


def _pointed(plan: Plan, n: int, local: int) -> int:
    """Return the size in bytes of the lists of pointers and of the values that the largest pass along pointers reads.
    The estimate assumes that all n vertices of the graph point to vertices of one rank.
    """
    passes = [stage for stage in plan.stages if stage.pointer]
    lists = (_POINTER * n + 2 * _OFFSET * local) * len({stage.pointer for stage in passes})
    return lists + max((2 * (n + local) * _sent(plan, (stage,)) for stage in passes), default=0)


def _of_vertex(plan: Plan) -> int:
    """Return the number of bytes per local vertex in all arrays of a run."""
    fields = {field.name: DTYPES[field.dtype].itemsize * field.width for field in plan.fields}
    sizes = [fields[name] for name in map(field_of, plan.slots) if name is not None]
    sizes += [DTYPES[array.dtype].itemsize * array.width for array in plan.arrays if array.length == "vertices"]
    sizes += [_DEGREE for slot in plan.slots if slot.startswith("degree:")]
    return sum(sizes) + _ID


def _sent(plan: Plan, passes: Sequence[StageSpec] = ()) -> int:
    """Return the number of bytes that ranks exchange for a vertex, in all passes or only in `passes`."""
    fields = {f"field:{field.name}": DTYPES[field.dtype].itemsize * field.width for field in plan.fields}
    arrays = fields | {array.slot: DTYPES[array.dtype].itemsize * array.width for array in plan.arrays}
    return sum(arrays.get(slot, 0) for slot in {slot for stage in passes or plan.stages for slot in stage.near})
