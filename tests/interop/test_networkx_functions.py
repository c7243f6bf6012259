"""Every function of the NetworkX backend gives the same results, order of results and errors as NetworkX, on graphs of
all kinds.
"""

from __future__ import annotations

import itertools
import math
import random
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import networkx as nx
import pytest

from vlang.interop.networkx.backend import backend
from vlang.interop.networkx.table import EXACT, FUNCTIONS

SEED = 20261123
KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)

Graph = Any
Call = Callable[[Graph, random.Random], dict[str, Any]]


def _names(draw: random.Random, n: int) -> list[Any]:
    """Return nodes of one kind: consecutive, scattered or huge integers, texts, or objects of different types."""
    kinds = (lambda: list(range(n)), lambda: draw.sample(range(3 * n), n),
             lambda: draw.sample(range(-(10**12), 10**12), n),
             lambda: [f"n{i}" for i in draw.sample(range(n), n)],
             lambda: [(i, "a") if i % 3 else frozenset([i]) if i % 2 else 2.0**70 + 2**40 * i for i in range(n)])
    return draw.choice(kinds)()


def _graph(draw: random.Random, kind: type, n: int, m: int) -> Graph:
    graph = kind()
    nodes = _names(draw, n)
    graph.add_nodes_from(nodes, color="red")
    whole = draw.random() < 0.5
    for _ in range(m if nodes else 0):
        data = {"weight": draw.randint(0, 9) if whole else draw.random()} if draw.random() < 0.9 else {}
        graph.add_edge(draw.choice(nodes), draw.choice(nodes), **data)
    return graph


@cache
def _graphs() -> tuple[Graph, ...]:
    draw = random.Random(SEED)
    sizes = [(0, 0), (1, 0), (1, 1), (2, 1), (5, 4), (8, 40), (20, 30), (30, 45), (70, 300), (600, 700)]
    found = [_graph(draw, kind, n, m) for n, m in sizes for kind in KINDS]
    for source in (
        nx.path_graph(9), nx.cycle_graph(8), nx.cycle_graph(5, create_using=nx.DiGraph), nx.karate_club_graph(),
        nx.balanced_tree(2, 3), nx.complete_bipartite_graph(3, 4), nx.star_graph(6), nx.complete_graph(6),
        nx.gn_graph(12, seed=1), nx.disjoint_union(nx.path_graph(4), nx.cycle_graph(6)),
        nx.DiGraph([(3, 1), (2, 1), (3, 4)]),
    ):
        nx.set_edge_attributes(source, 2, "weight")
        found.append(source)
    found.append(nx.subgraph_view(nx.karate_club_graph(), filter_node=lambda node: node % 5))
    found.append(nx.karate_club_graph().subgraph(range(4, 20)))
    return tuple(found)


def _node(graph: Graph, draw: random.Random) -> Any:
    return draw.choice([*graph, "absent"]) if len(graph) else "absent"


def _some(graph: Graph, draw: random.Random, k: int = 4) -> list[Any]:
    return draw.sample(list(graph), min(k, len(graph)))


def _scores(graph: Graph, draw: random.Random) -> dict[Any, float]:
    return {node: draw.random() for node in graph if draw.random() < 0.8}


def _nothing(graph: Graph, draw: random.Random) -> dict[str, Any]:
    return {}


def _each(node: str, other: str, values: tuple[Any, ...]) -> tuple[Call, ...]:
    """Return one call for each value of the argument `other`, with a drawn node as the argument `node`."""
    def with_value(value: Any) -> Call:
        return lambda graph, draw: {node: _node(graph, draw), other: value}

    return tuple(map(with_value, values))


