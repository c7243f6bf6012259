"""The interpreter runs the 36 programs of the design, and independent algorithms give the same results."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.reference.cases import STDLIB, case
from tests.reference.graph import Array, RefGraph, ref_graph
from tests.reference.graphs import all_families
from tests.reference.interpreter import Outcome, run
from tests.reference.verifiers.verify import verify
from vlang.check import parse
from vlang.syntax import tree as t

FOLDER = Path(__file__).parent / "design"
NAMES = sorted(path.stem for path in FOLDER.glob("*.vp"))


@functools.cache
def program(name: str) -> t.File:
    path = FOLDER / f"{name}.vp"
    return parse(path.read_text(encoding="utf-8"), str(path))


def simple(seed: int, directed: bool, n: int = 18, count: int = 45) -> RefGraph:
    """Return a random graph without self-loops and parallel edges, with a column `weight` of whole numbers."""
    rng = np.random.default_rng(seed)
    drawn = {(int(u), int(v)) for u, v in rng.integers(0, n, (count, 2)) if u != v and (directed or u < v)}
    edges = sorted(drawn)
    return ref_graph(n, edges, directed, weight=rng.integers(1, 9, len(edges)))


GRAPHS = [pytest.param(simple(seed, directed), id=f"{'directed' if directed else 'undirected'}-{seed}")
          for seed in (1, 2) for directed in (True, False)]
UNDIRECTED = [pytest.param(simple(seed, False), id=f"undirected-{seed}") for seed in (3, 4, 5)]


def networkx(graph: RefGraph) -> Any:
    made: Any = nx.DiGraph() if graph.directed else nx.Graph()
    made.add_nodes_from(range(graph.n))
    weight = graph.columns.get("weight", np.ones(graph.m))
    made.add_weighted_edges_from(zip(graph.src.tolist(), graph.dst.tolist(), weight.tolist(), strict=True))
    return made


def matrix(graph: RefGraph, values: Array | None = None) -> Array:
    """Return a matrix A, where A[v, u] is the sum over the edges u -> v."""
    result = np.zeros((graph.n, graph.n))
    np.add.at(result, (graph.dst, graph.src), np.ones(graph.m) if values is None else values)
    return result


def close(got: Any, want: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=rtol, atol=atol)


def start(name: str, graph: RefGraph, precision: int = 32, fields: Any = None, **params: Any) -> Outcome:
    return run(program(name), graph, params, fields, max_rounds=5000, precision=precision)


def test_all_programs_are_here() -> None:
    assert len(NAMES) == 36


@pytest.mark.parametrize("name", STDLIB)
def test_standard_programs_on_every_family(name: str) -> None:
    for family, graph in all_families():
        made = case(name, graph)
        if made is None:
            continue
        outcome = run(program(name), made.graph, made.params, made.fields, max_rounds=5000)
        try:
            verify(name, made.graph, made.params, outcome.fields, made.fields)
        except AssertionError as error:
            raise AssertionError(f"{name} on {family}: {error}") from error


# ------------------------------------------------------------------ ranks


@pytest.mark.parametrize("graph", GRAPHS)
def test_pagerank_is_networkx(graph: RefGraph) -> None:
    outcome = start("pagerank", graph, precision=64, tol=1e-12)
    want = nx.pagerank(networkx(graph), tol=1e-14, max_iter=10_000, weight=None)
    close(outcome.fields["rank"], [want[v] for v in range(graph.n)], rtol=0, atol=1e-8)
    assert outcome.reason == "until"


@pytest.mark.parametrize("graph", GRAPHS)
def test_pagerank_delta_is_the_linear_solution(graph: RefGraph) -> None:
    outcome = start("pagerank_delta", graph, precision=64, tol=1e-12)
    step = matrix(graph, 1 / np.maximum(graph.outdegree, 1)[graph.src])
    close(outcome.fields["rank"], np.linalg.solve(np.eye(graph.n) - 0.85 * step, np.full(graph.n, 0.15)), atol=1e-7)


@pytest.mark.parametrize("graph", GRAPHS)
def test_php_is_the_linear_solution(graph: RefGraph) -> None:
    outcome = start("php", graph, precision=64, source=0, tol=1e-12)
    weight = graph.columns["weight"].astype(float)
    total = np.bincount(graph.src, weight, graph.n)
    step = matrix(graph, weight / total[graph.src])
    step[0] = 0
    unit = np.eye(graph.n)[0]
    close(outcome.fields["p"], np.linalg.solve(np.eye(graph.n) - 0.8 * step, unit), atol=1e-7)


@pytest.mark.parametrize("graph", GRAPHS)
def test_rwr_is_personalised_pagerank(graph: RefGraph) -> None:
    outcome = start("rwr", graph, precision=64, source=2)
    want = nx.pagerank(networkx(graph), 0.85, personalization={2: 1}, tol=1e-14, max_iter=10_000)
    close(outcome.fields["p"], [want[v] for v in range(graph.n)], atol=1e-7)


@pytest.mark.parametrize("graph", GRAPHS)
def test_katz_is_networkx(graph: RefGraph) -> None:
    outcome = start("katz", graph, precision=64, tol=1e-12)
    want = nx.katz_centrality_numpy(networkx(graph), alpha=0.05, weight=None)
    x = outcome.fields["x"]
    close(x / np.linalg.norm(x), [want[v] for v in range(graph.n)])


def test_hits_is_networkx() -> None:
    graph = simple(1, True)
    outcome = start("hits", graph, precision=64, tol=1e-12)
    hubs, authorities = nx.hits(networkx(graph).__class__(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)),
                                max_iter=1000)
    for name, want in (("hub", hubs), ("auth", authorities)):
        got = outcome.fields[name] / outcome.fields[name].sum()
        close(got, [want.get(v, 0) for v in range(graph.n)], atol=1e-6)


# ------------------------------------------------------------------ centralities


@pytest.mark.parametrize("graph", GRAPHS)
def test_betweenness_is_networkx(graph: RefGraph) -> None:
    outcome = start("betweenness", graph, sources=range(graph.n))
    want = nx.betweenness_centrality(networkx(graph), normalized=False)
    scale = 1 if graph.directed else 2
    close(outcome.fields["score"], [scale * want[v] for v in range(graph.n)], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("graph", GRAPHS)
def test_closeness_is_networkx(graph: RefGraph) -> None:
    outcome = start("closeness", graph, sources=range(graph.n))
    want = nx.closeness_centrality(networkx(graph))
    close(outcome.fields["closeness"], [want[v] for v in range(graph.n)])


@pytest.mark.parametrize("graph", GRAPHS)
def test_radius_counts_hops_to_the_farthest_sample(graph: RefGraph) -> None:
    samples = [0, 3, 7]
    outcome = start("radius", graph, samples=samples)
    lengths = [nx.single_source_shortest_path_length(networkx(graph), s) for s in samples]
    seen = [sum(1 << k for k, reached in enumerate(lengths) if v in reached) for v in range(graph.n)]
    far = [max((reached[v] for reached in lengths if v in reached), default=-1) for v in range(graph.n)]
    assert outcome.fields["seen"].tolist() == seen
    assert outcome.fields["radius"].tolist() == far


def test_hyperanf_estimates_reach() -> None:
    graph = simple(6, True, n=60, count=150)
    outcome = start("hyperanf", graph)
    exact = np.array([len(nx.descendants(networkx(graph), v)) + 1 for v in range(graph.n)])
    assert (abs(outcome.fields["reach"] - exact) / exact).mean() < 0.2


# ------------------------------------------------------------------ components and cores


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", ["components", "components_jump"])
def test_components_are_networkx(name: str, graph: RefGraph) -> None:
    label = start(name, graph).fields["label"]
    made = networkx(graph)
    for part in nx.weakly_connected_components(made) if graph.directed else nx.connected_components(made):
        assert {int(label[v]) for v in part} == {min(part)}


@pytest.mark.parametrize("graph", GRAPHS)
def test_scc_is_networkx(graph: RefGraph) -> None:
    label = start("scc", graph).fields["scc"]
    made = networkx(graph) if graph.directed else networkx(graph).to_directed()
    for part in nx.strongly_connected_components(made):
        assert {int(label[v]) for v in part} == {max(part)}


@pytest.mark.parametrize("graph", UNDIRECTED)
def test_core_numbers_are_networkx(graph: RefGraph) -> None:
    want = nx.core_number(networkx(graph))
    expected = [want[v] for v in range(graph.n)]
    assert start("kcore", graph).fields["core"].tolist() == expected
    assert start("kcore_peel", graph).fields["core"].tolist() == expected
    assert start("kcore_members", graph, k=3).fields["alive"].tolist() == [c >= 3 for c in expected]


def test_bipartite_finds_conflicts_of_an_odd_cycle_only() -> None:
    even = start("bipartite", ref_graph(6, [(k, (k + 1) % 6) for k in range(6)], False))
    assert even.globals["conflicts"] == 0
    assert even.fields["side"].tolist() == [0, 1, 0, 1, 0, 1]
    assert start("bipartite", ref_graph(5, [(k, (k + 1) % 5) for k in range(5)], True)).globals["conflicts"] == 1


@pytest.mark.parametrize("graph", UNDIRECTED)
def test_colouring_and_independent_set_are_valid(graph: RefGraph) -> None:
    color = start("coloring", graph).fields["color"]
    assert (color >= 0).all()
    assert (color[graph.src] != color[graph.dst]).all()
    assert (color <= graph.degree).all()
    outcome = start("mis", graph)
    chosen, excluded = outcome.fields["chosen"], outcome.fields["excluded"]
    assert (chosen != excluded).all()
    assert not (chosen[graph.src] & chosen[graph.dst]).any()
    beaten = np.zeros(graph.n, np.bool_)
    np.logical_or.at(beaten, graph.dst, chosen[graph.src])
    assert (beaten == excluded).all()


@pytest.mark.parametrize("graph", UNDIRECTED)
def test_triangles_and_clustering_are_networkx(graph: RefGraph) -> None:
    made = networkx(graph)
    assert start("triangles", graph).globals["total"] == sum(nx.triangles(made).values()) // 3
    want = nx.clustering(made)
    close(start("lcc", graph).fields["lcc"], [want[v] for v in range(graph.n)])


def most_frequent(labels: list[int]) -> int:
    tally = Counter(labels)
    return min(tally, key=lambda label: (-tally[label], label))


@pytest.mark.parametrize("graph", GRAPHS)
def test_cdlp_is_a_direct_loop(graph: RefGraph) -> None:
    label = list(range(graph.n))
    ends: list[list[int]] = [[] for _ in range(graph.n)]
    for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
        ends[v].append(u)
        if graph.directed:
            ends[u].append(v)
    for _ in range(10):
        received = [[label[u] for u in near] for near in ends]
        label = [most_frequent(labels) if labels else label[v] for v, labels in enumerate(received)]
    assert start("cdlp", graph).fields["label"].tolist() == label


# ------------------------------------------------------------------ dynamics


@pytest.mark.parametrize("graph", GRAPHS)
def test_belief_stays_normal_and_follows_its_equation(graph: RefGraph) -> None:
    rng = np.random.default_rng(5)
    share = rng.uniform(0.1, 0.9, graph.n)
    prior = np.stack([share, 1 - share], axis=1)
    outcome = start("belief", graph, precision=64, fields={"prior": prior})
    belief = prior.copy()
    for _ in range(10):
        sent = np.log(0.9 * belief + 0.1 * belief[:, ::-1])
        received = np.zeros_like(belief)
        np.add.at(received, graph.dst, sent[graph.src])
        belief = prior * np.exp(received)
        belief /= belief.sum(axis=1, keepdims=True)
    close(np.exp(outcome.fields["logb"]), belief)


@pytest.mark.parametrize("graph", UNDIRECTED)
def test_linbp_is_its_closed_form(graph: RefGraph) -> None:
    rng = np.random.default_rng(6)
    prior = rng.uniform(-0.5, 0.5, (graph.n, 2))
    outcome = start("linbp", graph, precision=64, fields={"prior": prior}, tol=1e-12)
    h, turn = 0.02, np.array([[1.0, -1.0], [-1.0, 1.0]])
    system = np.eye(2 * graph.n) - h * np.kron(matrix(graph), turn) + 2 * h**2 * np.kron(np.diag(graph.degree), turn)
    close(outcome.fields["b"].ravel(), np.linalg.solve(system, prior.ravel()))


@pytest.mark.parametrize("graph", GRAPHS)
def test_cf_is_a_direct_loop(graph: RefGraph) -> None:
    rating = np.linspace(0.5, 3, graph.m)
    x = np.full((graph.n, 8), 0.5)
    for _ in range(10):
        error = rating - (x[graph.dst] * x[graph.src]).sum(axis=1)
        slope = np.zeros_like(x)
        np.add.at(slope, graph.dst, x[graph.src] * error[:, None])
        x = x + 0.0035 * (slope - 0.001 * x)
    close(start("cf", graph.with_columns(rating=rating)).fields["x"], x)


def test_circuit_is_the_laplacian_solution() -> None:
    graph = ref_graph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (1, 3)], False, g=[1.0, 2.0, 1.0, 0.5, 1.0])
    fixed = np.array([True, False, False, False, True])
    outcome = start("circuit", graph, precision=64, fields={"fixed": fixed, "v": [5.0, 0, 0, 0, 1.0]}, tol=1e-12)
    conductance = matrix(graph, graph.columns["g"])
    laplacian = np.diag(conductance.sum(axis=1)) - conductance
    laplacian[fixed] = np.eye(5)[fixed]
    close(outcome.fields["v"], np.linalg.solve(laplacian, [5, 0, 0, 0, 1]))


def test_soft_reach_is_a_matrix_power() -> None:
    graph = simple(1, True)
    logw = np.linspace(-1, 1, graph.m)
    outcome = start("soft_reach", graph.with_columns(logw=logw), precision=64, source=0)
    once = np.eye(graph.n) + matrix(graph, np.exp(logw))
    want = np.linalg.matrix_power(once, 4)[:, 0]
    got = outcome.fields["score"]
    assert (np.isneginf(got) == (want == 0)).all()
    close(np.exp(got), want)


def test_neural_dies_out_and_spmv_is_the_product() -> None:
    graph = simple(2, True)
    weak = graph.with_columns(weight=np.full(graph.m, 0.5 / graph.n))
    assert abs(start("neural", weak, fields={"x": np.ones(graph.n)}).fields["x"]).max() < 1e-3
    x = np.arange(graph.n) / 4
    a = np.linspace(-2, 2, graph.m)
    close(start("spmv", graph.with_columns(a=a), fields={"x": x}).fields["y"], matrix(graph, a) @ x, atol=1e-5)
