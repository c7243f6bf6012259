"""Reductions over pointing vertices are compared with tests of all pairs of vertices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, case_of, engine_run, interpreted, same_bits
from tests.paged.stores import opened, streaming
from tests.reference.cases import Case
from tests.reference.graph import ref_graph
from tests.reference.graphs import all_families, family, to_graph
from tests.spelled import spelled
from vlang import BindError, Graph, compile
from vlang.runtime.gpus.refusals import refuse_plan
from vlang.runtime.graph.topology import pointers
from vlang.runtime.graph.topology.build import Rows, build_rows
from vlang.runtime.storage.ledger import budget, ledger

EVERY_WAY = compile("""program every_way(k: int = 2)
reduction further(a, b): (int, vertex) = max(a, b), identity (-inf, none)
vertex c:    vertex = self
vertex x:    float  = random(1, self)
vertex w:    int    = sum(1 for u -> self)
vertex held: float  = sum(v.x for v in vertices if v.c == self) * 2
repeat 3 times:
    gather best  = min(u.c for u -- self)
    apply  c     = min(c, best) if random(iteration, self) < 0.7 else none
    gather total = sum(v.x for v in vertices if v.c == self)
    gather many  = count(v.w > k for v in vertices if self == v.c and v.x > 0.2)
    gather top   = further((v.w, v) for v in vertices if v.c == self)
    gather least = min((v.x, v) for v in vertices if v.c == self, default = (7.0, none))
    gather mid   = mean(v.w + v.degree for v in vertices if v.c == self, default = -1.0)
    apply  held  = total + many + least[0]
    apply  w     = min(top[0], 1000) + w
    where some_of(c):
        gather inner = sum(old(v.w) for v in vertices if v.c == self and v.c != v)
        apply  w     = clamp(w + inner, -1000, 1000)
    apply  x     = tanh(x + mid)
fn some_of(v: vertex): bool = v != none
""")

IN_BLOCKS = compile("""program in_blocks
vertex level: int    = degree
vertex up:    vertex = self
vertex seen:  int    = 0
sweep level up:
    gather near  = min(u for u -- self)
    apply  up    = near
    gather below = count(true for v in vertices if v.up == self)
    apply  seen += below
repeat 2 times:
    vertex local: int = count(v.level > 1 for v in vertices if v.up == self)
    for k from 1 to 2:
        gather more = max(v.local for v in vertices if v.up == self, default = 0)
        apply  seen = clamp(seen + more * k, 0, 1000)
    apply up = self if random(iteration, self) < 0.5 else up
