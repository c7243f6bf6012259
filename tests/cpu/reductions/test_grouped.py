"""Grouped gathers and weighted modes are compared with the interpreter on every family of graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cpu.both import long_graph
from tests.cpu.compare import assert_as_interpreted, assert_cut_free, case_of, interpreted, same_bits
from tests.paged.stores import opened, streaming
from tests.reference.graphs import all_families, family, to_graph
from tests.spelled import spelled
from vlang import BindError, Graph, Program, compile

MOVES = compile("""program moves(k: float = 0.01)
edge   weight: float  = 1
vertex c:      vertex = self
vertex w:      float  = sum(weight for u -- self)
vertex total:  float  = sum(v.w for v in vertices if v.c == self)
vertex gain:   float  = 0
repeat 3 times:
    gather best  = max((sum(weight for u) - k * w * d.total, d) for u -- self if u != self by d = u.c,
                       default = (0.0, c))
    apply  gain  = best[0]
    apply  c     = best[1] if random(iteration, self) < 0.5 else c
    gather held  = sum(v.w for v in vertices if v.c == self)
    apply  total = held
""")

KEYS = compile("""program keys
edge   weight: float  = 1
reduction louder(a, b): float = log(exp(a) + exp(b)) if max(a, b) > -inf else -inf, identity -inf
vertex x:      float  = random(1, self)
vertex small:  i8     = -1
vertex label:  vertex = self if x < 0.8 else none
vertex at:     int    = count(true for u -> self by parity = u.degree % 2 == 0 if any(u.x > 0.3 for u))
repeat 2 times:
    gather sums   = sum(key * sum(weight for u) + min(u.x for u, default = 9.0) for u -> self by key = u.outdegree - 3)
    gather most   = max(count(u.x > 0.5 for u) for self -> u if u.x < 0.9 by b = u.x > 0.5, default = -1)
    gather least  = min((max(u.x * weight for u), s) for u -- self by s = u.small if s != 1 or count(true for u) > 2)
    gather rooted = louder(sum(u.x for u) + l.x for u -- self by l = u.label)
    gather often  = mode(u.degree for u -- self)
    gather votes  = mode(u.label for u -- self if u != self, weight = weight * u.x, default = label)
    gather sizes  = mode(u.small for u -> self, weight = u.degree, default = -7)
    gather even   = mode(u.small > 0 for u -> self, weight = 2, default = true)
    apply  x      = tanh(sums + rooted + most)
    apply  small  = i8(clamp(least[1] + sizes + (1 if even else 0), -3, 3))
    apply  label  = votes
    apply  at     = often + most
""".replace("mode(u.degree for u -- self)", "mode(u.degree for u -- self, default = 0)"))


OVER = compile("""program over_groups
vertex groups: int   = count(true for u -- self by c = u.degree)
vertex pairs:  i64   = count(c > 3 for u -- self by c = u.degree if count(true for u) > 1)
vertex lone:   int   = count(sum(1 for u) == 1 for u -- self by c = u.degree)
vertex middle: float = mean(c for u -- self by c = u.degree, default = 0)
vertex two:    i64   = prod(i64(2) for u -- self by c = u.degree)
vertex bits:   int   = bitxor(c + count(true for u) for u -- self by c = u.degree)
vertex joint:  int   = bitand(c for u -- self by c = u.degree)
vertex thick:  bool  = all(count(true for u) > 1 for u -- self by c = u.degree)
vertex thin:   bool  = any(count(true for u) == 1 for u -- self by c = u.degree)
""")


@pytest.mark.parametrize("program", [MOVES, KEYS, OVER], ids=lambda program: program.name)
def test_families(program: Program) -> None:
    for _, graph in list(all_families())[::3]:
        case = case_of(graph)
        assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))


ONE_GROUP = compile("""program one_group
edge   weight: float = 1
vertex x: float = random(1, self)
vertex y: f64   = 0
vertex s: float = sum(u.x * weight for u -- self)
vertex t: f64   = sum(f64(u.x) / 3 for u -> self)
repeat 1 times:
    gather a = max(sum(u.x * weight for u) for u -- self by k = 1, default = 0)
    gather b = sum(sum(f64(u.x) / 3 for u) for u -> self by k = 1)
    apply  x = a
    apply  y = b
