"""A `require` about values that the program computes is checked at its place in the program, on every target."""

from __future__ import annotations

import pytest

from tests.cuda.runs import emulated
from tests.reference.graph import ref_graph
from tests.reference.interpreter import run
from vlang import Graph, GraphError, ProgramError, compile, load
from vlang.check import parse

TEXT = """program p(most = 2)
vertex far: int = 0 if indegree == 0 else -inf
repeat:
    gather near = max(u.far + 1 for u -> self)
    apply  far = max(far, near)
let longest = max(v.far for v in vertices)
require longest <= most
require most > 0
global half: int = longest // 2
require half < 40 and longest < 45
"""


def graph(n: int) -> Graph:
    return Graph.from_edges(list(range(n)), list(range(1, n + 1)))


def test_where_it_stands() -> None:
    program = compile(TEXT)
    assert program(graph(2))["half"] == 1
    for given, most, said in (
        (graph(3), 2, "line 7: `require longest <= most` does not hold; longest is 3, most is 2"),
        (graph(2), 0, "line 8: `require most > 0` does not hold"),
        (graph(48), 99, "line 10: `require half < 40 and longest < 45` does not hold; half is 24, longest is 48"),
    ):
        with pytest.raises(GraphError) as error:
            program(given, most=most)
        assert str(error.value) == said
        edges = [(i, i + 1) for i in range(given.m)]
        with pytest.raises(Exception, match="does not hold"):
            run(parse(TEXT, "p"), ref_graph(given.n, edges, True), {"most": most})
    with emulated(), pytest.raises(GraphError, match="longest is 3"):
        program(graph(3), device="emulated")


def test_of_every_vertex() -> None:
    with pytest.raises(ProgramError, match="`require` reads a value of every edge or vertex before the program runs"):
        compile("program p\nedge w: int = 1\nlet most = max(v.degree for v in vertices)\nrequire w < most\n")


def test_a_cycle_has_no_longest_path() -> None:
    with pytest.raises(GraphError, match="`require in_or_after_cycles == 0` does not hold; in_or_after_cycles is 3"):
        load("longest_path")(Graph.from_edges([0, 1, 2, 2], [1, 2, 1, 3]))