CALLS: dict[str, tuple[Call, ...]] = {
    "pagerank": (
        _nothing,
        lambda g, d: {"personalization": _scores(g, d), "alpha": 0.6, "tol": 1e-12, "max_iter": 500},
        lambda g, d: {"dangling": _scores(g, d), "weight": None, "nstart": _scores(g, d)},
        lambda g, d: {"max_iter": 2}, lambda g, d: {"tol": 0}, lambda g, d: {"personalization": {"absent": 1}}),
    "katz_centrality": (
        lambda g, d: {"alpha": 0.01},
        lambda g, d: {"alpha": 0.02, "beta": {n: d.random() for n in g}, "weight": "weight"},
        lambda g, d: {"alpha": 0.01, "nstart": {n: d.random() for n in g}, "normalized": False},
        lambda g, d: {"beta": {"absent": 1}}, lambda g, d: {"beta": "text"}, lambda g, d: {"max_iter": 1}),
    "eigenvector_centrality": (
        lambda g, d: {"max_iter": 3000}, lambda g, d: {"max_iter": 3000, "weight": "weight", "tol": 1e-4},
        lambda g, d: {"nstart": {n: 1 + d.random() for n in g}, "max_iter": 3000}, lambda g, d: {"max_iter": 0},
        lambda g, d: {"nstart": dict.fromkeys(g, 0)}),
    "betweenness_centrality": (
        _nothing, lambda g, d: {"normalized": False}, lambda g, d: {"k": min(3, len(g)), "seed": 5},
        lambda g, d: {"k": min(7, len(g)), "seed": 6, "normalized": False}, lambda g, d: {"k": len(g), "seed": 1}),
    "closeness_centrality": (_nothing, lambda g, d: {"wf_improved": False}, lambda g, d: {"u": _node(g, d)}),
    "harmonic_centrality": (
        _nothing, lambda g, d: {"nbunch": _some(g, d)}, lambda g, d: {"sources": _some(g, d)},
        lambda g, d: {"nbunch": _some(g, d, 9), "sources": _some(g, d, 2)}),
    "average_neighbor_degree": (
        _nothing, lambda g, d: {"nodes": _some(g, d)}, lambda g, d: {"source": "in", "target": "in+out"},
        lambda g, d: {"source": "in+out", "target": "in"}, lambda g, d: {"source": "down"}),
    "eccentricity": (_nothing, lambda g, d: {"v": _node(g, d)}, lambda g, d: {"v": _some(g, d, 20)}),
    "diameter": (_nothing, lambda g, d: {"e": {1: 5, 2: 3}}),
    "single_source_shortest_path_length": _each("source", "cutoff", (None, 0, 1, 2.5, -1)),
    "single_target_shortest_path_length": _each("target", "cutoff", (None, 2)),
    "all_pairs_shortest_path_length": (lambda g, d: {"cutoff": 2},),
    "shortest_path_length": (
        lambda g, d: {"source": _node(g, d)}, lambda g, d: {"target": _node(g, d)},
        lambda g, d: {"source": _node(g, d), "target": _node(g, d)},
        lambda g, d: {"source": _node(g, d), "target": _node(g, d), "weight": "weight"},
        lambda g, d: {"source": _node(g, d), "target": _node(g, d), "weight": "weight", "method": "bellman-ford"},
        lambda g, d: {"source": _node(g, d), "weight": "weight"},
        lambda g, d: {"target": _node(g, d), "weight": "weight"},
        lambda g, d: {"source": _node(g, d), "weight": "weight", "method": "bellman-ford"},
        lambda g, d: {"method": "by foot"}),
    "has_path": (lambda g, d: {"source": _node(g, d), "target": _node(g, d)},) * 2,
    "single_source_dijkstra_path_length": (
        *_each("source", "cutoff", (None, 0, 5)), lambda g, d: {"source": _node(g, d), "weight": None}),
    "multi_source_dijkstra_path_length": (
        lambda g, d: {"sources": _some(g, d, 3)}, lambda g, d: {"sources": set(_some(g, d, 3)), "cutoff": 4},
        lambda g, d: {"sources": []}, lambda g, d: {"sources": [*_some(g, d), "absent"]}),
    "dijkstra_path_length": (lambda g, d: {"source": _node(g, d), "target": _node(g, d)},) * 3,
    "bellman_ford_path_length": (lambda g, d: {"source": _node(g, d), "target": _node(g, d)},) * 3,
    "single_source_bellman_ford_path_length": (lambda g, d: {"source": _node(g, d)},),
    "single_source_shortest_path": _each("source", "cutoff", (None, 0, 1, 2.5)),
    "single_source_dijkstra_path": _each("source", "cutoff", (None, 0, 5)),
    "descendants": (lambda g, d: {"source": _node(g, d)},) * 2,
    "ancestors": (lambda g, d: {"source": _node(g, d)},) * 2,
    "descendants_at_distance": _each("source", "distance", (0, 1, 2, -1)),
    "ego_graph": (
        lambda g, d: {"n": _node(g, d)}, lambda g, d: {"n": _node(g, d), "radius": 2, "center": False},
        lambda g, d: {"n": _node(g, d), "radius": 3, "distance": "weight"}),
    "node_connected_component": (lambda g, d: {"n": _node(g, d)},) * 2,
    "k_core": (_nothing, lambda g, d: {"k": 2}, lambda g, d: {"k": 1, "core_number": dict.fromkeys(g, 1)}),
    "k_shell": (_nothing, lambda g, d: {"k": 1}),
    "k_crust": (_nothing, lambda g, d: {"k": 1}),
    "triangles": (_nothing, lambda g, d: {"nodes": _node(g, d)}, lambda g, d: {"nodes": _some(g, d)}),
    "clustering": (_nothing, lambda g, d: {"nodes": _node(g, d)}, lambda g, d: {"nodes": _some(g, d)}),
    "average_clustering": (_nothing, lambda g, d: {"count_zeros": False}, lambda g, d: {"nodes": _some(g, d)}),
    "sets": (_nothing, lambda g, d: {"top_nodes": _some(g, d)}),
}

