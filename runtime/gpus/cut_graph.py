"""Cuts a graph into one part for each GPU: the rows of consecutive vertices, with local numbers."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from vlang.runtime.cluster.local_graph import LocalGraph, assembled, pulled_kinds, read_columns, rows_of, work_of
from vlang.runtime.cluster.local_numbers import mirrors_of, number_all
from vlang.runtime.cluster.ranges import cut_ranges
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan

__all__ = ["STEP", "cut_graph"]

STEP = 32
"""Ranges begin at multiples of a warp. So a warp of `pull_segmented` has the same vertices as in the whole graph."""

_PARTS: WeakKeyDictionary[Graph, dict[Any, tuple[LocalGraph, ...]]] = WeakKeyDictionary()
"""The parts of each graph, by directions, columns, number of parts and mirrors. Parts do not refer to the graph."""


def cut_graph(plan: Plan, graph: Graph, count: int, replicated: bool = False) -> tuple[LocalGraph, ...]:
    """Cut a graph in memory into `count` parts for a plan. Each part has about the same number of edges.

    The parts are cached with the graph, for later runs that read the same directions and columns.

    Args:
        plan: the program.
        graph: the graph.
        count: the number of parts.
        replicated: whether each part mirrors all vertices of the others, and not only the neighbours of its own.

    Raises OutOfMemory and GraphError.
    """
    kinds, names = pulled_kinds(plan, graph.directed), read_columns(plan)
    known, key = _PARTS.setdefault(graph, {}), (tuple(kinds), names, count, replicated)
    if key not in known:
        known[key] = _cut(graph, kinds, names, count, replicated)
    return known[key]


def _cut(
    graph: Graph, kinds: list[str], names: tuple[str, ...], count: int, replicated: bool
) -> tuple[LocalGraph, ...]:
    ranges = cut_ranges(work_of(graph, kinds), count, STEP)
    rows = [{kind: rows_of(graph, kind, names, *ranges.of(rank)) for kind in kinds} for rank in range(count)]
    every = [np.arange(graph.n, dtype=np.uint32)] if replicated else []
    mirrors = [mirrors_of(ranges, rank, every or [some.targets for some in found.values()])
               for rank, found in enumerate(rows)]
    return tuple(assembled(graph, numbers, found) for numbers, found in zip(number_all(ranges, mirrors), rows))
