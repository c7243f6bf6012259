"""The NetworkX backend: its description, refused calls, conversions of graphs, and the modules that it loads."""

from __future__ import annotations

import inspect
import json
import logging
import os
import pickle
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.sample import EXHAUSTIVE
from vlang import stdlib
from vlang.interop.networkx.backend import backend
from vlang.interop.networkx.converted import VlangGraph
from vlang.interop.networkx.running import FOLDER, program
from vlang.interop.networkx.table import FUNCTIONS

REGISTERED = nx.utils.backends._registered_algorithms


def _chain(**weights: Any) -> Any:
    """Return the path 0 - 1 - 2 - 3 with weights given by keyword: b=3 is the weight of the second edge."""
    graph = nx.path_graph(4)
    for name, value in weights.items():
        graph.edges[list(graph.edges)["abc".index(name)]]["weight"] = value
    return graph


def test_entry_points() -> None:
    (found,) = entry_points(group="networkx.backends", name="vlang")
    assert found.load() is backend
    assert nx.config.backends.vlang is not None
    assert "vlang : Compiled vertex programs" in nx.pagerank.__doc__


def test_the_table_names_functions_and_programs_that_exist() -> None:
    assert len(FUNCTIONS) >= 25
    used = {name for row in FUNCTIONS.values() for name in row.programs}
    own = {path.stem for path in FOLDER.glob("*.vp")}
    assert own <= used <= own | set(stdlib.names())
    assert not own & set(stdlib.names())
    for name, row in FUNCTIONS.items():
        assert row.programs, name
        wanted = inspect.signature(REGISTERED[name].orig_func).parameters
        found = inspect.signature(getattr(backend, name)).parameters
        assert [(p.name, p.default) for p in wanted.values()] == [(p.name, p.default) for p in found.values()], name


