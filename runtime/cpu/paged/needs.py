"""The memory that a run on the CPU needs, from the plan and the header of a page file: no page is read for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.topology.adjacency import COMMON, KINDS
from vlang.runtime.graph.topology.stored import StoredEdges
from vlang.runtime.plan.plan import BLOCK, Plan, field_of

__all__ = ["Needs", "kinds_of", "needs_of"]


@dataclass(frozen=True)
class Needs:
    """Bytes that a run needs.

    Attributes:
        state: the values of vertices, in every case.
        edges: adjacency lists in memory, with what is derived from them.
        page: the largest page.
        streamed: pages of the adjacency directions that the program reads, all together.
    """

    state: int
    edges: int
    page: int
    streamed: int


def kinds_of(plan: Plan, directed: bool) -> list[str]:
    """The adjacency directions that the passes of a plan read, or notify along."""
    kinds = {kind for stage in plan.stages for kind in (stage.domain, stage.notify) if kind is not None}
    return [kind for kind in KINDS if kind in kinds] if directed else ["in"] * bool(kinds)


def needs_of(plan: Plan, stored: StoredEdges) -> Needs:
    """What a run of a plan on a graph needs."""
    kinds = kinds_of(plan, stored.directed)
    pages = [stored.nbytes(kind, page) for kind in kinds for page in range(stored.cuts(kind).count)]
    return Needs(_state(plan, stored, kinds), _edges(plan, stored, kinds), max(pages, default=0), sum(pages))


def _state(plan: Plan, stored: StoredEdges, kinds: Collection[str]) -> int:
    n = stored.n
    fields = {field.name: DTYPES[field.dtype].itemsize * field.width for field in plan.fields}
    lengths = {"vertices": n, "blocks": -(-n // BLOCK), "pushed": n, "later": n}
    total = sum(n * fields[name] for slot in plan.slots if (name := field_of(slot)) is not None)
    for array in plan.arrays:
        length = lengths.get(array.length, 0)
        if array.length.startswith("segments:"):
            length = len(stored.cuts(array.length.partition(":")[2]).segments)
        total += length * array.width * DTYPES[array.dtype].itemsize
    skipping = any(stage.notify is not None for stage in plan.stages)
    return total + 4 * n * (1 + len(kinds)) + (9 * n if skipping else 0)  # ids, degrees; lists and marks


def _edges(plan: Plan, stored: StoredEdges, kinds: Collection[str]) -> int:
    """Adjacency lists with offsets, the offsets of pages, and the columns that the program reads."""
    names = {name for stage in plan.stages for name, _ in stage.columns}
    columns = sum(column.dtype.itemsize for name, column in stored.columns.items() if name in names)
    total = 0
    for kind in {*kinds, *(("in", "out") if "both" in kinds and stored.directed else ())}:
        entries = stored.m * (2 if kind == "both" and stored.directed else 1)
        total += 12 * stored.n + (4 + columns) * entries
    if COMMON in names:  # neighbours without loops and repetitions, and a count for each entry
        total += 8 * stored.n + 12 * stored.m * (1 + stored.directed)
    return total
