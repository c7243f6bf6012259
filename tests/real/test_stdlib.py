"""Every program of the standard library is compared with an independent algorithm on real graphs.

Each program runs on a directed road network, rome99, and on an undirected social network, ca-GrQc; some programs also
run on larger graphs. Parameters and inputs come from `tests.reference.cases`, with three exceptions. `cf` runs on the
bipartite double cover of the graph, with users on one side and items on the other side. `neural` gets weights that keep
the network active. `triangles` and `lcc` are defined on undirected graphs; these two programs run on an undirected copy
of rome99. Priors, temperatures and voltages are drawn from fixed seeds.
"""

from __future__ import annotations

import functools
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import svds

from tests.real.published import files
from tests.reference.cases import MORE, STDLIB, Case, case
from tests.reference.graph import Array, RefGraph
from tests.reference.graphs import to_graph
from tests.reference.verifiers.verify import VERIFIERS
from tests.reference.verifiers.verify_more import MORE_VERIFIERS
from tests.reference.verifiers.verify_sparse import SPARSE_VERIFIERS
from tests.stdlib.test_more import outputs, program, spoiled
from vlang import Graph, GraphError, Result, stdlib

THREADS = 2
SEED = 4  # for sources and inputs
# Programs that are defined on undirected graphs only:
UNDIRECTED = ("triangles", "lcc", "lcc_weighted", "jaccard", "adamic_adar", "boruvka", "louvain")
DIRECTED = ("rome99", "wiki-Vote", "soc-Slashdot0902", "USA-road-d.NY")

# Larger graphs, for programs with a verifier that takes about a second on them.
LARGER = {
    "wiki-Vote": (
        "betweenness", "bipartite", "boruvka", "cdlp", "coloring", "components_jump", "cross_edges", "degree",
        "egonet", "eigenvector", "hits", "hyperanf", "katz", "kcore", "kcore_peel", "khop", "lcc", "lcc_directed",
        "linbp", "louvain", "mis", "neural", "pagerank_delta", "pagerank_rounds", "php", "ppr", "radius", "rwr",
        "scc", "smooth", "soft_reach", "spmv", "sssp_tree", "sswp", "triangles",
    ),
    "email-Enron": (
        "boruvka", "cdlp", "coloring", "degree", "egonet", "hyperanf", "katz", "lcc", "louvain", "mis",
        "pagerank_delta", "pagerank_rounds", "ppr", "radius", "smooth", "spmv",
    ),
    "soc-Slashdot0902": (
        "bfs_tree", "boruvka", "hits", "khop", "lcc_directed", "louvain", "mis", "pagerank_rounds", "radius", "spmv",
    ),
    "USA-road-d.NY": (
        "bfs_tree", "bipartite", "boruvka", "cdlp", "coloring", "components_jump", "degree", "khop", "louvain", "mis",
        "smooth", "spmv",
    ),
}
RUNS = [(name, what) for name in ("rome99", "ca-GrQc") for what in stdlib.names()]
RUNS += [(name, what) for name, programs in LARGER.items() for what in programs]

KNOWN = (*VERIFIERS.values(), *MORE_VERIFIERS.values())  # other tests check that these notice wrong values
NEW = sorted(what for what, verifier in SPARSE_VERIFIERS.items() if verifier not in KNOWN)
ASIDE = {  # intermediate fields, which are not part of the result
    "adamic_adar": ("share",), "bipartite": ("label", "depth"), "egonet": ("close", "inside"),
    "kcore_peel": ("alive",), "lcc": ("links",), "lcc_directed": ("inward", "outward", "near"),
    "lcc_weighted": ("most", "strength"), "php": ("total",),
    "ppr": ("seed", "jump"), "rwr": ("total",), "walks": ("next",),
}


def listed(path: Path) -> tuple[Array, Array]:
    """Return the edges of a file as pairs of vertex numbers, and their weights. Without weights in the file, all
    weights are 1.
    """
    lines = gzip.decompress(path.read_bytes()).splitlines()
    if ".gr." in path.name:
        table = np.array(b"".join(line[1:] for line in lines if line.startswith(b"a")).split(), np.int64).reshape(-1, 3)
        return table[:, :2], table[:, 2]
    ends = np.array(b" ".join(line for line in lines if not line.startswith(b"#")).split(), np.int64).reshape(-1, 2)
    return ends, np.ones(len(ends), np.int64)