LARGE = 100
"""Nodes above which functions of all pairs are left out: NetworkX takes too long."""
BY_PAIRS = {name for name, row in FUNCTIONS.items() if row.home in ("distances", "betweenness") or "all_pairs" in name}


def _outcome(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    try:
        found = function(*args, **named)
        return list(found) if isinstance(found, Iterator) else found
    except Exception as error:
        return type(error), str(error)


def _same(name: str, found: Any, wanted: Any, where: str) -> None:
    row = FUNCTIONS[name]
    if isinstance(wanted, nx.Graph):
        assert nx.utils.graphs_equal(found, wanted), where
        assert type(found) is type(wanted), where
    elif isinstance(wanted, dict):
        assert dict.keys(found) == wanted.keys(), where
        for key, value in wanted.items():
            _same(name, found[key], value, where)
        if "Nearest nodes" in row.semantics:
            assert list(found.values()) == sorted(found.values()), where
        elif name != "color":  # that one is in the order of a depth-first search
            assert list(found) == list(wanted), where
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted), where
        for one, other in zip(found, wanted):
            _same(name, one, other, where)
    elif isinstance(wanted, float) and row.tolerance != EXACT:
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-14, nan_ok=True), where
    else:
        assert found == wanted, where
        assert isinstance(found, (bool, type(wanted))) or {type(found), type(wanted)} <= {int, float}, where


REFUSES = {"single_source_dijkstra_path"}
"""Functions that refuse some of the weights drawn here when they run: those of 0."""

PATHS: dict[str, str | None] = {"single_source_shortest_path": None, "single_source_dijkstra_path": "weight"}
"""Functions that return one of several shortest paths, and by which attribute."""


def _length(graph: Graph, path: list[Any], weight: str | None) -> float:
    """Return the length of a path: the sum of the smallest weights between its nodes, from the left."""
    total = 0.0
    for u, v in itertools.pairwise(path):
        data = graph.get_edge_data(u, v)
        assert data is not None, "no path"
        total += min(edge.get(weight, 1) for edge in (data.values() if graph.is_multigraph() else [data]))
    return total


