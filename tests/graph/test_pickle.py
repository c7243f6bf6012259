"""Graphs in pickles, stored as arrays or by path, and ids as a sequence."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlang
from tests.graph.oracle import draw
from tests.graph.test_build import SEED, graph_of, same
from vlang import Graph, GraphError
from vlang.runtime.graph.edges.edge_list import VertexIds


def again(what: Any) -> Any:
    return pickle.loads(pickle.dumps(what))


def facts(graph: Graph) -> tuple[Any, ...]:
    return (graph.name, graph.n, graph.m, graph.directed, graph.ids.tolist(), dict(graph.columns), graph.notes,
            graph.warnings, dict(graph.left_out), graph.rule, graph.threads)  # fmt: skip


@pytest.mark.parametrize("built", [(), ("in",), ("out",), ("out", "in", "both")])
@pytest.mark.parametrize("directed", [True, False])
def test_a_graph_comes_back(built: tuple[str, ...], directed: bool) -> None:
    drawn = draw(np.random.default_rng([SEED, 31]), 50, 900)
    graph = graph_of(drawn, directed)
    for kind in built:
        graph.adjacency(kind)
    for other in (again(graph), copy.copy(graph), copy.deepcopy(graph), again(again(graph))):
        assert facts(other) == facts(graph)
        for kind in ("out", "in", "both"):
            same(other, drawn, kind)
        assert not other.built().targets.flags.writeable


@pytest.mark.parametrize("ids", [[5, 70, 900], [2**63, 2**64 - 1, 0], ["b", "ä", ""]])
def test_ids_notes_and_rules_come_back(ids: list[Any]) -> None:
    graph = Graph.from_edges([0, 1], [1, 2], ids=np.array(ids, dtype=object), weight=[1, 2])
    for one in (graph, graph.with_rule_weights(1, 9), graph.thinned("drop", "drop")):
        for built in (False, True):
            if built:
                one.built()
            other = again(one)
            assert facts(other) == facts(one)
            assert other.adjacency("in").column("weight").tolist() == one.adjacency("in").column("weight").tolist()
    assert not again(graph).ids.values.flags.writeable


def test_what_was_left_out_comes_back(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("a,b,name\n1,2,x\n")
    graph = Graph.read(tmp_path / "g.csv")
    assert graph.warnings
    assert graph.left_out
    assert facts(again(graph)) == facts(graph)


# ------------------------------------------------------------------ by path


def test_by_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pickle of a graph by path is small, and its path is absolute."""
    (tmp_path / "g").write_text("".join(f"{i} {i + 1} 5\n" for i in range(3000)))
    (tmp_path / "v").write_text("".join(f"{i}\n" for i in range(4000)))
    monkeypatch.chdir(tmp_path)
    graph = Graph.read("g", directed=False, weights=3, vertices="v", self_loops="drop", columns=iter(["weight"]))
    data = pickle.dumps(graph.by_path())
    assert len(data) < 2000 < len(pickle.dumps(graph))
    monkeypatch.chdir("/")
    other = pickle.loads(data)
    assert (other.n, other.m, other.directed, other.columns) == (4000, 6000, False, graph.columns)
    assert len(pickle.dumps(other)) < 2000
    assert len(pickle.dumps(graph)) > 2000
    assert vlang.load("bfs")(graph.by_path(), source=0).depth[-1] == vlang.load("bfs")(graph, source=0).depth[-1]


def test_by_path_of_generators_and_saved_graphs(tmp_path: Path) -> None:
    karate = Graph.read("karate", weights="1..9")
    karate.save(tmp_path / "k.npz")
    for graph in (karate, Graph.read(tmp_path / "k.npz")):
        other = again(graph.by_path())
        assert facts(other) == facts(graph)
        assert len(pickle.dumps(graph.by_path())) < 1000


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "g").write_text("1 2\n")
    data = pickle.dumps(Graph.read(tmp_path / "g").by_path())
    os.utime(tmp_path / "g", ns=(1, 1))
    with pytest.raises(GraphError, match="the file has changed since the graph that was pickled by this path was read"):
        pickle.loads(data)
    (tmp_path / "g").unlink()
    with pytest.raises(GraphError, match="the file is not there"):
        pickle.loads(data)


def test_graphs_without_a_path() -> None:
    karate = Graph.read("karate")
    for graph in (Graph.from_edges([1], [2]), karate.thinned("drop"), karate.changed(removed=[(1, 2)]),
                  karate.with_rule_weights(1, 2)):
        with pytest.raises(GraphError, match="is not as it was read from a file or a generator: save it"):
            graph.by_path()


# ------------------------------------------------------------------ other processes


def depth(program: vlang.Program, graph: Graph, source: int) -> int:
    return int(program(graph, source=source, threads=1).depth.sum())


def test_programs_and_graphs_in_spawned_processes() -> None:
    program, graph = vlang.load("bfs"), Graph.read("karate")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        found = [pool.submit(depth, program, one, source) for one in (graph, graph.by_path()) for source in (1, 34)]
        assert [one.result(60) for one in found] == [depth(program, graph, source) for source in (1, 34)] * 2


def test_programs_come_back() -> None:
    program = vlang.compile("program p(k: int = 2)\nvertex x: int = k\n", "mine.vp", 64)
    other = again(program)
    assert (other.name, other.filename, other.precision, other.source) == ("p", "mine.vp", 64, program.source)
    assert again(vlang.load("katz").derived("delta")).derive == "delta"


# ------------------------------------------------------------------ ids as a sequence


@pytest.mark.parametrize("values", [[3, 4, 5, 6], [1, 5, 70, 900], ["a", "b", "ä", "ü"], [1, 2, 3, 2**64 - 1]])
def test_ids_are_a_sequence(values: list[Any]) -> None:
    ids = Graph.from_edges([0], [1], ids=np.array(values, dtype=object)).ids
    assert (len(ids), ids.shape, list(ids), ids.tolist()) == (4, (4,), values, values)
    assert [ids[i] for i in range(-4, 4)] == values * 2
    assert all(type(one) is type(values[0]) for one in ids)
    assert ids[1:3].tolist() == values[1:3] == ids[[1, 2]].tolist() == ids[np.array([1, 2])].tolist()
    assert ids[np.array([False, True, True, False])].tolist() == values[1:3]
    assert np.asarray(ids).tolist() == values
    assert np.asarray(ids).dtype == ids.dtype == ids.values.dtype
    assert values[2] in ids
    assert 17 not in ids
    assert None not in ids
    assert list(reversed(ids)) == values[::-1]
    assert repr(ids) == f"VertexIds({values})"
    for wrong in (4, -5):
        with pytest.raises(IndexError, match=f"index {wrong} of 4 ids"):
            ids[wrong]


def test_long_ids() -> None:
    ids = VertexIds(base=5, count=25_000)
    assert repr(ids) == "VertexIds([5, 6, 7, ..., 25002, 25003, 25004], count=25,000)"
    assert list(ids) == list(range(5, 25_005))
    assert vlang.load("pagerank")(Graph.read("path:50"), threads=1).ids.tolist() == Graph.read("path:50").ids.tolist()
    sources = Graph.read("path:9").ids[2:4]
    assert vlang.load("khop")(Graph.read("path:9"), sources=sources, hops=1).fields
