"""Declared reductions are compared with the interpreter for the kernel `edge`, which combines values by
compare-and-swap.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.cuda.emulation.emulated import needs_compiler
from tests.cuda.runs import GRAPHS, emulated
from tests.reference.cases import Case
from tests.sample import sampled
from vlang import Graph, RangeError, compile

pytestmark = needs_compiler

TEXT = """program p(base: u32 = 5)
reduction soft(a, b): float = max(a, b) + log1p(exp(-abs(a - b))) if abs(max(a, b)) < inf else max(a, b), identity -inf
reduction shifted(a, b): u32 = wrap(a + b - base), identity base
reduction plus(a, b): int = a + b, identity 0
reduction far(a, b): (f32, f32) = (max(a[0], b[0]), min(a[1], b[1])), identity (-inf, inf)
edge weight: float
vertex x: float = outdegree % 7
vertex y: u32 = 0
vertex z: int = 0
vertex w: float = 0
gather g = soft(u.x for u -> self if weight > 1, default = -1)
gather h = shifted(u32(u.outdegree) for u -> self)
gather i = plus(u.outdegree - 3 for u -> self)
gather j = far((weight, weight) for u -> self)
apply x = g
apply y = h
apply z = i
apply w = j[0] - j[1] if j[0] > j[1] else 0
"""


@pytest.mark.parametrize(("graph", "replication"), sampled(
    [("skewed", "garaph"), ("dense", 32), ("long", "none"), ("star", 4)], [("skewed", "garaph"), ("long", "none")]))
def test_shards_join_them(graph: str, replication: str | int) -> None:
    program, given = compile(TEXT), Case(GRAPHS[graph]())
    with emulated() as opened:
        result = engine_run(program, given, device="emulated", kernel="edge", replication=replication)
    assert any("pull_shards" in name for name in opened[0].launches)
    assert_as_interpreted(program, given, result, interpreted(program, given))


def test_a_sum_that_does_not_fit_is_refused() -> None:
    """If a sum exceeds 64 bits, a flag next to the sum is set. The flag is set in each copy of the cell, and when
    copies are merged.
    """
    text = "program p\nreduction plus(a, b): i64 = a + b, identity 0\nvertex big: i64\n" \
           "vertex x: i64 = plus(u.big for u -> self)\n"
    src, dst = np.arange(1, 9), np.zeros(8, np.int64)
    graph, program = Graph.from_edges(src, dst, n=9), compile(text)
    research = {"kernel": "edge", "replication": 4}
    with emulated():
        result = program(graph, big=[2**59] * 9, device="emulated", research=research)
        assert result["x"].tolist() == [2**62] + [0] * 8
        with pytest.raises(RangeError, match="for vertex 0"):
            program(graph, big=[2**61] * 9, device="emulated", research=research)