@functools.cache
def real(name: str, directed: bool) -> RefGraph:
    """Return the graph without self-loops and with only the shortest of parallel edges. Vertices are numbered from 0.

    The engine's reader is not used. If the file has no weights, edges get weights of 1 to 9 that depend on their ends.
    """
    path, results = files(name)
    ids = np.load(results)["vertex_ids"]
    ends, weight = listed(path)
    ends = np.searchsorted(ids, ends)
    if not directed:
        ends = np.sort(ends, axis=1)
    kept = ends[:, 0] != ends[:, 1]
    ends, weight = ends[kept], weight[kept]
    if (weight == 1).all():
        weight = 1 + (31 * ends.min(axis=1) + 17 * ends.max(axis=1)) % 9
    order = np.lexsort([weight, ends[:, 1], ends[:, 0]])
    ends, first = np.unique(ends[order], axis=0, return_index=True)
    src, dst, columns = ends[:, 0], ends[:, 1], {"weight": weight[order][first].astype(np.float32)}
    made = RefGraph(len(ids), src, dst, columns)
    return made if directed else both_ways(made)


def both_ways(graph: RefGraph) -> RefGraph:
    """Return the undirected graph of the edges."""
    columns = {name: np.concatenate([column, column]) for name, column in graph.columns.items()}
    src, dst = np.concatenate([graph.src, graph.dst]), np.concatenate([graph.dst, graph.src])
    return RefGraph(graph.n, src, dst, columns, directed=False)


def double_cover(graph: RefGraph) -> RefGraph:
    """Return the bipartite double cover. Vertex v becomes user v and item n + v, and edge u -> v links user u and item
    v.
    """
    return both_ways(RefGraph(2 * graph.n, graph.src, graph.n + graph.dst))


def firing(graph: RefGraph) -> Case:
    """Return a neural network whose dense part stays active, because the largest singular value of its weights is 1.5.
    """
    weight = (1.5 / np.sqrt(graph.outdegree[graph.src] * graph.indegree[graph.dst])).astype(np.float32)
    return Case(graph.with_columns(weight=weight), {}, {"x": np.ones(graph.n, np.float32)})


@functools.cache
def made(name: str, what: str) -> tuple[Case, Graph]:
    """Return the case of a program on a graph, and the graph of the engine."""
    graph = real(name, name in DIRECTED and what not in UNDIRECTED)
    if what == "neural":
        given: Case | None = firing(graph)
    else:
        given = case(what, double_cover(graph) if what == "cf" else graph, SEED)
    assert given is not None
    return given, engine_graph(name, graph.directed) if given.graph is graph else to_graph(given.graph)


@functools.cache
def engine_graph(name: str, directed: bool) -> Graph:
    """Return the graph for most programs, built once."""
    return to_graph(real(name, directed))


@functools.cache
def run(name: str, what: str) -> Result:
    """Run a program on a graph, with the parameters and inputs of its case; return the result."""
    given, graph = made(name, what)
    return program(what)(graph, **given.params, **given.fields, threads=THREADS)


def check(name: str, what: str, found: dict[str, Any]) -> None:
    """Raise AssertionError if `found` is not the right result of the run."""
    given, _ = made(name, what)
    SPARSE_VERIFIERS[what](given.graph, given.params, found)


def test_every_program_is_tested() -> None:
    assert set(SPARSE_VERIFIERS) == {*STDLIB, *MORE} == set(stdlib.names())


@pytest.mark.parametrize("name", ["rome99", "ca-GrQc", *LARGER])
def test_the_graph_is_the_canonical_one(name: str) -> None:
    graph = real(name, name in DIRECTED)
    with np.load(files(name)[1]) as want:
        assert (graph.m, graph.directed) == (int(want["arcs"]), bool(want["directed"]))
        np.testing.assert_array_equal(graph.outdegree, want["out_degree"])


@pytest.mark.parametrize(("name", "what"), RUNS)
def test_program_on_a_real_graph(name: str, what: str) -> None:
    check(name, what, outputs(run(name, what)))


@pytest.mark.parametrize("what", NEW)
def test_one_wrong_value_is_noticed(what: str) -> None:
    """The verifiers for large graphs detect a wrong value in every field and global of the result."""
    found = outputs(run("ca-GrQc", what))
    given, _ = made("ca-GrQc", what)
    for watched in found.keys() - {*given.fields, *ASIDE.get(what, ())}:
        with pytest.raises(AssertionError):
            check("ca-GrQc", what, {**found, watched: spoiled(found[watched])})