""")


def test_a_group_that_is_the_whole_row_has_the_bits_of_the_row() -> None:
    """A group of all edges of a row has the same bits as a gather of the row, even if the row has several segments,
    whose partial sums are merged in order.
    """
    for graph in (long_graph(), family("rmat"), family("messy", directed=False)):
        result = assert_cut_free(ONE_GROUP, case_of(graph))
        assert same_bits(np.asarray(result["x"]), np.asarray(result["s"]))
        assert same_bits(np.asarray(result["y"]), np.asarray(result["t"]))


SPLIT = compile("""program split
vertex x: float = random(1, self)
vertex y: f64   = 0
repeat 1 times:
    gather a = sum(sum(f64(u.x) for u) * (k + 1) for u -> self by k = floor(u.x * 50) % 7)
    apply  y = a
""")


def test_a_long_row_of_several_groups() -> None:
    graph = long_graph()
    result = assert_cut_free(SPLIT, case_of(graph))
    case = case_of(graph)
    assert_as_interpreted(SPLIT, case, result, interpreted(SPLIT, case))


def test_the_order_of_rows_changes_nothing() -> None:
    graph = to_graph(family("messy", directed=False))
    dense = np.random.default_rng(5).permutation(graph.n).astype(np.uint32)
    for program in (MOVES, KEYS):
        want, found = program(graph, threads=2), program(graph.ordered(dense), threads=2)
        for name in want.fields:
            np.testing.assert_allclose(np.float64(want[name]), np.float64(found[name]), rtol=1e-5)


def test_edges_on_disk(tmp_path: Path) -> None:
    """With edges on disk, a read of a field of a key is refused with an error that names the line. Programs without
    such a read give the same bits as in memory.
    """
    graph, program = to_graph(long_graph()), compile(KEYS.source.replace(" + l.x", ""))
    want = program(graph)
    with streaming(3, 0.3):
        found = program(opened(graph, 4096), threads=2)
        with pytest.raises(BindError, match=r"line 8: `d\.total` may be of any vertex .* they are read into memory"):
            MOVES(opened(graph, 4096))
    for name in want.fields:
        assert same_bits(np.asarray(want[name]), np.asarray(found[name]))


def test_freedoms() -> None:
    for seed in range(6):
        for program in (MOVES, KEYS):
            program(to_graph(family("messy", directed=seed % 2 == 0)), **spelled(chaos=seed))
    text = "program p\nvertex c: int = degree\nrepeat:\n" \
           "    gather a = max(count(true for u) for u -- self by k = u.c)\n" \
           "    apply c = max(c, a)\n"
    (facts,) = compile(text).lower(None).facts.loops.values()
    verdicts = [facts.order, facts.push, facts.incremental, facts.priority, facts.derive, facts.copied]
    assert not any(one.granted for one in verdicts)
    assert facts.order.letter == facts.push.letter == "b"
    assert "needs all edges of a vertex at once" in facts.order.reason
    assert facts.notify_pull.granted, "a vertex may be left out where no key of a neighbour changed"
    (facts,) = MOVES.lower(None).facts.loops.values()
    assert (facts.notify_pull.granted, facts.notify_pull.letter) == (False, "n")
    text = "program p\nvertex c: vertex = self\nvertex x: int = 1\nrepeat 5 times:\n" \
           "    gather a = max(k.x for u -- self by k = u.c)\n    apply x = a + 1\n"
    (facts,) = compile(text).lower(None).facts.loops.values()
    assert (facts.notify_pull.granted, facts.notify_pull.letter) == (False, "f")


def test_a_push_of_single_edges_would_be_wrong() -> None:
    """Two edges with the same key give the count 2. A push that combines single edges would give 1."""
    text = "program p\nvertex c: int = degree\n" \
           "vertex most: int = max(count(true for u) for u -- self by k = u.c, default = 0)\n"
    result = compile(text)(Graph.from_edges([0, 0, 0], [1, 2, 3], directed=False))
    assert np.asarray(result["most"]).tolist() == [3, 1, 1, 1]


def test_weights_are_summed_in_64_bits() -> None:
    """With 32 bits, the sums of both labels would be infinite for float and for int weights, and the smaller label
    would win the tie.
    """
    program = compile("""program p
