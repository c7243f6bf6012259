"""Small runs for tools that slow a kernel down by a factor of a hundred."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tests.reference.cases import case
from tests.reference.graph import RefGraph
from tests.reference.graphs import family, to_graph
from tests.spelled import spelled
from vlang import OutOfMemory, Result, load

__all__ = ["small_runs"]

LONG = ("pagerank", "bfs", "components", "kcore", "cdlp", "mis")  # programs that also run on long adjacency lists
TIGHT = ("bfs", "sssp", "sssp_tree", "kcore_members", "kcore", "mis")  # programs that also run in the least memory


def small_runs(
    name: str, ways: Iterable[dict[str, Any]]
) -> Iterator[tuple[Callable[..., Result], dict[str, Any]]]:
    """Yield runs of a program, each as a function and its options. On a small graph, the program runs with each of the
    settings `ways`. On other graphs, it runs mostly with default settings.
    """
    graphs: list[tuple[RefGraph, list[dict[str, Any]]]] = [(_skewed(300, 2500), list(ways)), (family("messy"), [{}])]
    if name in LONG:
        graphs.append((_long(), [{}, {"page_size": 1 << 14}]))
    program = load(name)
    for graph, options in graphs:
        given = case(name, graph)
        assert given is not None
        engine = to_graph(given.graph)

        def run(_given: Any = given, _engine: Any = engine, **more: Any) -> Result:
            return program(_engine, **_given.params, **_given.fields, **spelled(**more))

        for way in options:
            if way.get("gpu_memory") != "tight":
                yield run, way
            elif name in TIGHT:
                yield run, {**way, "gpu_memory": least_memory(run, {**way, "gpu_memory": None})}


def least_memory(run: Callable[..., Result], way: dict[str, Any]) -> int:
    """Return the least device memory with which a run keeps all vertex arrays on the device (see `device_arrays`),
    in bytes, found by binary search to within half a page.
    """
    refused, taken = 0, 1 << 20
    while taken - refused > 512:
        budget = (taken + refused) // 2
        try:
            run(**{"device": "gpu", "max_rounds": 1, "device_arrays": True, **way, "gpu_memory": budget})
        except OutOfMemory:
            refused = budget
        else:
            taken = budget
    return taken


def _skewed(n: int, edges: int) -> RefGraph:
    rng = np.random.default_rng(3)
    src, dst = (n * rng.random((2, edges)) ** 2).astype(np.int64)
    return RefGraph(n, src, dst, {"weight": ((src + dst) % 9 + 1).astype(np.float32)}, True)


def _long() -> RefGraph:
    """Return a graph with two long vertices: one has 20,000 in-edges, which form several segments, and the other has
    20,000 out-edges.
    """
    rng = np.random.default_rng(4)
    ends = rng.integers(0, 300, 20_000)
    src = np.concatenate([ends, np.full(20_000, 3)])
    dst = np.concatenate([np.full(20_000, 9), ends[::-1]])
    return RefGraph(300, src, dst, {"weight": ((src + dst) % 9 + 1).astype(np.float32)}, True)
