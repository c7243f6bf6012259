"""The programs of examples/gallery are compared with the interpreter and with independent computations."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.reference.cases import Case, simple_graph
from tests.reference.graph import Array, RefGraph, ref_graph
from tests.reference.graphs import family, to_graph
from tests.reference.special import mix
from vlang import Program, Result, load

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "gallery"
NAMES = sorted(path.stem for path in FOLDER.glob("*.vp"))
SHAPES = ("messy", "rmat", "two_components", "path", "one_loop", "empty")
NOWHERE = 2**31 - 1
ENDS = {"source": 0, "target": 4}


@cache
def program(name: str) -> Program:
    return load(FOLDER / f"{name}.vp")


def _matrix(graph: RefGraph) -> Array:
    """Return the matrix float64[n, n] of the numbers of edges from i to j."""
    found = np.zeros((graph.n, graph.n))
    np.add.at(found, (graph.src, graph.dst), 1)
    return found


def _network(graph: RefGraph) -> Any:
    made = nx.DiGraph() if graph.directed else nx.Graph()
    made.add_nodes_from(range(graph.n))
    made.add_edges_from(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
    return made


def check_sir(graph: RefGraph, params: dict[str, Any], result: Result) -> None:
    def drawn(*keys: int) -> float:
        seed = 1
        for key in keys:
            seed = mix(seed, key)
        return (seed >> 40) / 2**24

    state = [1 if v in params["start"] else 0 for v in range(graph.n)]
    since = [0 if one else NOWHERE for one in state]
    step = 0
    while 1 in state:
        step, before = step + 1, list(state)
        for v in range(graph.n):
            if before[v] == 1 and drawn(step, graph.number(v)) < np.float32(0.3):
                state[v] = 2
        for u, v in zip(graph.src.tolist(), graph.dst.tolist(), strict=True):
            ill = before[u] == 1 and before[v] == 0
            if ill and drawn(step, graph.number(u), graph.number(v)) < np.float32(0.2):
                state[v], since[v] = 1, step
    assert result["state"].tolist() == state
    assert result["since"].tolist() == since
    assert result["reached"] == sum(one > 0 for one in state)


def check_salsa(graph: RefGraph, params: dict[str, Any], result: Result) -> None:
    ahead, back = _matrix(graph), _matrix(graph).T
    ahead, back = (one / np.maximum(one.sum(axis=1, keepdims=True), 1) for one in (ahead, back))
    hub = (graph.outdegree > 0) / max(int((graph.outdegree > 0).sum()), 1)
    for _ in range(3000):
        authority = hub @ ahead
        hub = authority @ back
    np.testing.assert_allclose(result["authority"], authority, atol=2e-5)
    np.testing.assert_allclose(result["hub"], hub, atol=2e-5)
    assert graph.m == 0 or float(np.sum(result["hub"])) == pytest.approx(1, abs=1e-4)


def check_simrank(graph: RefGraph, params: dict[str, Any], result: Result) -> None:
    """Compare with an iteration of the SimRank equation over all pairs, which adds 1 - c on the diagonal."""
    walk = _matrix(graph) / np.maximum(graph.indegree, 1)
    similar = 0.4 * np.eye(graph.n)
    for _ in range(8):
        similar = 0.6 * walk.T @ similar @ walk + 0.4 * np.eye(graph.n)
    np.testing.assert_allclose(result["similar"], similar[:, params["source"]], atol=1e-5)


def check_bidirectional(graph: RefGraph, params: dict[str, Any], result: Result) -> None:
    hops = nx.single_source_shortest_path_length(_network(graph), params["source"]).get(params["target"], NOWHERE)
    assert result["hops"] == hops
    if hops < NOWHERE:
        assert result.rounds == (hops + 1) // 2 or result.rounds == 1


def check_articulation(graph: RefGraph, params: dict[str, Any], result: Result) -> None:
    network = _network(graph)
    assert set(np.flatnonzero(result["cut"]).tolist()) == set(nx.articulation_points(network))
    parent, block = np.asarray(result["parent"]), np.asarray(result["block"])
    named = {frozenset((v, int(parent[v]))): int(block[v]) for v in range(graph.n) if parent[v] >= 0}
    seen: set[int] = set()
    for edges in nx.biconnected_component_edges(network):
        found = {named[frozenset(edge)] for edge in edges if frozenset(edge) in named}
        assert len(found) == 1, "the edges of a block have one name"
        assert not found & seen, "two blocks have different names"
        seen |= found


def check_ktruss(graph: RefGraph, params: dict[str, Any], result: Result) -> None:
    """Compare the edges of each k-truss, in both directions, with the edges of `networkx.k_truss`."""
    states = result.edge_states
    number = dict(zip(zip(states.sources.tolist(), states.targets.tolist(), strict=True), states["truss"].tolist(),
                      strict=True))
    network = _network(graph)
    for k in range(2, max(number.values(), default=2) + 2):
        left = nx.k_truss(network, k).edges()
        assert {edge for edge, most in number.items() if most >= k} == {*left, *((v, u) for u, v in left)}, k
    most = np.zeros(graph.n, np.int64)
    np.maximum.at(most, states.targets, states["truss"])
    assert result["number"].tolist() == most.tolist()


def _mrf(graph: RefGraph) -> Case:
    """Return the inputs of `marginals`: weights of the two states, and weak couplings, equal in both directions."""
    low, high = np.minimum(graph.src, graph.dst), np.maximum(graph.src, graph.dst)
    keep = (0.4 + (31 * low + 17 * high) % 61 / 300).astype(np.float32)
    share = (np.arange(graph.n) * 7 % 15 + 1).astype(np.float32) / 16
    return Case(graph.with_columns(keep=keep), {}, {"prior": np.stack([share, 1 - share], axis=1)})


def check_marginals(graph: RefGraph, params: dict[str, Any], result: Result) -> None:
    """Compare with belief propagation in f64, whose messages are pairs of probabilities."""
    prior = _mrf(graph).fields["prior"].astype(np.float64)
    keep = np.asarray(graph.columns["keep"], np.float64)[:, None]
    opposite, proper = graph.opposites(), graph.src != graph.dst
    heard = np.full((graph.m, 2), 0.5)
    for _ in range(400):
        belief = np.log(prior)
        np.add.at(belief, graph.dst, np.log(heard))
        sent = np.exp(belief[graph.src] - np.log(heard[opposite]))
        sent = keep * sent + (1 - keep) * sent[:, ::-1]
        heard = np.where(proper[:, None], sent / sent.sum(axis=1, keepdims=True), 0.5)
    belief = np.log(prior)
    np.add.at(belief, graph.dst, np.log(heard))
    np.testing.assert_allclose(result["second"], 1 / (1 + np.exp(belief[:, 0] - belief[:, 1])), atol=2e-4)


CHECKS = {"articulation": check_articulation, "bidirectional": check_bidirectional, "ktruss": check_ktruss,
          "marginals": check_marginals, "salsa": check_salsa, "simrank": check_simrank, "sir": check_sir}  # fmt: skip
INPUTS: dict[str, dict[str, Any]] = {"sir": {"start": [0, 3]}, "simrank": {"source": 2}, "bidirectional": ENDS}


def test_every_program_is_tested() -> None:
    assert list(CHECKS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_on_families(name: str) -> None:
    for number, shape in enumerate(SHAPES):
        graph = family(shape, directed=number % 2 == 0)
        graph = simple_graph(family(shape, False), False) if name in ("articulation", "ktruss") else graph
        params = INPUTS.get(name, {})
        if params and graph.n < 5:
            continue
        if name == "marginals":
            graph = _mrf(family(shape, directed=False)).graph
        given = _mrf(graph) if name == "marginals" else Case(graph, params)
        result = engine_run(program(name), given)
        assert_as_interpreted(program(name), given, result, interpreted(program(name), given),
                              same_rounds=name not in ("salsa", "marginals"))
        CHECKS[name](graph, params, result)


def test_trusses_of_random_graphs() -> None:
    """Trusses are right on dense and clustered graphs, in which edges are removed one after the other."""
    made = [nx.gnp_random_graph(30, 0.2 + 0.2 * seed, seed=seed) for seed in range(4)]
    for network in (*made, nx.powerlaw_cluster_graph(300, 6, 0.8, seed=5), nx.complete_graph(9)):
        graph = ref_graph(len(network), list(network.edges()), directed=False)
        for threads in (1, 3):
            check_ktruss(graph, {}, program("ktruss")(to_graph(graph), options={"threads": threads}))


def test_marginals_of_trees_are_exact() -> None:
    """Compare with the sum over all states of forests with up to 11 vertices, with strong couplings."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = 11 - seed
        edges = [(int(rng.integers(v)), v) for v in range(1, n) if rng.random() < 0.9]
        graph = ref_graph(n, edges, directed=False, keep=rng.uniform(0.05, 0.95, len(edges)).astype(np.float32))
        prior = rng.uniform(0.05, 1, (n, 2)).astype(np.float32)
        states = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
        weight = np.prod(prior.astype(np.float64)[np.arange(n), states], axis=1)
        for (u, v), keep in zip(edges, graph.columns["keep"].astype(np.float64)):
            weight *= np.where(states[:, u] == states[:, v], keep, 1 - keep)
        expected = (weight[:, None] * states).sum(axis=0) / weight.sum()
        result = program("marginals")(to_graph(graph), prior=prior)
        np.testing.assert_allclose(result["second"], expected, atol=2e-5, err_msg=f"seed {seed}")
        assert result.converged
