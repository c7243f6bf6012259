"""If a run stops at a target (rule O), its final vertices have the same values as after a complete run."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cpu.compare import engine_run, interpreted
from tests.reference.cases import Case
from tests.reference.graphs import RefGraph, ref_graphs, to_graph
from tests.spelled import spelled
from vlang import BindError, Graph, GraphError, Program, load
from vlang import compile as compile_text
from vlang.errors import ResumeError
from vlang.runtime.cpu.crew import launch as cpu
from vlang.runtime.cpu.ways import priority as cpu_priority
from vlang.runtime.plan.layouts.order_words import ORDER_GRANT

COLUMNS = {"sssp": "weight", "sswp": "bandwidth", "viterbi": "chance"}
VALUES = (0.0, 0.5, 1.0, 0.25, 1e-30, 0.1)
AFTER = """program after(source: vertex)
edge weight: float = 1
vertex dist: float = 0 if self == source else inf
require weight >= 0
repeat:
    gather near = min(u.dist + weight for u -> self)
    apply dist = min(dist, near)
global far: float = max(v.dist for v in vertices)
"""
NEGATIVE = AFTER.replace("require weight >= 0\n", "").replace("global far: float = max(v.dist for v in vertices)\n", "")
COUNTED = NEGATIVE.replace("repeat:", "repeat 3 times:")


@functools.cache
def program(name: str) -> Program:
    """Return a program by name, compiled once."""
    return load(name)


@settings(max_examples=40, deadline=None)
@given(ref_graphs(), st.data())
def test_settled_values_are_those_of_the_interpreter(drawn: RefGraph, data: st.DataObject) -> None:
    if drawn.n == 0:
        return
    name = data.draw(st.sampled_from(sorted(COLUMNS)))
    choice = np.array(data.draw(st.lists(st.sampled_from(VALUES), min_size=11, max_size=11)), np.float32)
    low, high = np.minimum(drawn.src, drawn.dst), np.maximum(drawn.src, drawn.dst)
    column = choice[(31 * low + 17 * high) % 11]  # the same in both directions
    graph = RefGraph(drawn.n, drawn.src, drawn.dst, {COLUMNS[name]: column}, drawn.directed)
    case = Case(graph, {"source": data.draw(st.integers(0, drawn.n - 1))})
    target = data.draw(st.integers(0, drawn.n - 1))
    delta = data.draw(st.sampled_from((0.03125, 1.0, 2.0**40)))
    ((field, want),) = interpreted(program(name), case).fields.items()
    want = np.asarray(want)
    worse = want < want[target] if name != "sssp" else want > want[target]
    for threads in (1, 2):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(cpu_priority, "choose_delta", lambda stage, out: delta)
            patched.setattr(cpu, "_SMALL", 0)
            got = engine_run(program(name), case, to_graph(graph), threads=threads, target=target)
        assert got.final is not None
        assert np.array_equal(got.final, ~worse), (name, delta, threads)
        assert got.final[target]
        assert np.array_equal(got[field][~worse], want[~worse]), (name, delta, threads)
        assert got.converged == bool(got.final.all())


@pytest.mark.parametrize("threads", [1, 2])
def test_fewer_edges_on_a_grid(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.read("grid:60x60,weights=1..63")
    sssp = program("sssp")
    whole = sssp(graph, source=0, threads=threads)
    assert whole.final is None
    monkeypatch.setattr(cpu, "_SMALL", 0)
    near = sssp(graph, source=0, target=305, threads=threads)
    assert near.edges < whole.edges / 3
    assert not near.converged
    assert near.final is not None
    assert near.reason == f"stopped at its target: {near.final.sum():,} of 3,600 vertices have final values"
    assert np.array_equal(near.final, whole["dist"] <= whole["dist"][305])
    assert np.array_equal(near["dist"][near.final], whole["dist"][near.final])


def test_vertices_that_wait_for_room_are_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph.read("kron:11,weights=1..63")
    want = program("sssp")(graph, source=1, research={"schedule": "rounds"})["dist"]
    monkeypatch.setattr(cpu_priority, "choose_delta", lambda stage, out: 1.0)
    for runs, threads in ((3 * ORDER_GRANT, 1), (5 * ORDER_GRANT, 3)):
        monkeypatch.setattr(cpu_priority, "runs_of", lambda n, workers, runs=runs: runs)
        for target in (0, 7, 300, 1500):
            got = program("sssp")(graph, source=1, target=target, threads=threads)
            final = want <= want[target]
            assert got.final is not None
            assert np.array_equal(got.final, final), (runs, target)
            assert np.array_equal(got["dist"][final], want[final]), (runs, target)


def test_out_of_reach() -> None:
    """If the target is unreachable, the run computes all vertices."""
    graph = Graph.from_edges([0, 1, 3], [1, 2, 4], weight=np.array([1.0, 2.0, 1.0], np.float32))
    got = program("sssp")(graph, source=0, target=4)
    assert got.converged
    assert got.reason == "no vertex is active"
    assert got.final is not None
    assert got.final.all()
    assert got["dist"].tolist() == [0, 1, 3, np.inf, np.inf]


def test_what_is_shown(tmp_path: Path) -> None:
    """The printed rows and ranges cover final vertices only."""
    graph = Graph.from_edges(["a", "b", "c"], ["b", "c", "d"], weight=np.array([1.0, 2.0, 3.0], np.float32))
    got = program("sssp")(graph, source="a", target="b")
    assert [row["vertex"] for row in got.top(10)] == ["a", "b"]
    assert [row["vertex"] for row in got.top(1, largest=True)] == ["b"]
    assert "dist: 0.0 to 1.0" in got.summary()
    assert got.summary_dict()["final"] == 2
    file = tmp_path / "near.csv"
    got.to_csv(file)
    assert file.read_text() == "vertex,dist\na,0.0\nb,1.0\n"
    got.to_json(tmp_path / "near.json")
    assert '"vertex": ["a", "b"], "fields": {"dist": [0.0, 1.0]}' in (tmp_path / "near.json").read_text()
    got.to_npz(tmp_path / "near.npz")
    assert np.load(tmp_path / "near.npz")["dist"].tolist() == [0, 1]
    with pytest.raises(ResumeError, match="stopped at its target"):
        program("sssp").resume(got, added=[("a", "d")])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (AFTER, "after cannot stop at a target: line 5: what is computed after the loop needs the final values"),
        (NEGATIVE, r"line 4: the loop cannot run in order of priority \(rule O\)"),
        (COUNTED, "line 4: the loop counts supersteps"),
        ("program none\nvertex x: int = 1", "that is for programs with one loop, and it has none"),
    ],
)
def test_programs_that_cannot(text: str, why: str) -> None:
    source = {"source": 1} if "source" in text else {}
    with pytest.raises(BindError, match=why):
        compile_text(text)(Graph.read("karate"), **source, target=2)


def test_stdlib_programs_that_cannot() -> None:
    karate = Graph.read("karate")
    for name in ("bfs", "components", "pagerank", "mis"):
        source = {"source": 1} if any(p.name == "source" for p in load(name).params) else {}
        with pytest.raises(BindError, match=f"{name} cannot stop at a target: "):
            load(name)(karate, **source, target=2)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"mode": "pull"}, "mode='pull' says how supersteps run"),
        ({"max_rounds": 3}, "max_rounds says how supersteps run"),
        ({"schedule": "rounds"}, 'schedule="rounds" says how'),
        ({"asynchronous": True}, "asynchronous=True says how"),
        ({"device": "gpu"}, "target is for runs on the CPU"),
        ({"chaos": 1}, "chaos compares whole results"),
    ],
)
def test_options_that_exclude_it(options: dict[str, Any], why: str) -> None:
    with pytest.raises(BindError, match=why):
        program("sssp")(Graph.read("karate"), source=1, target=2, **spelled(**options))


def test_no_vertex() -> None:
    with pytest.raises(GraphError, match="vertex 99 is not in the graph"):
        program("sssp")(Graph.read("karate"), source=1, target=99)


def test_a_field_of_that_name_may_still_be_given() -> None:
    text = "program own()\nvertex target: int = 1\nvertex twice: int = 2 * target"
    karate = Graph.read("karate")
    assert compile_text(text)(karate, target=np.full(karate.n, 5))["twice"].tolist() == [10] * karate.n