""")


@pytest.mark.parametrize("program", [EVERY_WAY, IN_BLOCKS], ids=lambda program: program.name)
def test_families(program: object) -> None:
    assert isinstance(program, type(EVERY_WAY))
    for _, graph in list(all_families())[::3]:
        case = case_of(graph)
        assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))


LONG = compile("""program long
vertex c: vertex
vertex x: float
vertex total: f64 = sum(f64(v.x) for v in vertices if v.c == self)
vertex first: vertex = min(v for v in vertices if v.c == self and v.x > 0)
""")


def long_case(n: int = 70_000) -> Case:
    """Return a case with n vertices. Five of seven vertices point to the same vertex, so that the row of this vertex
    has several segments.
    """
    rng = np.random.default_rng(3)
    c = np.where(rng.random(n) < 5 / 7, 9, rng.integers(-1, n, n))
    return Case(ref_graph(n, [], True), {}, {"c": c, "x": rng.standard_normal(n).astype(np.float32)})


def test_many_point_at_one() -> None:
    """Sums have the same bits as sums over a row of edges with the same vertices. Threads and pages do not change the
    bits.
    """
    case = long_case()
    result = assert_cut_free(LONG, case)
    c, x = case.fields["c"], case.fields["x"]
    there = np.flatnonzero(c >= 0)
    edges = Graph.from_edges(there, c[there], vertices=len(c))
    plain = compile("program p\nvertex x: float\nvertex total: f64 = sum(f64(u.x) for u -> self)\n")
    assert same_bits(np.asarray(plain(edges, x=x)["total"]), np.asarray(result["total"]))
    first = np.full(len(c), -1)
    chosen = np.flatnonzero((c >= 0) & (x > 0))[::-1]
    first[c[chosen]] = chosen
    assert np.array_equal(np.asarray(result["first"]), first)


def test_the_order_of_rows_changes_no_bits() -> None:
    case = long_case()
    graph = to_graph(case.graph)
    dense = np.random.default_rng(5).permutation(graph.n).astype(np.uint32)
    want, found = (engine_run(LONG, case, one, threads=2) for one in (graph, graph.ordered(dense)))
    for name in want.fields:
        assert same_bits(np.asarray(want[name]), np.asarray(found[name]))


def test_streamed(tmp_path: Path) -> None:
    """Results are the same if edges, and arrays over vertices, are on disk."""
    graph = to_graph(family("rmat", directed=False))
    want = EVERY_WAY(graph)
    for folder in (None, tmp_path):
        with streaming(3, 0.3, folder) if folder else streaming(3, 0.3):
            found = EVERY_WAY(opened(graph, 64), threads=2, **spelled(mode="pull"))
        for name in want.fields:
            assert same_bits(np.asarray(want[name]), np.asarray(found[name]))


def test_freedoms() -> None:
    """A chaos run gives the same result, and no rule about neighbours is granted."""
    for seed in range(8):
        for directed in (True, False):
            EVERY_WAY(to_graph(family("messy", directed=directed)), **spelled(chaos=seed))
    (facts,) = EVERY_WAY.lower(None).facts.loops.values()
    refused = {facts.order.letter, facts.push.letter, facts.notify_pull.letter, facts.incremental.letter}
    assert refused <= {"c", "n"}
    text = "program p\nvertex c: vertex = self\nrepeat:\n    gather a = min(v.c for v in vertices if v.c == self)\n" \
           "    apply c = min(c, a)\n"
    (facts,) = compile(text).lower(None).facts.loops.values()
    verdicts = [facts.order, facts.push, facts.notify_pull, facts.incremental, facts.priority]
    assert [(one.granted, one.letter) for one in verdicts] == [(False, "n")] * 5
    assert "which are not its neighbours" in facts.order.reason
    assert not facts.copied.granted
    assert not facts.early_exit.frontier.granted


def test_a_loop_that_skipped_vertices_would_be_wrong() -> None:
    """If rule N is forced, the result is wrong: a vertex misses the change of a pointing vertex that is not its
    neighbour.
    """
    program = compile("""program p(last: vertex)
vertex c: vertex = last
vertex x: int    = 0
vertex got: int  = 0
repeat 3 times:
    gather sent = sum(v.x for v in vertices if v.c == self)
    apply  got  = sent
    apply  x    = 1
""")
    result = program(Graph.from_edges([], [], vertices=4), last=2, **spelled(mode="notify-pull"))
    assert np.asarray(result["got"]).tolist() == [0, 0, 4, 0], "no edge notifies vertex 2, and it has to run again"


def test_lists_are_kept_while_the_field_is(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    build = build_rows

    def counted(*args: Any) -> Rows:
        built.append(1)
        return build(*args)

    monkeypatch.setattr(pointers, "build_rows", counted)
    text = """program p
vertex c: vertex = self
vertex x: int    = 0
repeat 5 times:
    gather a = count(true for v in vertices if v.c == self)
    gather b = max(v.x for v in vertices if v.c == self)
    apply  x = a + max(b, 0)
    apply  c = none if iteration == 3 else c
"""
    result = compile(text)(Graph.from_edges([0, 1], [1, 2], vertices=3), threads=1)
    assert np.asarray(result["x"]).tolist() == [0, 0, 0]
    assert len(built) == 2


def test_memory_is_estimated() -> None:
    case = long_case()
    graph = to_graph(case.graph)
    with budget(1 << 30):
        before = ledger.used
        LONG(graph, **case.fields, threads=2)
        taken = ledger.peak - before
    need = LONG.lower(graph).cost().memory
    assert 0.5 < taken / need < 1.2, (taken, need)


def test_several_gpus_are_refused() -> None:
    with pytest.raises(BindError, match=r"every_way, line 6: this gathers along `c`.* cannot run on several GPUs"):
        refuse_plan(EVERY_WAY.plan(frozenset()))