def test_programs_are_valid_and_laid_out() -> None:
    for path in FOLDER.glob("*.vp"):
        assert not program(path.stem).warnings
    done = subprocess.run([sys.executable, "-m", "vlang", "fmt", "--check", *FOLDER.glob("*.vp")], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(("call", "reason"), [
    (lambda: nx.betweenness_centrality(nx.path_graph(3), endpoints=True, backend="vlang"), "`endpoints` is true"),
    (lambda: nx.closeness_centrality(nx.path_graph(3), distance="weight", backend="vlang"), "`distance` is given"),
    (lambda: nx.clustering(nx.path_graph(3, nx.DiGraph), backend="vlang"), "a directed graph"),
    (lambda: nx.dijkstra_path_length(_chain(), 0, 1, weight=lambda u, v, d: 1, backend="vlang"), "is a function"),
    (lambda: nx.average_clustering(nx.path_graph(3), nodse=1, backend="vlang"), "the arguments do not fit"),
    (lambda: nx.pagerank(nx.approximation.kcomponents._AntiGraph(nx.path_graph(3)), backend="vlang"),
     "a _AntiGraph may have neighbours of its own"),
])  # fmt: skip
def test_calls_that_mean_something_else_are_refused(
    call: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "networkx.utils.backends"), pytest.raises(NotImplementedError):
        call()
    assert reason in caplog.text


@pytest.mark.parametrize(("value", "reason"), [
    ("heavy", "has other values"), (None, "has other values"), (float("nan"), "NaN or infinity"),
    (float("inf"), "NaN or infinity"), (2**60, "beyond 2^53"), (1j, "has other values"), ([1], "has other values"),
    (-1e308, "2^500 or more"),
])  # fmt: skip
def test_weights_that_are_no_numbers_are_refused(value: Any, reason: str) -> None:
    with pytest.raises(NotImplementedError) as error:
        nx.pagerank(_chain(b=value), backend="vlang")
    assert reason in str(error.value.__cause__)
    assert nx.pagerank(_chain(b=value), weight=None, backend="vlang")


def test_starts_that_name_other_nodes_are_refused() -> None:
    """NetworkX fails at, or leaves out, a node without a start; a start of 0 would be another result."""
    for function in (nx.katz_centrality, nx.eigenvector_centrality):
        for start in ({0: 1}, {0: 1, 1: 1, "no": 1}):
            with pytest.raises(NotImplementedError) as error:
                function(_chain(), nstart=start, backend="vlang")
            assert "nstart names other nodes" in str(error.value.__cause__)
    with pytest.raises(ValueError, match="nstart has 1 values"):
        nx.hits(_chain(), nstart={0: 1.0}, backend="vlang")


def test_weights_that_dijkstra_takes_otherwise_are_refused() -> None:
    for value, reason in ((-1, "negative"), (2**52, "53 bits")):
        with pytest.raises(NotImplementedError) as error:
            nx.single_source_dijkstra_path_length(_chain(b=value), 0, backend="vlang")
        assert reason in str(error.value.__cause__)


def test_falling_back_to_networkx() -> None:
    """If NetworkX selects the backend by its priority, and not by `backend=`, NetworkX itself runs the calls that the
    backend refuses.
    """
    graph = nx.gnm_random_graph(300, 3000, seed=1)
    graph.add_edge(0, 1, weight=float("inf"))
    with nx.config(backend_priority=["vlang"]):
        assert nx.single_source_dijkstra_path_length(graph, 0)[0] == 0


def test_small_graphs_stay_with_networkx() -> None:
    small, large = nx.gnm_random_graph(100, 200, seed=1), nx.gnm_random_graph(3000, 30_000, seed=1)
    assert "faster on fewer than" in str(backend.should_run("pagerank", (small,), {}))
    assert backend.should_run("pagerank", (large,), {}) is True
    assert "converting the graph" in str(backend.should_run("degree_centrality", (large,), {}))
    nx.pagerank(large, backend="vlang")
    assert backend.should_run("degree_centrality", (large,), {}) is True


def test_conversions_are_kept_until_the_graph_changes() -> None:
    graph = _chain(a=2, b=3)
    assert nx.dijkstra_path_length(graph, 0, 2, backend="vlang") == 5
    ((kept,),) = (list(each.values()) for each in graph.__networkx_cache__["backends"].values())
    assert isinstance(kept, VlangGraph)
    with nx.config(warnings_to_ignore={"cache"}):
        assert nx.number_connected_components(graph, backend="vlang") == 1
        assert [id(kept)] == [id(one) for one in graph.__networkx_cache__["backends"]["vlang"].values()]
        graph.add_edge(0, 2, weight=1)
        assert nx.dijkstra_path_length(graph, 0, 2, backend="vlang") == 1
    assert nx.pagerank(pickle.loads(pickle.dumps(kept)), backend="vlang") == nx.pagerank(kept, backend="vlang")


@pytest.mark.parametrize("view", [
    lambda graph: graph.subgraph([0, 1, 2]), lambda graph: graph.edge_subgraph([(0, 1), (1, 2)]),
    lambda graph: graph.reverse(copy=False), lambda graph: graph.to_undirected(as_view=True),
], ids=["subgraph", "edges", "reverse", "undirected"])
def test_a_view_follows_its_graph(view: Any) -> None:
    graph = nx.path_graph(4, nx.DiGraph)
    seen = view(graph)
    for change, edge in (graph.add_edge, (2, 0)), (graph.add_edge, ("k", 2)), (graph.remove_edge, (0, 1)):
        assert nx.pagerank(seen, backend="vlang") == pytest.approx(nx.pagerank(seen, backend="networkx"))
        change(*edge)
    assert nx.pagerank(seen, backend="vlang") == pytest.approx(nx.pagerank(seen, backend="networkx"))


def _reordered() -> Any:
    """Return a graph whose rows are stored in another order than its nodes."""
    graph = nx.gnp_random_graph(40, 0.2, seed=1, directed=True)
    graph._adj = dict(reversed(graph._adj.items()))
    return graph


@pytest.mark.parametrize("made", [
    lambda: nx.Graph([(1, 2), (1.0, 3), (True, 4), (np.int64(2), 5), (2.0, 6)]),
    lambda: nx.DiGraph([(2**70, 1), (1, -(2**63))]),
    lambda: nx.DiGraph([("a", (1, 2)), ((1, 2), "b"), ("b", 7)]), _reordered,
    lambda: nx.subgraph_view(_reordered(), filter_node=lambda node: node % 3),
    lambda: nx.gnm_random_graph(300, 20_000, seed=1),
], ids=["equal keys", "large", "of several types", "other order", "a view", "many entries"])
def test_nodes_and_rows_of_any_kind(made: Any) -> None:
    graph = made()
    ranks = nx.pagerank(graph, backend="vlang")
    assert list(ranks) == list(graph)
    assert ranks == pytest.approx(nx.pagerank(graph), abs=1e-12)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_converted_graphs_are_graphs_of_networkx_again(kind: type) -> None:
    graph = kind([("a", "b"), ("b", "b"), ("b", "c"), ("c", "b"), ("b", "c")])
    graph.add_node("alone")
    assert nx.utils.graphs_equal(backend.convert_to_nx(backend.convert_from_nx(graph)), graph)
    if not graph.is_multigraph():
        nx.set_edge_attributes(graph, 2, "cost")
        again = backend.convert_to_nx(backend.convert_from_nx(graph, edge_attrs={"cost": 1}))
        assert nx.utils.graphs_equal(again, graph)


def test_attributes_of_parallel_edges() -> None:
    """Shortest paths use the smallest weight of parallel edges, PageRank uses the sum, and a missing weight is 1."""
    graph = nx.MultiDiGraph()
    graph.add_edges_from([(0, 1, {"weight": 5}), (0, 1, {"weight": 3}), (0, 2, {}), (2, 1, {"weight": 1.5})])
    for function, named in ((nx.dijkstra_path_length, {"source": 0, "target": 1}), (nx.pagerank, {})):
        wanted = function(graph, **named, backend="networkx")
        assert function(graph, **named, backend="vlang") == pytest.approx(wanted, rel=1e-12)


def _loaded(code: str) -> list[str]:
    found = subprocess.run([sys.executable, "-c", f"{code}; import json, sys; print(json.dumps(sorted(sys.modules)))"],
                           capture_output=True, text=True, check=True)
    return list(json.loads(found.stdout))


def test_imports_load_no_more_than_they_need() -> None:
    assert "networkx" not in _loaded("import vlang; vlang.Graph")
    others = ("vlang", "numpy", "numba", "llvmlite", "lark")
    mine = [name for name in _loaded("import networkx") if name.partition(".")[0] in others]
    assert mine == ["vlang", "vlang.interop", "vlang.interop.networkx", "vlang.interop.networkx.info",
                    "vlang.interop.networkx.table"]



SUITE = ("link_analysis/tests/test_pagerank.py", "components/tests/test_connected.py",
         "components/tests/test_strongly_connected.py", "shortest_paths/tests/test_unweighted.py", "tests/test_core.py",
         "tests/test_isolate.py", "bipartite/tests/test_basic.py")
"""Some of the tests of NetworkX for functions of the table; `make nightly` runs all tests of NetworkX."""


@pytest.mark.parametrize("fallback", ["True", ""] if EXHAUSTIVE else [""])
def test_the_tests_of_networkx(fallback: str, tmp_path: Path) -> None:
    """NetworkX's own tests pass without fallback; `make nightly` also runs them with fallback.

    Without fallback, NetworkX marks tests of functions that the table lacks as expected failures.
    """
    folder = Path(nx.__file__).parent
    files = [folder] if EXHAUSTIVE else [folder / "algorithms" / name for name in SUITE]
    env = {**os.environ, "NETWORKX_TEST_BACKEND": "vlang", "NETWORKX_FALLBACK_TO_NX": fallback}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", folder,
         "-c", os.devnull, *files],
        env=env, cwd=tmp_path, capture_output=True, text=True, check=False)  # fmt: skip
    closing = done.stdout.rstrip().rpartition("\n")[2]
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.match(r"\d{2,} passed", closing), closing
    assert bool(re.search(r"\d+ xfailed", closing)) == (not fallback) or EXHAUSTIVE, closing
