"""The placement of the edges of a run on a GPU: in host memory if the edges fit into the memory budget, otherwise on
disk.

If the edges stay in their page file on disk, host memory holds a ring of page-locked buffers, the degrees that the
program reads, and the results. Host memory also holds the row offsets of each direction, from which the tables on the
device are computed. Device memory holds the state, the tables and some pages.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace

from vlang.errors import OutOfMemory
from vlang.options import Options
from vlang.runtime.cpu.placement import Placement
from vlang.runtime.engine.checkpoint import largest_slots
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.gpu.device.staging import staging_bytes
from vlang.runtime.gpu.ways.ways import WAYS, candidates
from vlang.runtime.graph.edges.columns import converts
from vlang.runtime.graph.graph import Graph
from vlang.runtime.graph.topology.build import bytes_in_flight
from vlang.runtime.plan.plan import Plan
from vlang.runtime.storage.available import default_budget, in_bytes, memory_option
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.memory import PAGE
from vlang.runtime.storage.reading.ring import LEAST_BUFFERS

__all__ = ["place_on_gpu", "read_kinds"]

_PLENTY = 1 << 62  # bytes: the budget if the system does not report free memory
_SPARE = 64 << 10  # bytes of the small arrays of a run
_MADE = 9  # bytes per vertex, while the offsets and tables of a direction are computed
_MERGED = 18  # bytes per vertex, while the offsets and tables of both directions together are computed
_WHOLE = 26  # bytes per vertex, while the size of the scratch memory for whole rows is computed


def place_on_gpu(plan: Plan, graph: Graph, options: Options, pushed: Sequence[str]) -> Placement:
    """Choose the placement of the edges of a run on a GPU. Only the header and directories of the page file are read.

    Args:
        plan: the program, for a GPU.
        graph: a graph on disk.
        options: the options of the run. Without the option `memory`, and without another memory budget, the budget is
            80 % of the free host memory.
        pushed: the adjacency directions that a run reads whose loops push in windows.

    Raises:
        OutOfMemory: the budget is too small even for streaming. The message says how much memory is needed.
    """
    stored = graph.stored
    assert stored is not None
    limit = min((limit for limit in (options.memory, ledger.limit) if limit is not None), default=None)
    limit = limit or default_budget() or _PLENTY
    n, kinds = graph.n, read_kinds(plan, graph, options)
    saved = _saved(plan, n) if options.checkpoint is not None else 0
    sizes = [0, *(stored.nbytes(kind, page) for kind in kinds for page in range(stored.cuts(kind).count))]
    largest, held = max(sizes), graph.shape()
    kept, results = _kept(plan, graph), _results(plan, graph)
    staged = staging_bytes(limit)
    whole = held.ids + kept + staged + _in_memory(plan, graph, kinds) + max(results, largest) + saved
    free = _free(limit, graph)
    if whole <= free:
        return Placement(False, 0, largest, limit, whole, f"edges in memory: {in_bytes(whole)} are needed")
    ids = held.ids

    def needs(kinds: Sequence[str]) -> tuple[int, int]:
        """Return the number of bytes for vertices and the least budget, both with the tables of some directions."""
        spare = max((stored.spare(kind) for kind in kinds), default=0)
        state = ids + len(kinds) * 8 * (n + 1) + kept + results + spare + staged + _SPARE + saved
        made = (_WHOLE if any(stage.structures for stage in plan.stages) else _MERGED if "both" in kinds else _MADE) * n
        return state, max(state + LEAST_BUFFERS * largest, state - results + made)

    state, least = needs(kinds)
    asked = f"{plan.name} on {stored.name} needs {in_bytes(whole)} of memory with its edges, "
    graph.unload()
    if _free(limit, graph) < limit:
        gc.collect()  # adjacencies refer to each other, and would otherwise be freed late
    if _free(limit, graph) < least:
        graph.order_to_file()
    free, full, pushes = _free(limit, graph), False, False
    if free < least and options.mode == "auto":
        pulled = read_kinds(plan, graph, replace(options, mode="pull"))
        full = set(pulled) < set(kinds)
        pushes = set(pushed) < set(kinds) and needs(pushed)[1] <= free
        state, least = needs(pushed if pushes else pulled) if full or pushes else (state, least)
    if free < least:
        others = limit - free
        taken = f", of which other arrays take {in_bytes(others)}" if others else ""
        for _ in range(4):  # repeated, because a larger budget also makes the upload buffers larger
            least, staged = least - staged + staging_bytes(least + others), staging_bytes(least + others)
        vertices = in_bytes(least - LEAST_BUFFERS * largest)
        raise OutOfMemory(f"{asked}{in_bytes(least)} to stream them to a GPU ({vertices} for vertices), and the budget "
                          f"is {in_bytes(limit)}{taken}: give {memory_option(min(least, whole) + others)}")
    pages = min(free - state, sum(sizes) + LEAST_BUFFERS * largest)
    text = (f"edges streamed from {stored.name} to the GPU: {in_bytes(whole)} would be needed in memory, and the "
            f"budget is {in_bytes(limit)}; {in_bytes(pages)} for pages in page-locked memory")
    how = "searches push in windows of the vertices" if pushes else "all loops run by full passes" if full else ""
    text += f"; {how}, because the tables of more edges do not fit" if how else ""
    return Placement(True, pages, largest, limit, whole, text + (f"; {stored.note}" if stored.note else ""),
                     full=full, pushes=pushes)


def read_kinds(plan: Plan, graph: Graph, options: Options) -> list[str]:
    """Return the stored adjacency directions that a plan may read."""
    kinds = {stage.side for stage in plan.stages if stage.side is not None}
    for loop in plan.loops:
        for way in candidates(WAYS, loop, graph, options):
            kinds |= {kind for kind, _, _ in way.uses(loop)}
    return sorted(kinds if graph.directed or not kinds else {"in"})


def _kept(plan: Plan, graph: Graph) -> int:
    """Return the size in bytes of the degree arrays that a program reads and that stay in memory with the graph."""
    kinds = {slot.partition(":")[2] for slot in plan.slots if slot.startswith("degree:")}
    each = {"in", "out"} | kinds if "all" in kinds and graph.directed else kinds
    return 4 * graph.n * (len(each) if graph.directed else min(1, len(each)))


def _results(plan: Plan, graph: Graph) -> int:
    """Return the bytes of host memory for the results, for a copy of the results in the order of the ids, and for a
    temporary field.
    """
    outputs = sum(DTYPES[spec.dtype].itemsize * spec.width for spec in plan.fields if spec.output)
    return graph.n * (outputs * (1 if graph.order is None else 2) + 8)


def _saved(plan: Plan, n: int) -> int:
    """Return the size in bytes of the copy of the state from which a checkpoint is written."""
    fields = {spec.name: DTYPES[spec.dtype].itemsize * spec.width for spec in plan.fields}
    arrays = {spec.slot: DTYPES[spec.dtype].itemsize * spec.width for spec in plan.arrays}
    sizes = [n * (arrays[slot] if slot in arrays else fields[slot.partition(":")[2]]) for slot in largest_slots(plan)]
    return sum(sizes) + sum(sizes) // 16 + PAGE * (len(sizes) + 2)


def _in_memory(plan: Plan, graph: Graph, kinds: list[str]) -> int:
    """Return the size in bytes of adjacencies in host memory and of temporary arrays while the last adjacency is built.
    """
    shape, n = graph.shape(), graph.n
    columns = {column for stage in plan.stages for column in stage.columns}
    cast = sum(DTYPES[dtype].itemsize for name, dtype in columns
               if name in shape.columns and converts(shape.columns[name], DTYPES[dtype]))
    there = {"in", *kinds, *(("out",) if "both" in kinds else ())}
    lists = sum(shape.entries(kind) * (4 + shape.width) + 8 * (n + 1) for kind in there)
    lists += sum(shape.entries(kind) * cast for kind in kinds)
    return lists + (bytes_in_flight(n, graph.m, bool(shape.width)) if len(there) > 1 else 0)


def _free(limit: int, graph: Graph) -> int:
    """Return how many bytes of a budget are free or already used by the graph."""
    held = graph.in_memory.shape().held
    return limit if ledger.left is None else min(limit, ledger.left + held)
