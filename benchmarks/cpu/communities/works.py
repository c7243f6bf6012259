"""The workloads. A workload consists of a call of vlang and a call of the library that vlang is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import minimum_spanning_tree

from vlang import Graph, Program, Result, compile, load

__all__ = ["WORKS", "Contest", "Timed"]

Timed = tuple[float, Any]
ROUNDS = 6  # rounds of label propagation
SWEEPS = 5  # supersteps of a gather
WIDTH = 32  # features of a layer


@dataclass(frozen=True)
class Contest:
    """The two sides of a work.

    Attributes:
        name: the name of the work.
        against: the name of the other side.
        target: the largest ratio that meets the target, or None.
        ours: returns milliseconds and the result.
        other: takes the module of the peer, prepares, and returns a function like `ours`.
        same: compares both results; returns a note for the table. Raises AssertionError if the results differ.
        peer: the package that the other side needs; "" if it needs none.
    """

    name: str
    against: str
    target: float | None
    ours: Callable[[], Timed]
    other: Callable[[Any], Callable[[], Timed]]
    same: Callable[[Any, Any], str]
    peer: str = ""


def timed(call: Callable[[], Any]) -> Timed:
    """Return the milliseconds of a call, and its result."""
    begin = time.perf_counter()
    result = call()
    return 1e3 * (time.perf_counter() - begin), result


def superstep(program: Program, graph: Graph, threads: int, **fields: Any) -> Timed:
    """Return the median milliseconds of a superstep, and the result."""
    result: Result = program(graph, threads=threads, **fields)
    return 1e3 * median(row.seconds for row in result.history), result


GATHER = """program {name}
edge   weight: float  = 1
vertex x:      float  = 1
vertex c:      vertex
vertex y:      float  = 0
repeat {sweeps} times:
    gather y = {gather}
    apply  x = x + 0.0001