@pytest.mark.parametrize("name", ["rome99", "ca-GrQc"])
def test_heat_is_the_state_after_its_supersteps(name: str) -> None:
    """The state after the supersteps is right. The number of supersteps is not compared, because rounding to 32 bits
    determines when the last change ends.
    """
    (given, _), result = made(name, "heat"), run(name, "heat")
    src, dst, n = given.graph.src, given.graph.dst, given.graph.n
    q, coeff = given.fields["q"].astype(np.float64), given.graph.columns["coeff"].astype(np.float64)
    for _ in range(result.rounds):
        q += np.bincount(dst, (q[src] - q[dst]) * coeff, n)
    np.testing.assert_allclose(result["q"], q, rtol=1e-4)


@pytest.mark.parametrize("name", ["rome99", "ca-GrQc"])
def test_a_firing_network_does_not_fall_silent(name: str) -> None:
    """The state of the network agrees with 64-bit arithmetic and is not zero."""
    (given, _), found = made(name, "neural"), run(name, "neural")["x"]
    src, dst, weight = given.graph.src, given.graph.dst, given.graph.columns["weight"].astype(np.float64)
    x = np.ones(given.graph.n)
    for _ in range(1000):
        x = np.tanh(np.bincount(dst, x[src] * weight, given.graph.n))
    np.testing.assert_allclose(found, x, atol=1e-3)
    assert (x > 0.5).mean() > 0.5


def test_hubs_and_authorities_are_singular_vectors() -> None:
    """Hubs and authorities are singular vectors. The test uses wiki-Vote, whose two largest singular values are far
    apart.
    """
    graph = real("wiki-Vote", True)
    left, _, right = svds(csr_matrix((np.ones(graph.m), (graph.src, graph.dst)), shape=(graph.n, graph.n)), k=1,
                          v0=np.ones(graph.n))
    found = run("wiki-Vote", "hits")
    np.testing.assert_allclose(found["hub"], abs(left[:, 0]), atol=1e-5)
    np.testing.assert_allclose(found["auth"], abs(right[0]), atol=1e-5)


def test_estimates_of_reach_are_as_good_as_they_are_said_to_be() -> None:
    """Estimates of reach have the documented error of 13 percent: root mean square over 20 seeds, for the largest
    component of ca-GrQc.
    """
    given, graph = made("ca-GrQc", "hyperanf")
    part = connected_components(csr_matrix((np.ones(given.graph.m), (given.graph.src, given.graph.dst)),
                                           shape=(given.graph.n, given.graph.n)))[1]
    sizes = np.bincount(part)
    member = int(np.flatnonzero(part == sizes.argmax())[0])
    reach = [program("hyperanf")(graph, seed=seed, threads=THREADS)["reach"][member] for seed in range(1, 21)]
    error = np.sqrt(np.mean((np.array(reach) / sizes.max() - 1) ** 2))
    assert 0.07 < error < 0.2


def test_directed_graphs_are_refused_where_opposite_edges_would_count_as_two() -> None:
    """`triangles`, `lcc` and `kcore` refuse a directed triangle with all its edges in both directions."""
    src, dst = np.array([0, 1, 1, 2, 2, 0]), np.array([1, 0, 2, 1, 0, 2])
    graph = Graph.from_edges(src, dst, directed=False, parallel="drop")
    assert program("triangles")(graph, threads=THREADS)["total"] == 1
    assert program("kcore")(graph, threads=THREADS)["core"].tolist() == [2] * 3
    np.testing.assert_allclose(program("lcc")(graph, threads=THREADS)["lcc"], 1.0)
    for name in ("triangles", "kcore", "lcc"):
        with pytest.raises(GraphError, match="--undirected --parallel drop"):
            program(name)(Graph.from_edges(src, dst))


@pytest.mark.parametrize("name", ["rome99", "ca-GrQc"])
def test_a_double_cover_is_bipartite(name: str) -> None:
    cover = double_cover(real(name, name in DIRECTED))
    result = program("bipartite")(to_graph(cover), threads=THREADS)
    assert result["conflicts"] == 0
    SPARSE_VERIFIERS["bipartite"](cover, {}, outputs(result))


@pytest.mark.parametrize("name", ["rome99", "ca-GrQc"])
def test_factors_come_nearer_to_the_ratings(name: str) -> None:
    given, graph = made(name, "cf")
    rating, ends = given.graph.columns["rating"], (given.graph.src, given.graph.dst)
    errors = []
    for iterations in (0, 10, 40):
        x = program("cf")(graph, **given.params, iterations=iterations, threads=THREADS)["x"]
        errors.append(float(((rating - (x[ends[0]] * x[ends[1]]).sum(axis=1)) ** 2).mean()))
    assert errors[0] > errors[1] > errors[2], errors
