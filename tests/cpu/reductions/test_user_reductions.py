"""Declared reductions of scalars and tuples are tested on both targets, in gathers, in applies and over vertices."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.cpu.both import assert_both, long_graph
from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.reference.cases import Case
from tests.reference.graph import ref_graph
from tests.reference.graphs import family
from tests.sample import sampled
from vlang import Program, compile, load
from vlang.errors import RangeError
from vlang.runtime.plan.plan import Plan

LOGSUM = """reduction logsum(a, b): float =
    max(a, b) + log1p(exp(-abs(a - b))) if abs(max(a, b)) < inf else max(a, b), identity -inf
""".replace("=\n   ", "=")
PAIR = "reduction both(a, b): (int, i64, u8) = (max(a[0], b[0]), a[1] + b[1], a[2] | b[2]), identity (-inf, 0, 0)\n"
XOR = "reduction odd(a, b): bool = a != b, identity false\n"


@pytest.mark.parametrize("domain", sampled(["u -> self", "self -> u", "u -- self"], ["u -- self"]))
def test_scalars(domain: str) -> None:
    text = f"""program p
edge weight: float = 1
{LOGSUM}{XOR}vertex x: float = outdegree - 1
vertex y: float = logsum(u.x + weight for {domain})
vertex z: float = logsum(u.x for {domain} if u.x > 1, default = 5)
vertex w: float = logsum(x, logsum(y, z))
vertex o: bool = odd(u.x > x for {domain})
global g: float = logsum(v.x for v in vertices)
global h: float = logsum(v.x for v in vertices if v.x > 1000)
"""
    assert_both(text, Case(family("messy", weights="float")), ways=2)


def test_tuples() -> None:
    text = f"""program p(S: vertices)
{PAIR}vertex k: u8 = 1
vertex a: int = outdegree
vertex b: i64 = 0
vertex c: u8 = 0
repeat 3 times:
    gather all = both((u.a + 1, u.b + 1, u.k << 1) for u -> self)
    gather few = both((u.a, 1, u.c) for u -> self if u.a > 2, default = (a, -1, 7))
    apply (a, b, c) = both((a, b, c), all)
    apply b = b + few[1]
    apply c = c ^ few[2]
vertex top: int = both((v.a, v.b, v.c) for v in vertices)[0]
vertex some: i64 = both((v.a, v.b, v.c) for v in S)[1]
""".replace("gather all", "gather whole").replace(", all)", ", whole)")
    assert_both(text, Case(family("messy"), {"S": [1, 4, 1]}), ways=2)


def test_accumulators_that_are_stored() -> None:
    text = f"""program p
{PAIR}{LOGSUM}vertex a: int = 1
vertex x: float = 0
gather pair = both((u.a, 1, 2) for u -> self)
gather soft = logsum(u.x for u -> self)
let    peak = max(v.a for v in vertices)
apply  a = pair[0] + peak if pair[1] > 0 else 0
apply  x = logsum(x, soft)
"""
    assert_both(text, Case(family("messy")), ways=1)


def test_long_vertices() -> None:
    text = f"""program p
{PAIR}vertex a: int = outdegree
vertex n: i64 = both((u.a, 1, 0) for u -> self)[1]
vertex m: int = both((u.a, 1, 0) for self -> u)[0]
"""
    assert_both(text, Case(long_graph()), ways=1)


@pytest.mark.parametrize("graph", ["messy", "two_components", "one_loop"])
def test_soft_reach(graph: str) -> None:
    program = load("tests/reference/design/soft_reach.vp")
    assert_both(program, Case(family(graph), {"source": 0}), ways=2)


def test_which_of_them_a_gpu_joins_by_compare_and_swap() -> None:
    stage = _plan(f"program p\n{LOGSUM}vertex x: float = logsum(u.outdegree for u -> self)\n").stages[-1]
    assert stage.gpu is not None
    assert (stage.gpu.cell, stage.gpu.native, stage.gpu.exact) == (4, False, False)
    stage = _plan(f"program p\n{PAIR}vertex x: i64 = both((u.outdegree, 1, 2) for u -> self)[1]\n").stages[-1]
    assert stage.gpu is not None
    assert not stage.gpu.cell
    assert "`both` is declared by the program: a compare-and-swap joins one value of" in stage.gpu.cell_reason


def _plan(text: str) -> Plan:
    return compile(text).plan(frozenset(), target="cuda")


RING = "program p(extra: u32 = 3)\nreduction r(a, b): u32 = wrap(a + b + extra * a * b), identity 0\nvertex k: u32\n"
SHIFTED = """program p(base: u32 = 5, S: vertices)
reduction plus(a, b): u32 = wrap(a + b - base), identity base
reduction far(a, b): (float, u32) = (max(a[0], b[0]), wrap(a[1] + b[1] - base)), identity (-inf, base)
"""


@pytest.mark.parametrize("extra", [0, 5, 2**32 - 1])
def test_parameters_in_a_body(extra: int) -> None:
    graph = family("messy")
    numbers = np.arange(graph.n, dtype=np.uint32) * 77777
    text = f"""{RING}vertex x: u32 = r(k, r(2, k))