def _paths_of_equal_length(graph: Graph, found: Any, wanted: Any, weight: str | None, where: str) -> None:
    assert found.keys() == wanted.keys(), where
    lengths = []
    for node, path in found.items():
        assert (path[0], path[-1]) == (wanted[node][0], node), where
        lengths.append(_length(graph, path, weight))
        assert lengths[-1] == _length(graph, wanted[node], weight), where
    assert lengths == sorted(lengths), where


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"hits"}))
def test_function(name: str) -> None:
    """The results equal NetworkX's, with a conversion for each call and with a cached conversion."""
    reference = getattr(nx.bipartite if name in ("color", "sets", "is_bipartite") else nx, name)
    draw = random.Random(SEED ^ zlib.crc32(name.encode()))
    ran = 0
    for i, graph in enumerate(_graphs()):
        if len(graph) > LARGE and name in BY_PAIRS:
            continue
        for k, call in enumerate(CALLS.get(name, (_nothing,))):
            named = call(graph, draw)
            where = f"{name}, graph {i} ({graph}), {named if len(str(named)) < 300 else k}, seed {SEED}"
            if backend.can_run(name, (graph,), named) is not True:
                continue
            wanted = _outcome(reference, graph, **named, backend="networkx")
            with nx.config(warnings_to_ignore={"cache"}, cache_converted_graphs=bool(k % 2)):
                found = _outcome(reference, graph, **named, backend="vlang")
            if isinstance(found, tuple) and found[:1] == (NotImplementedError,):
                assert name in REFUSES, where
                continue
            ran += 1
            if name in PATHS and isinstance(wanted, dict):
                _paths_of_equal_length(graph, found, wanted, PATHS[name], where)
            else:
                _same(name, found, wanted, where)
    assert ran >= 10, f"{name} was compared {ran} times only"


def test_views_that_hide_edges() -> None:
    """Views that hide edges are converted correctly. The length of a view's row is of no use, since it also counts
    hidden edges.
    """
    for kind in KINDS:
        graph = kind([(1, 2), (2, 3), (3, 1), (3, 4)])
        view = nx.subgraph_view(graph, filter_edge=lambda *edge: 4 not in edge)
        assert nx.pagerank(view, backend="vlang") == pytest.approx(nx.pagerank(view, backend="networkx"))


def test_views_with_other_data_in_each_direction_are_refused() -> None:
    """A view of a directed graph as an undirected one may have two weights for one edge, and a filter may hide one
    direction. Views with the same data in both directions are converted.
    """
    both = nx.DiGraph([(1, 2, {"weight": 2}), (2, 1, {"weight": 5}), (2, 3, {"weight": 1})])
    for view, kept in ((both.to_undirected(as_view=True), None),
                       (nx.subgraph_view(nx.path_graph(3), filter_edge=lambda u, v: u < v), "weight")):
        with pytest.raises(NotImplementedError) as error:
            nx.pagerank(view, backend="vlang")
        assert "other data" in str(error.value.__cause__)
        if kept is None:
            assert nx.pagerank(view, weight=None, backend="vlang") == pytest.approx(
                nx.pagerank(view, weight=None, backend="networkx"))
    same = nx.DiGraph([(1, 2, {"weight": 2}), (2, 3, {"weight": 1}), (3, 3, {})]).to_undirected(as_view=True)
    assert nx.pagerank(same, backend="vlang") == pytest.approx(nx.pagerank(same, backend="networkx"))


def test_hits() -> None:
    """The scores agree approximately, since NetworkX computes them by ARPACK.

    On a graph of two equal parts, NetworkX returns one of many valid vectors.
    """
    draw = random.Random(SEED)
    for kind in KINDS:
        graph = _graph(draw, kind, 40, 200)
        for found, wanted in zip(nx.hits(graph, backend="vlang"), nx.hits(graph, backend="networkx")):
            assert list(found) == list(wanted)
            assert found == pytest.approx(wanted, abs=1e-6)
        hubs, authorities = nx.hits(graph, normalized=False, backend="vlang")
        assert math.hypot(*authorities.values()) == pytest.approx(1)
        wanted = nx.hits(graph, normalized=False, backend="networkx")[0]
        assert hubs == pytest.approx({node: abs(value) for node, value in wanted.items()}, abs=1e-6)
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.hits(nx.path_graph(50), max_iter=0, backend="vlang")
