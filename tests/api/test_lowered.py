"""A program lowered for a graph has the same texts that `explain` prints, and its cost agrees with the counts of a run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vlang
from tests.reference.cases import without_needs
from tests.reference.graphs import family, to_graph
from vlang import stdlib


@pytest.fixture(scope="module")
def graph() -> vlang.Graph:
    return to_graph(family("messy", weights="float"))


@pytest.mark.parametrize("name", stdlib.names())
def test_every_program_has_a_cost_on_both_devices(graph: vlang.Graph, name: str) -> None:
    for device in ("cpu", "gpu"):
        lowered = vlang.load(name).lower(graph, device=device)
        cost = lowered.cost()
        assert cost.memory == max(cost.building, cost.running) >= cost.adjacency + cost.columns >= 4 * graph.n
        assert [one.line for one in cost.supersteps] == [loop.line for loop in lowered.plan.loops]
        if any("weight" in dict(stage.columns) for stage in lowered.plan.stages):
            assert cost.columns >= graph.m


@pytest.mark.parametrize(("name", "directed"), [
    ("pagerank", True), ("pagerank", False), ("hits", True), ("components", False), ("cdlp", True), ("kcore", True),
])
def test_edges_are_those_that_a_run_counts(name: str, directed: bool) -> None:
    graph = to_graph(family("messy", weights="float", directed=directed))
    program = without_needs(name)
    (superstep,) = program.lower(graph).cost().supersteps
    result = program(graph, max_rounds=1, research={"mode": "pull"})
    assert superstep.edges == result.history[0].edges > 0


def test_bytes_follow_from_counts() -> None:
    """PageRank reads a target and a message per edge, and an offset and a rank per vertex.

    Without hoisted messages, PageRank reads a rank and a degree per edge.
    """
    karate = vlang.Graph.read("karate")
    pagerank = vlang.load("pagerank")
    n, m = karate.n, karate.m
    for research, bits, each in (({}, 32, 4 + 4), ({}, 64, 4 + 8), ({"without": "hoist"}, 32, 4 + 4 + 4)):
        (superstep,) = pagerank.lower(karate, precision=bits, research=research).cost().supersteps
        assert superstep.bytes == each * m + 8 * (n + 1) + bits // 8 * n
    cost = pagerank.lower(karate).cost()
    assert (cost.adjacency, cost.columns) == (4 * m + 8 * (n + 1), 0)
    assert cost.state == 4 * n * len(["rank", "the next rank", "messages", "degrees"])


def test_columns_and_vectors_have_their_widths() -> None:
    graph = vlang.Graph.from_edges([0, 1], [1, 2], weight=np.array([1, 2], np.float32))
    program = vlang.compile("program p\nvertex x: float[3] = 0\nedge weight: float\nrepeat 2 times:\n"
                            "    gather s = sum(u.x * weight for u -> self)\n    apply x = s\n")
    cost = program.lower(graph).cost()
    (superstep,) = cost.supersteps
    assert superstep.bytes == 2 * (4 + 4 + 12) + 8 * (3 + 1) + 12 * 3
    assert (cost.columns, cost.state) == (2 * 4, 2 * 12 * 3 + 3)  # the last 3 are a byte per vertex for the frontier


def test_texts_are_those_of_explain(graph: vlang.Graph) -> None:
    program = vlang.load("sssp")
    for stage in ("tree", "ir", "facts", "numba", "cuda", "plan"):
        assert program.lower(graph).text(stage) == program.explain(stage, graph)
    lowered = program.lower(graph, research={"without": "pack"})
    assert lowered.text("plan") != program.explain("plan", graph)
    assert str(lowered.cost()) in lowered.text("plan")
    assert lowered.plan.text == lowered.text("numba")
    assert program.lower(graph, device="gpu").plan.text.endswith(program.explain("cuda", graph)[-200:])
    assert program.lower(precision=64).facts is not program.lower().facts
    assert "change(" in vlang.load("katz").lower(derive="delta").text("ir")


@pytest.mark.parametrize(("given", "message"), [
    ({"device": "auto"}, "device='auto' is decided when a program runs"),
    ({"source": 1}, "`source` belongs to sssp itself, and is given when it runs; lower takes run options"),
    ({"mode": "pull"}, "mode is a research option"),
    ({"thread": 1}, "did you mean `threads`?"),
])
def test_what_cannot_be_lowered(given: dict[str, Any], message: str) -> None:
    with pytest.raises(vlang.BindError) as caught:
        vlang.load("sssp").lower(**given)
    assert message in str(caught.value)


def test_without_a_graph_there_is_no_cost() -> None:
    lowered = vlang.load("sssp").lower()
    with pytest.raises(vlang.BindError, match=r"write sssp.lower\(graph\).cost\(\)"):
        lowered.cost()
    with pytest.raises(vlang.BindError, match="there is no stage 'asm'"):
        lowered.text("asm")