edge w: float
edge k: int
vertex a: int = mode(u.outdegree for u -> self, weight = w, default = -1)
vertex b: int = mode(u.outdegree for u -> self, weight = k, default = -1)
""")
    weights = np.array([2, 2, 2, 2, 2, 0, 0, 0])
    graph = Graph.from_edges([1, 2, 3, 4, 5, 3, 4, 5], [0, 0, 0, 0, 0, 6, 6, 6], directed=True,
                             w=weights.astype(np.float32) * 1e38, k=(weights * 1000000000).astype(np.int32))
    result = program(graph, threads=1)
    assert (result["a"][0], result["b"][0]) == (2, 2)


def test_a_key_that_changes_is_no_endless_loop() -> None:
    """The loop ends although the number of all edges is constant, since the numbers of edges by key change with the
    key.
    """
    program = compile("""program p
vertex c: int = degree
vertex x: int = 0
repeat:
    gather a = max(count(true for u) for u -- self by k = u.c)
    apply  x += a if c > 0 else 0
    apply  c = max(c - 1, 0)
""")
    assert np.asarray(program(Graph.from_edges([0, 0], [1, 2], directed=False))["x"]).tolist() == [4, 1, 1]


NAMED = compile("""program named
edge   kind:   category
edge   at:     date
edge   weight: float = 1
vertex common: category = mode(kind for u -- self, weight = weight, default = "none")
vertex kinds:  int      = count(true for u -- self by k = kind)
vertex roads:  int      = sum(count(true for u) for u -- self by k = kind if k == "road")
vertex what:   category = "x"
vertex first:  date     = inf
repeat 1 times:
    gather best = max((sum(weight for u), k) for u -- self by k = kind, default = (0.0, "none"))
    gather day  = min((sum(-weight for u), d) for u -- self by d = at, default = (0.0, inf))
    apply  what  = best[1]
    apply  first = day[1]
""")


def named_graph() -> Graph:
    """Return a graph of five vertices. The last vertex has no edges. Edges have names and dates."""
    return Graph.from_edges(
        [0, 0, 0, 1, 1], [1, 2, 3, 2, 3], vertices=5, directed=False, weight=np.array([1, 5, 2, 1, 1], np.float32),
        kind=np.array(["road", "rail", "road", "air", "rail"], dtype=object),
        at=np.array(["2024-01-01", "2024-01-02", "2024-01-01", "2024-01-05", "2024-01-02"], "datetime64[D]"))


def test_keys_that_are_names_and_dates() -> None:
    """The smallest name wins in ties of `mode` and of tuples. A vertex without edges has the default."""
    result = NAMED(named_graph(), threads=1)
    assert result["common"].tolist() == ["rail", "air", "rail", "road", "none"]
    assert result["kinds"].tolist() == [2, 3, 2, 2, 0]
    assert result["roads"].tolist() == [2, 1, 0, 1, 0]
    assert result["what"].tolist() == ["rail", "road", "rail", "road", "none"]
    assert result["first"].astype(str).tolist() == ["2024-01-02", "2024-01-01", "2024-01-02", "2024-01-01", "NaT"]
