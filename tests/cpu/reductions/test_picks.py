"""`pick`, and `edge` as a key of `random`, are compared with the reference interpreter and with the expected
distributions.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cpu.both import long_graph
from tests.cpu.compare import assert_as_interpreted, assert_cut_free, case_of, interpreted
from tests.paged.stores import opened, streaming
from tests.reference.graphs import family, random_graph, to_graph
from tests.spelled import spelled
from vlang import BindError, Graph, Program, compile

KEYS = compile("""program keys(seed = 3)
vertex into: float = sum(random(seed, edge) for u -> self)
vertex out:  float = sum(random(seed, edge) for self -> u)
vertex ends: float = max(random(seed, 7, edge, u) for u -- self)
vertex near: int   = 0 if self == none else degree % 3
repeat 3 times:
    gather least = min(near + u.near for u -- self if random(iteration, edge) < 0.5)
    gather group = max(sum(floor(random(seed, edge) * 16) for u) + c for u -> self by c = u.near)
    apply  near  = (near + least % 7 + group % 5) % 64
""")

PICKS = compile("""program picks(seed = 1)
edge   weight: float = 1
vertex a: vertex = self
vertex b: int    = degree
vertex c: float  = pick(weight for u -- self, seed, default = -1)
vertex d: vertex = none
repeat 4 times:
    gather p = pick(u for u -> self, seed, iteration)
    gather q = pick(u.b for self -> u if u.b > 1, seed + iteration, b, default = -7)
    gather r = pick(u for u -- self, 5, iteration, weight = weight)
    gather s = pick(u.b for u -> self, iteration, a, weight = u.b - 2, default = b)
    apply  (a, d) = (p, r)
    apply  b = (b + q + 2 * s) % 100
""")


@pytest.mark.parametrize("program", [KEYS, PICKS], ids=["keys", "picks"])
def test_against_the_interpreter(program: Program) -> None:
    graphs = [family(name, directed) for name in ("messy", "rmat", "empty", "one_loop") for directed in (True, False)]
    for graph in [*graphs, *(random_graph(seed) for seed in range(4))]:
        case = case_of(graph)
        assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))


def test_freedoms_and_orders() -> None:
    """Chaos runs and graphs whose rows are stored in another order give the same results."""
    for seed in range(3):
        graph = to_graph(family("messy", directed=seed % 2 == 0))
        dense = np.random.default_rng(seed).permutation(graph.n).astype(np.uint32)
        for program in (KEYS, PICKS):
            want, found = program(graph, **spelled(chaos=seed)), program(graph.ordered(dense))
            for name in want.fields:
                np.testing.assert_allclose(np.float64(found[name]), np.float64(want[name]), rtol=1e-6)


SAME = compile("""program same(seed = 1)
vertex a: int = bitxor(floor(random(seed, edge) * 16777216) for u -> self)
vertex b: int = bitxor(floor(random(seed, edge) * 16777216) for self -> u)
vertex c: int = bitxor(floor(random(seed, edge) * 16777216) for u -- self if u != self)
global into: int = bitxor(v.a for v in vertices)
global out:  int = bitxor(v.b for v in vertices)
global near: int = bitxor(v.c for v in vertices)
""")


def test_an_edge_has_one_key_from_both_ends() -> None:
    """An edge has the same random number at both of its ends, and parallel edges have different numbers."""
    for directed in (True, False):
        for seed in range(3):
            result = SAME(to_graph(random_graph(seed, directed)), seed=seed)
            assert result["into"] == result["out"] != 0
            assert result["near"] == 0
    ends = compile("program ends\nvertex x: float = min(random(1, edge) for u -> self)\n"
                   "vertex y: float = max(random(1, edge) for u -> self)")
    for tail in (0, 1):  # parallel edges, and parallel self-loops alone
        found = ends(Graph.from_edges([tail, tail, tail], [1, 1, 1], n=2))
        assert found["x"][1] < found["y"][1]


def test_how_often_edges_are_chosen() -> None:
    """In 4,000 picks, each parallel edge counts as one edge, and weighted edges are chosen in proportion to their
    weights (within 3.3 standard deviations).
    """
    program = compile("program p(q: vertex, rounds = 4000)\nedge weight: float = 1\nvertex even, heavy: int = 0\n"
                      "repeat rounds times:\n"
                      "    gather a = pick(u for u -> self, 1, iteration)\n"
                      "    gather b = pick(u for u -> self, 2, iteration, weight = weight)\n"
                      "    apply even = even + int(a == q)\n"
                      "    apply heavy = heavy + int(b == q)\n")
    graph = Graph.from_edges([0, 0, 1, 2], [3, 3, 3, 3], directed=True, weight=[1.0, 2.0, 3.0, 0.0])
    result = program(graph, q=0)
    assert abs(result["even"][3] - 2000) < 3.3 * np.sqrt(4000 / 4)
    assert abs(result["heavy"][3] - 2000) < 3.3 * np.sqrt(4000 / 4)


def test_edges_on_disk(tmp_path: Path) -> None:
    """On disk, a graph has no ordinals of parallel edges. A simple graph needs no ordinals, so that its picks run."""
    program = compile("program p\nvertex x: vertex = pick(u for u -> self, 1)")
    graph = to_graph(long_graph()).simple()
    with streaming(3, 0.3):
        assert np.array_equal(program(opened(graph, 4096))["x"], program(graph)["x"])
        with pytest.raises(BindError, match=r"line 2: a random number for an edge depends .* no such counts"):
            program(opened(Graph.from_edges([0, 0] * 3000, [1, 1] * 3000, n=3000), 4096))