"""
GROUPED = GATHER.format(name="grouped", sweeps=SWEEPS,
                        gather="max(sum(weight * u.x for u) for u -- self by k = u.c)").replace("gather y", "gather b")
GROUPED = GROUPED.replace("    apply  x", "    apply  y = b\n    apply  x")
SUMMED = GATHER.format(name="summed", sweeps=SWEEPS, gather="sum(weight * u.x for u -- self)")
SUMMED = SUMMED.replace("gather y", "gather b").replace("    apply  x", "    apply  y = b\n    apply  x")


def grouped(graph: Graph, threads: int) -> Iterator[Contest]:
    """Compare a grouped gather with a sum over the same edges, for several numbers of labels."""
    rng, n = np.random.default_rng(1), graph.n
    by_group, plain = compile(GROUPED), compile(SUMMED)
    found = load("weighted_cdlp")(graph, iterations=3, threads=threads)["label"]
    labels = {"one label": np.zeros(n, np.int64), "labels of 3 rounds": np.asarray(found, np.int64),
              "1000 labels": rng.integers(0, min(n, 1000), n), "a label each": np.arange(n)}
    for name, chosen in labels.items():
        ours = partial(superstep, by_group, graph, threads, c=chosen)
        other = partial(superstep, plain, graph, threads, c=chosen)
        yield Contest(f"grouped gather, {name}", "a sum", 2.0, ours, partial(_known, other), _no_larger)


def _known(call: Callable[[], Timed], module: Any) -> Callable[[], Timed]:
    """Return `call` as the other side of a work that needs no other package."""
    return call


def _no_larger(ours: Result, other: Result) -> str:
    """Check that the largest sum of a group is at most the sum of its row, since weights are positive."""
    assert (np.asarray(ours["y"])[graph_rows(ours)] <= np.asarray(other["y"])[graph_rows(ours)] * 1.001).all()
    return ""


def graph_rows(result: Result) -> NDArray[np.bool_]:
    """Return which vertices have edges."""
    return np.asarray(result["y"]) > -np.inf


def propagation(graph: Graph, threads: int) -> Iterator[Contest]:
    """Compare rounds of label propagation with weights. The rounds of networkit update in place and visit active
    vertices.
    """
    program = load("weighted_cdlp")

    def networkit(module: Any) -> Callable[[], Timed]:
        peer = networkit_graph(module, graph, threads)

        def call() -> Timed:
            took, found = timed(lambda: module.community.PLP(peer, 0, ROUNDS).run())
            return took / found.numberOfIterations(), found.getPartition().numberOfSubsets()

        return call

    def igraph(module: Any) -> Callable[[], Timed]:
        edges = graph.edges()
        peer = module.Graph(graph.n, np.column_stack([edges.src, edges.dst]).astype(np.int64))
        weights = np.asarray(edges.columns["weight"], np.float64).tolist()
        return lambda: timed(lambda: len(peer.community_label_propagation(weights=weights)))

    def rounds(count: int) -> Timed:
        took, found = timed(lambda: program(graph, iterations=count, threads=threads))
        return took / count, len(np.unique(np.asarray(found["label"])))

    def whole() -> Timed:
        took, found = rounds(ROUNDS)
        return took * ROUNDS, found

    def same(ours: int, other: int) -> str:
        return f"{ours:,} and {other:,} communities"

    yield Contest(f"label propagation, 1 of {ROUNDS} rounds", "networkit PLP", 1.0, partial(rounds, ROUNDS), networkit,
                  same, "networkit")
    yield Contest(f"label propagation, {ROUNDS} rounds", "igraph, whole call", 1.0, whole, igraph, same, "igraph")


def louvain(graph: Graph, threads: int) -> Iterator[Contest]:
    """Compare one level of Louvain."""
    program = load("louvain")

    def networkit(module: Any) -> Callable[[], Timed]:
        peer = networkit_graph(module, graph, threads)

        def call() -> Timed:
            took, found = timed(lambda: module.community.PLM(peer, refine=False, recurse=False).run())
            return took, module.community.Modularity().getQuality(found.getPartition(), peer)

        return call

    def ours() -> Timed:
        took, found = timed(lambda: program(graph, threads=threads))
        return took, float(found["modularity"])

    yield Contest("louvain, one level", "networkit PLM", 1.0, ours, networkit,
                  lambda a, b: f"modularity {a:.4f} and {b:.4f}", "networkit")


def boruvka(graph: Graph, threads: int) -> Iterator[Contest]:
    """Compare minimum spanning forests."""
    program = load("boruvka")

    def ours() -> Timed:
        took, found = timed(lambda: program(graph, threads=threads))
        return took, float(np.asarray(found["cost"], np.float64).sum())

    def scipy(module: Any) -> Callable[[], Timed]:
        edges = graph.edges()
        matrix = csr_matrix((np.asarray(edges.columns["weight"], np.float64), (edges.src, edges.dst)),
                            shape=(graph.n, graph.n))

        def call() -> Timed:
            took, found = timed(lambda: minimum_spanning_tree(matrix))
            return took, float(found.sum())

        return call

    def networkit(module: Any) -> Callable[[], Timed]:
        peer = networkit_graph(module, graph, threads)

        def call() -> Timed:
            took, found = timed(lambda: module.graph.KruskalMSF(peer).run())
            return took, float(found.getTotalWeight())

        return call

    def same(ours: float, other: float) -> str:
        assert abs(ours - other) <= 1e-6 * other, f"{ours} and {other}"
        return ""

    yield Contest("boruvka", "scipy", 1.0, ours, scipy, same)
    yield Contest("boruvka", "networkit KruskalMSF", 1.0, ours, networkit, same, "networkit")


def convolution(graph: Graph, threads: int) -> Iterator[Contest]:
    """Compare a graph convolution layer of 32 features with SciPy, whose matrix products run on one thread."""
    program, n, rng = load("gcn"), graph.n, np.random.default_rng(1)
    weights = rng.standard_normal((WIDTH, WIDTH)).astype(np.float32)
    x = rng.standard_normal((n, WIDTH)).astype(np.float32)
    rows = graph.adjacency("in")
    matrix = csr_matrix((np.ones(len(rows), np.float32), rows.targets.view(np.int32), rows.offsets.view(np.int64)),
                        shape=(n, n))
    scale = (1 / np.sqrt(1 + np.diff(matrix.indptr))).astype(np.float32)[:, None]

    def layer() -> NDArray[np.float32]:
        near = x * scale
        return np.asarray(np.maximum(((matrix @ near + near) * scale) @ weights.T, 0), np.float32)

    def ours(count: int) -> Timed:
        took, found = timed(lambda: program(graph, k=WIDTH, l=WIDTH, W=weights, x=x, threads=count))
        return took, np.asarray(found["h"])

    def same(ours: NDArray[np.float32], other: NDArray[np.float32]) -> str:
        np.testing.assert_allclose(ours, other, rtol=2e-3, atol=2e-3)
        return ""

    for count, target in ((1, 1.5), (threads, 1.0)):
        yield Contest(f"gcn, {WIDTH} features, {count} threads", "scipy CSR @ dense", target, partial(ours, count),
                      lambda _: partial(timed, layer), same)


def networkit_graph(module: Any, graph: Graph, threads: int) -> Any:
    """Return the graph with its weights as a NetworKit graph."""
    module.setNumberOfThreads(threads)
    edges = graph.edges()
    values = np.asarray(edges.columns["weight"], np.float64)
    ends = (edges.src.astype(np.int64), edges.dst.astype(np.int64))
    return module.GraphFromCoo((values, ends), n=graph.n, weighted=True, directed=False)


WORKS: dict[str, Callable[[Graph, int], Iterator[Contest]]] = {
    "grouped": grouped, "propagation": propagation, "louvain": louvain, "boruvka": boruvka, "gcn": convolution}
