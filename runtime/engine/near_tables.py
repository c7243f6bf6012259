"""Tables for kernels that read whole neighbour lists: distinct neighbours, and sums of edge columns per neighbour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from numpy.typing import NDArray

from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.derived import OPPOSITE
from vlang.runtime.plan.plan import Plan, column_between

__all__ = ["near_tables"]


def near_tables(plan: Plan, graph: Graph) -> Iterator[tuple[str, str, int, Callable[[], NDArray[Any]]]]:
    """Yield for each table that the plan reads: its slot, stored type and length, and a function that computes it."""
    if "near:starts" not in plan.slots:
        return
    near = graph.neighbours()
    yield "near:starts", "u64", len(near.offsets), lambda: near.offsets
    yield "near:neighbours", "u32", len(near.targets), lambda: near.targets
    if "near:opposite" in plan.slots:  # the graph is undirected and simple: the lists are the rows
        yield "near:opposite", "u32", len(near.targets), lambda: graph.adjacency("in").column(OPPOSITE)
    for slot in plan.slots:
        column = column_between(slot)
        if column is not None:
            way, dtype, name = column
            yield slot, dtype, len(near.targets) + 1, partial(graph.between, way, name, DTYPES[dtype])
