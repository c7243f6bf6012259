"""Loops with a uniform frontier (rule X2) on the CPU have the same bits, rounds and active vertices as a pull.

The bits, rounds and active vertices are the same for every method by which a superstep may run.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.cpu.compare import same_bits
from tests.sample import EXHAUSTIVE, sampled
from vlang import Graph, Program, compile
from vlang.runtime.cpu.crew import launch as cpu
from vlang.runtime.cpu.ways import reach as cpu_reach
from vlang.runtime.cpu.ways.reach import ReachLoop
from vlang.runtime.plan.layouts.reach_words import REACH_CREW, REACH_FEW, REACH_LONG

# Each edge adds `step`. On overflow the frontier sends infinity, which reaches no vertex.
TEXT = """program reach
vertex x: {type} = {start} if {source} else {far}
repeat:
    gather a = {best}(u.x {step} for {edges})
    apply x = {best}(x, a)
"""
FORMS = {
    "one source": {"type": "int", "start": "0", "far": "inf", "best": "min", "step": "+ 1", "source": "outdegree > 40"},
    "against": {"type": "int", "start": "0", "far": "inf", "best": "min", "step": "+ 1", "edges": "self -> u"},
    "both, by floats": {"type": "float", "start": "7.5", "far": "-inf", "best": "max", "step": "- 0.5",
                        "edges": "u -- self"},
    "soon at the end": {"type": "i8", "start": "0", "far": "inf", "best": "min", "step": "+ 127"},
    "no source": {"type": "int", "start": "0", "far": "inf", "best": "min", "step": "+ 1",
                  "source": "outdegree > 99999"},
    "copied": {"type": "i64", "start": "3", "far": "inf", "best": "min", "step": "+ 0"},
}
GRAPHS = ("kron:11", "star:9000", "grid:20x30", "path:300", "uniform:10")
WAYS = {"as it is": (None, None), "wide pushes": (0, False), "wide looks": (0, True)}


@functools.cache
def program(form: str) -> Program:
    """Return a program of a form, compiled once."""
    return compile(TEXT.format(**{"edges": "u -> self", "source": "indegree % 7 == 1 or outdegree > 9", **FORMS[form]}))


@functools.cache
def graph(spec: str) -> Graph:
    """Return the graph that a generator text describes, built once."""
    made = Graph.read(spec)
    edges = made.edges()
    some = np.arange(len(edges.src)) % 3 != 1
    return Graph.from_edges(edges.src[some], edges.dst[some], n=made.n + 70, directed=spec in ("kron:11", "path:300"))


@pytest.mark.parametrize("form", sampled(FORMS, ["both, by floats", "soon at the end", "no source", "copied"]))
def test_every_way_is_as_pulled(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "early" in program(form).plan(frozenset()).stages[-1].kernels
    for spec in GRAPHS:
        want = program(form)(graph(spec), research={"mode": "pull"}, threads=1)
        for way, (narrow, look) in WAYS.items():
            with monkeypatch.context() as patched:
                if narrow is not None:
                    patched.setattr(cpu_reach, "_NARROW", narrow)
                    patched.setattr(ReachLoop, "_should_look", lambda _, look=look: look)
                for threads in (1, 3):
                    got = program(form)(graph(spec), threads=threads)
                    assert same_bits(np.asarray(want["x"]), np.asarray(got["x"])), (spec, way, threads)
                    assert [r.active for r in got.history] == [r.active for r in want.history], (spec, way, threads)
                    assert (got.rounds, got.reason) == (want.rounds, want.reason), (spec, way, threads)


def test_a_hub_is_pushed_from_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A push from a hub is divided into parts. The number of edges of a hub is slightly below or above the size of a
    part, equal to this size, or a multiple of this size.
    """
    monkeypatch.setattr(cpu_reach, "_NARROW", 0)
    monkeypatch.setattr(ReachLoop, "_should_look", lambda _: False)
    for degree in (REACH_LONG - 1, REACH_LONG, REACH_LONG + 1, 2 * REACH_LONG, 2 * REACH_LONG + 5):
        hub = np.zeros(degree, np.int64)
        made = Graph.from_edges(hub, np.arange(1, degree + 1), directed=False)
        got = program("one source")(made, threads=2)
        assert np.asarray(got["x"]).tolist() == [0] + [1] * degree
        assert [(row.active, row.edges) for row in got.history] == [(degree, degree), (0, 0)]


def test_nobody_left_is_not_looked_for() -> None:
    """If a scan has reached every reachable vertex, the last superstep traverses no edges."""
    got = program("one source")(Graph.read("uniform:14"), threads=1)
    assert got.history[-1].mode == "early-exit pull"
    assert (got.history[-1].active, got.history[-1].edges) == (0, 0)


@pytest.mark.parametrize("spec", ["grid:600x700", "uniform:12", "star:5000"])
def test_several_workers_share_a_narrow_frontier(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vertex that several workers reach at the same time is counted once."""
    monkeypatch.setattr(cpu, "_SMALL", 0)
    find = compile(TEXT.format(**{**FORMS["one source"], "edges": "u -- self", "source": "self == source"}).replace(
        "reach\n", "reach(source: vertex)\n"))
    made = Graph.read(spec)
    want = find(made, source=1, research={"mode": "pull"}, threads=1)
    assert max(row.edges for row in find(made, source=1, threads=1).history) > REACH_FEW
    for threads in (2, 3, 5, REACH_CREW + 2):
        for _ in range(4 if EXHAUSTIVE else 2):
            got = find(made, source=1, threads=threads)
            assert same_bits(np.asarray(want["x"]), np.asarray(got["x"])), threads
            assert [row.active for row in got.history] == [row.active for row in want.history], threads
