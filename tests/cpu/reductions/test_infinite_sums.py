"""Integer sums with infinite terms: if any term is `inf`, the sum is `inf`; otherwise, if any term is `-inf`, the sum
is `-inf`.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, case_of, interpreted
from tests.reference.graphs import FAMILIES, family
from vlang import Graph, Program, compile
from vlang.cli import main

SUMS = """program sums(source: vertex)
edge   weight: int = 1
vertex depth:  int = 0 if self == source else inf
repeat:
    gather near  = min(u.depth + 1 for u -> self)
    apply  depth = min(depth, near)
vertex low:    i8  = -inf if depth < inf and depth > 1 else 2
vertex ends:   i64 = sum(min(u.depth, u.low) for u -- self if weight != 3, default = -7)
vertex first:  int = sum(u.depth for u -> self)
vertex later:  int = 0
vertex rounds: int = 0
repeat 2 times:
    gather both   = sum(u.depth if u.low > 0 else u.low for u -> self)
    gather some   = sum(u.depth for u -> self if u.depth < inf)
    apply  later  = both if rounds == 0 else later
    apply  rounds = rounds + some
global total:  i64 = sum(v.depth for v in vertices)
global least:  i64 = sum(v.low for v in vertices)
global mixed:  i64 = sum(max(v.depth, v.low) for v in vertices) - 1
global within: i64 = sum(v.depth for v in vertices if v.depth < inf)
"""


@functools.cache
def sums() -> Program:
    return compile(SUMS)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "empty"])
def test_as_interpreted(name: str) -> None:
    given = case_of(family(name), source=0)
    assert_as_interpreted(sums(), given, assert_cut_free(sums(), given), interpreted(sums(), given))


def test_what_is_unreached_makes_a_sum_infinite() -> None:
    """The infinite distance of unreached vertices makes a sum infinite. The edges are 0 -> 1 -> 2, 3 -> 4 and 3 -> 2.
    """
    graph = Graph.from_edges(np.array([0, 1, 3, 3]), np.array([1, 2, 4, 2]), weight=np.ones(4, np.int32))
    result = sums()(graph, source=0, threads=1)
    np.testing.assert_array_equal(result.reached("first"), [True, True, False, True, False])
    np.testing.assert_array_equal(result.first[[0, 1, 3]], [0, 0, 0])
    top = np.iinfo(np.int64).max
    assert (result.total, result.least, result["within"]) == (top, -top - 1, 3)


def test_given_values_may_be_infinite() -> None:
    program = compile("program p\nedge w: int\nvertex x: i8\nvertex s: i8 = sum(u.x for u -> self)\n"
                      "vertex t: int = sum(w for u -> self)\n")
    assert program.warnings == ()
    graph = Graph.from_edges(np.array([1, 2, 3]), np.array([0, 0, 1]), w=np.array([1, -(1 << 31), 2], np.int32))
    result = program(graph, x=np.array([0, 127, -128, 5], np.int8), threads=1)
    np.testing.assert_array_equal(result.s, [127, 5, 0, 0])
    np.testing.assert_array_equal(result.t, [-(1 << 31), 2, 0, 0])


def test_a_condition_that_excludes_it_adds_no_accumulator() -> None:
    text = "program p\nvertex x: int = inf if outdegree == 0 else 1\nglobal g: i64 = sum(v.x for v in vertices if {})\n"
    for cond, parts in (("v.x < inf", 1), ("inf > v.x", 1), ("v.x != inf", 1), ("v.x == 1", 1),
                        ("v.x <= 5 and v.indegree > 0", 1), ("v.x > 0", 2), ("v.x < inf or v.indegree > 0", 2)):
        spec = compile(text.format(cond)).plan(frozenset())
        assert len([one for one in spec.arrays if one.slot.startswith("part:")]) == parts, cond


def test_the_command_says_inf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, graph = tmp_path / "p.vp", tmp_path / "g.txt"
    program.write_text(SUMS)
    graph.write_text("0 1\n1 2\n3 4\n3 2\n")
    assert main(["run", str(program), str(graph), "source=0", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "total = inf\nleast = -inf\n" in out
    assert "within = 3\n" in out