vertex y: u32 = r(u.k for u -- self)
vertex z: u32 = r(u.k for u -> self if u.k > k, default = 9)
global g: u32 = r(v.k for v in vertices)
"""
    assert_both(text, Case(graph, {"extra": extra}, {"k": numbers}), ways=2)


def test_parameters_in_an_identity_and_in_tuples() -> None:
    text = SHIFTED + """vertex a: u32
vertex b: float = 0
repeat 3 times:
    gather near = plus(u.a for u -> self)
    gather high = far((u.b + 1, u.a) for u -- self if u.a > a)
    apply  a = plus(a, near)
    apply  b = high[0] if high[1] > base else 1
vertex c: u32 = far((v.b, v.a) for v in S)[1]
"""
    for name in ("messy", "no_edges"):
        graph = family(name)
        numbers = np.arange(graph.n, dtype=np.uint32) * 7
        assert_both(text, Case(graph, {"base": 99, "S": [1, 2]}, {"a": numbers}), ways=1)


def test_parameters_of_long_vertices() -> None:
    graph = long_graph()
    numbers = np.arange(graph.n, dtype=np.uint32)
    text = f"{RING}vertex x: u32 = r(u.k for u -> self)\nvertex y: u32 = r(u.k for self -> u)\n"
    assert_both(text, Case(graph, {"extra": 6}, {"k": numbers}), ways=1)


SUMS = """program p
reduction add(a, b): {type} = a + b, identity 0
vertex x: {type}
vertex y: {type} = add(u.x for u -> self)
vertex z: {type} = 0
gather other = add(u.x for self -> u if u.x < 100)
where indegree == 0:
    apply z = add(x, other)
global total: {type} = add(v.x for v in vertices if v.x < 0)
"""


@pytest.mark.parametrize(("type_", "values", "line"), [
    ("i8", [100, 100, -100, -20], 0), ("i8", [100, 100, -20, 0], 4), ("i8", [-128, 100, 100, 0], 0),
    ("i8", [90, 0, 0, 50], 8), ("u8", [200, 50, 0, 0], 0), ("u8", [200, 50, 6, 0], 4),
    ("i64", [1 << 62, 1 << 61, -5, 0], 0), ("i64", [1 << 62, 1 << 62, -5, 0], 4), ("i8", [-100, 120, -100, 0], 9),
])
def test_leaving_the_type_ends_the_run(type_: str, values: list[int], line: int) -> None:
    """A sum that leaves its type ends the run with an error at its line.

    The edges are 0 -> 3, 1 -> 3 and 2 -> 3. Vertex 3 sums the first three values, and vertex 0 adds the last value to
    its own value.
    """
    graph = ref_graph(4, [(0, 3), (1, 3), (2, 3)])
    dtype = np.dtype(f"{type_[0]}{int(type_[1:]) // 8}")
    case = Case(graph, {}, {"x": np.array(values, dtype)})
    program = _sums(type_)
    if not line:
        assert_as_interpreted(program, case, engine_run(program, case, threads=1), interpreted(program, case))
        return
    with pytest.raises(OverflowError, match="declared reduction leaves"):
        interpreted(program, case)
    for options in ({"threads": 1}, {"mode": "pull", "page_size": 64, "threads": 2}):
        with pytest.raises(RangeError, match=f"^line {line}: a value of a declared reduction leaves"):
            engine_run(program, case, **options)


@functools.cache
def _sums(type_: str) -> Program:
    return compile(SUMS.format(type=type_))
