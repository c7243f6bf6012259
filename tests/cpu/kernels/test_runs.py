"""Passes in which blocks of consecutive vertices gather and then apply: several blocks per task, hubs, bools, lists."""

from __future__ import annotations

import numpy as np

from tests.cpu.compare import assert_as_interpreted, assert_cut_free, interpreted
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from vlang import compile
from vlang.runtime.plan.plan import RUN, SEGMENT

SUMS = """program a
vertex x: float = 1 + outdegree % 5
vertex b: bool = outdegree % 3 == 0
repeat 4 times:
    gather s = sum(u.x for u -> self)
    gather o = any(u.b for u -> self)
    apply x = 1 + 0.25 * s / (1 + indegree)
    apply b = o and not b
"""


def test_runs_of_vertices() -> None:
    """Results equal the results of the interpreter, with the same bits for every partition, even with hubs between the
    blocks.
    """
    rng = np.random.default_rng(23)
    n, hub = 5 * RUN + 37, RUN + 5
    src = np.concatenate([rng.integers(0, n, 4 * n), rng.integers(0, n, SEGMENT + 9)])
    dst = np.concatenate([rng.integers(0, n, 4 * n), np.full(SEGMENT + 9, hub)])
    program, case = compile(SUMS), Case(RefGraph(n, src, dst, {}, True))
    assert "lay_s" in program.explain("numba")
    assert_as_interpreted(program, case, assert_cut_free(program, case), interpreted(program, case))


def test_no_runs_where_a_pass_may_write_in_place() -> None:
    """An in-place pass does not gather in blocks. A vertex can then read what the previous vertex has written, which
    saves supersteps.
    """
    program = compile("program a\nvertex x: int = outdegree\nrepeat:\n"
                      "    gather a = max(u.x for u -> self)\n    apply x = max(x, a)\n")
    text = program.explain("numba")
    assert "lay_s" not in text[text.index("def pull_s") : text.index("def segments_s")]
    ring = np.arange(2 * RUN)
    case = Case(RefGraph(len(ring), ring[:-1], ring[1:], {}, True))
    assert_cut_free(program, case)
