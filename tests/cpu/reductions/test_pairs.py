"""Reductions over common neighbours, and edge fields between two vertices, are compared with the reference interpreter.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, case_of, interpreted
from tests.reference.graph import RefGraph
from tests.reference.graphs import family, random_graph
from vlang import Program, compile

PAIRS = compile("""program pairs(k = 2)
edge   weight: float  = 1
vertex x:      int    = degree % 5
vertex a:      float  = 0
vertex c:      vertex = self
vertex d:      int    = sum(sum(w.degree for w in common(self, u)) for u -> self)
vertex e:      bool   = any(any(w.x > x for w in common(u, self) if w != u) for u -- self)
vertex f:      int    = sum(edges(u, self) * count(true for w in common(self, u)) - edges(self, u) for u -- self)
repeat 3 times:
    gather p = sum(sum(weight * weight(self, w) + weight(w, u) * u.x for w in common(self, u) if w.x > k % 3)
                   for u -- self)
    gather q = max((sum(w.x + x for w in common(self, u)), u) for self -> u if u.x != 1)
    gather r = min(min(w.c for w in common(self, u), default = u.c) for u -> self)
    gather s = sum(count(w.x == u.x and edges(u, w) > edges(w, u) for w in common(self, u)) for u -> self)
    apply  (c, x) = (r, (x + q[0] + s) % 11)
    apply  a = a + p / 64 + weightless(x)
fn weightless(y: int): float = 0.25 * (y % 3)
""")

WHOLE = compile("""program whole
edge   weight: i8 = 3
vertex a: i8  = max(max(weight(self, w) + weight(w, u) for w in common(self, u)) for u -> self)
vertex b: int = sum(weight(self, u) - weight(u, self) for u -- self)
""")


def graphs() -> list[RefGraph]:
    names = ("messy", "rmat", "complete", "empty", "one_loop")
    found = [family(name, directed) for name in names for directed in (True, False)]
    return [*found, *(random_graph(seed, largest=9) for seed in range(4))]


@pytest.mark.parametrize("program", [PAIRS, WHOLE], ids=["pairs", "whole"])
def test_against_the_interpreter(program: Program) -> None:
    for graph in graphs():
        whole = graph.with_columns(weight=np.floor(graph.columns["weight"] * 12).astype(np.int64))
        case = case_of(graph if program is PAIRS else whole)
        assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))


def test_a_graph_without_the_column() -> None:
    """If the graph lacks the column, every edge has the default value of the edge field."""
    for seed in range(3):
        graph = random_graph(seed, largest=9)
        bare = case_of(type(graph)(graph.n, graph.src, graph.dst, {}, graph.directed))
        for program in (PAIRS, WHOLE):
            assert_as_interpreted(program, bare, assert_cut_free(program, bare), interpreted(program, bare))


def test_loop_variables_have_no_names_of_types() -> None:
    """A variable `i8` would hide the type in the whole kernel. The numbers in the names of variables depend on the rest
    of the expression.
    """
    parts = " + ".join(f"count(w.outdegree > {k} for w in common(self, u))" for k in range(3))
    text = compile(f"program p\nvertex x: int = sum({parts} for u -- self)\n").explain("numba")
    assigned = set(re.findall(r"\b(\w+), j\d+ = next_common", text))
    assert len(assigned) == 3
    assert not any(re.fullmatch(r"[iuf]\d+", name) for name in assigned)
