"""The programs of examples/gallery, compared with the interpreter and with independent computations."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.reference.cases import Case, simple_graph
from tests.reference.graph import Array, RefGraph
from tests.reference.graphs import family
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


CHECKS = {"articulation": check_articulation, "bidirectional": check_bidirectional, "salsa": check_salsa,
          "simrank": check_simrank, "sir": check_sir}  # fmt: skip
INPUTS: dict[str, dict[str, Any]] = {"sir": {"start": [0, 3]}, "simrank": {"source": 2}, "bidirectional": ENDS}


def test_every_program_is_tested() -> None:
    assert list(CHECKS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_on_families(name: str) -> None:
    for number, shape in enumerate(SHAPES):
        graph = family(shape, directed=number % 2 == 0)
        graph = simple_graph(family(shape, False), False) if name == "articulation" else graph
        params = INPUTS.get(name, {})
        if params and graph.n < 5:
            continue
        given = Case(graph, params)
        result = engine_run(program(name), given)
        assert_as_interpreted(program(name), given, result, interpreted(program(name), given),
                              same_rounds=name != "salsa")
        CHECKS[name](graph, params, result)
