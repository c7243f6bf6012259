"""If the rows of a graph are in another order than the vertices, as in page files by degree, results stay the same."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

import vlang
from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted, same_bits
from tests.cuda.runs import emulated
from tests.reference.cases import MORE, STDLIB, case
from tests.reference.graphs import family, to_graph
from tests.sample import EACH_KIND, sampled
from vlang.runtime.graph.edges.order import Order


def _orders(graph: vlang.Graph) -> list[np.ndarray[tuple[int], np.dtype[np.uint32]]]:
    """Return two orders of the rows: by degree, as in page files, and random."""
    by_degree = np.argsort(~graph.degree, kind="stable").astype(np.uint32)
    return [by_degree, np.random.default_rng(5).permutation(graph.n).astype(np.uint32)]


@pytest.mark.parametrize("name", sampled([*STDLIB, *MORE], ["louvain", "walks", *EACH_KIND[::2]]))
def test_every_program_gives_the_same_in_any_order(name: str) -> None:
    program = vlang.load(name)
    given = case(name, family("messy"))
    assert given is not None
    plain = to_graph(given.graph)
    want, outcome = engine_run(program, given, plain), interpreted(program, given)
    for number, dense in enumerate(_orders(plain)):
        graph = plain.ordered(dense)
        for cut in ({"mode": "auto", "threads": 2, "page_size": 256}, {"mode": "pull", "threads": 1}):
            result = engine_run(program, given, graph, **cut)
            assert_as_interpreted(program, given, result, outcome, same_rounds=False)
            for field in result.fields:
                if result[field].dtype.kind != "f":
                    assert same_bits(np.asarray(want[field]), np.asarray(result[field])), (name, field, number)


@pytest.mark.skipif(shutil.which("g++") is None, reason="the emulated GPU needs g++")
def test_an_order_on_a_gpu() -> None:
    program, given = vlang.load("bfs_tree"), case("bfs_tree", family("messy"))
    assert given is not None
    plain = to_graph(given.graph)
    with emulated(seed=1):
        result = engine_run(program, given, plain.ordered(_orders(plain)[0]), device="emulated")
    assert_as_interpreted(program, given, result, interpreted(program, given), same_rounds=False)


def test_numbers_of_vertices_are_those_of_the_caller() -> None:
    """Ids, `vertex` values, ties, random numbers, sets and targets refer to the user's vertices, not to rows."""
    text = """program numbers(members: vertices, one: vertex)
vertex best: vertex = self
vertex far: vertex = none
vertex drawn: float = random(7, self)
vertex place: int = position(self, members)
vertex is_one: bool = self == one
repeat 2 times:
    gather found = max(u.best for u -> self)
    apply far = found
repeat 3 times:
    gather least = min(u.best for u -> self, default = self)
    apply best = least.best
"""
    program = vlang.compile(text)
    rng = np.random.default_rng(3)
    names = np.array([f"v{k:03d}" for k in rng.permutation(300)])
    plain = vlang.Graph.from_edges(names[rng.integers(0, 300, 1500)], names[rng.integers(0, 300, 1500)])
    arguments = {"members": ["v007", "v100", "v050"], "one": "v100"}
    want = program(plain, **arguments)
    for dense in _orders(plain):
        graph = plain.ordered(dense)
        found = program(graph, **arguments)
        for field in want.fields:
            assert np.array_equal(want[field], found[field]), field
        assert np.array_equal(plain.out_degree, graph.out_degree)
        assert np.array_equal(plain.degree, graph.degree)
        sssp = vlang.load("sssp")
        weighted = plain.with_rule_weights(1, 9)
        target = sssp(weighted.ordered(dense), source="v007", target="v050")
        assert target.row("v050") == sssp(weighted, source="v007").row("v050")


def test_edges_changes_and_files_are_in_the_order_of_the_ids() -> None:
    plain = vlang.Graph.from_edges([5, 9, 5, 7, 9], [9, 5, 7, 7, 7], weight=[1, 2, 3, 4, 5])
    graph = plain.ordered(np.array([2, 0, 1], np.uint32))
    assert graph.order is not None
    back = graph.plain()
    assert back.order is None
    for a, b in ((plain, back), (plain, graph)):
        one, two = a.edges(), b.edges()
        assert np.array_equal(one.src, two.src)
        assert np.array_equal(one.dst, two.dst)
        assert np.array_equal(one.columns["weight"], two.columns["weight"])
    assert np.array_equal(graph.changed(removed=[(5, 7)]).edges().dst, plain.changed(removed=[(5, 7)]).edges().dst)
    assert np.array_equal(graph.with_rule_weights(1, 50).edges().columns.get("weight", 0),
                          plain.with_rule_weights(1, 50).edges().columns.get("weight", 0))
    assert graph.thinned("drop").m == plain.thinned("drop").m
    with pytest.raises(vlang.ResumeError, match=r"run bfs on graph.plain\(\) first"):
        vlang.load("bfs").resume(vlang.load("bfs")(graph, source=5), added={"src": [5], "dst": [9], "weight": [1]})
    with pytest.raises(vlang.Error, match="for vertex 9"):
        vlang.compile("program p\nvertex x: float\nrequire x >= 0\n")(graph, x=[1.0, 2.0, -3.0])


def test_an_order_and_its_inverse() -> None:
    order = Order.of(np.array([2, 0, 1], np.uint32))
    assert order.internal.tolist() == [1, 2, 0]
    values = np.arange(6)
    assert order.outward(order.inward(values)).tolist() == values.tolist()
    assert order.inward(np.array([10, 11, 12])).tolist() == [12, 10, 11]
