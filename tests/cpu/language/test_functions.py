"""Functions with special definitions, and sets of vertices, give the same bits as the interpreter on both targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.cpu.both import assert_both
from tests.cpu.compare import engine_run, interpreted
from tests.reference.cases import Case
from tests.reference.graphs import family, to_graph
from tests.reference.special import mix
from vlang import BindError, Graph, Result, compile

EXACT: frozenset[str] = frozenset()


@pytest.mark.parametrize("seed", [0, 1, 3, -7, 2**31 - 1, -(2**31)])
def test_random_numbers(seed: int) -> None:
    text = """program p(seed: int, wide: u64)
vertex a: float = random(seed, self)
vertex b: float = random(wide + 1, self)
vertex c: float = max(random(seed, u) for u -> self, default = -1)
vertex d: float = random(seed * 3, none)
vertex e: int   = count(random(seed, u) < random(seed, self) for u -- self)
vertex h: float = random(seed, self, -5, wide)
vertex i: float = sum(random(1, u, self, u.outdegree) for u -> self)
vertex j: float = 0
global g: float = max(random(5, v) for v in vertices)
repeat 3 times:
    let x = random(seed, iteration)
    apply j = max(j, x * random(seed, -iteration, self))
"""
    case = Case(family("messy"), {"seed": seed, "wide": (1 << 64) - 5})
    result = assert_both(text, case, inexact=EXACT, ways=1)
    assert result.a[3] == np.float32((mix(seed, 3) >> 40) / 2**24)
    assert result.h[3] == np.float32((mix(mix(mix(seed, 3), -5), 2**64 - 5) >> 40) / 2**24)


def test_random_numbers_of_64_bits() -> None:
    program, case = compile("program p\nvertex a: float = random(9, self)\n"), Case(family("messy"))
    result = engine_run(program, case, precision=64)
    assert np.array_equal(result.a, interpreted(program, case, precision=64).fields["a"])
    assert result.a.dtype == np.float64


IDS = {
    "from 1000": np.arange(1000, 1017), "with gaps": np.arange(17) ** 3 * 7 + 2,
    "some negative": np.arange(17) * 5 - 40, "negative, consecutive": np.arange(-20, -3),
    "64 bits": np.arange(17, dtype=np.uint64) * np.uint64(3) + np.uint64(2**63),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_random_numbers_of_the_callers_vertices(ids: Any) -> None:
    text = """program p
vertex a: float  = random(3, self)
vertex b: float  = random(3, none)
vertex c: float  = max(random(4, u) for u -- self, default = -1)
vertex d: u8[64] = hll_unit(1, self)
global g: float  = min(random(5, v) for v in vertices)
"""
    case = Case(replace(family("messy"), ids=ids), {})
    result = assert_both(text, case, inexact=EXACT, ways=1)
    assert result.a[4] == np.float32((mix(3, int(ids[4])) >> 40) / 2**24)


def _by_vertex(result: Result) -> dict[int, float]:
    return dict(zip(result.ids.tolist(), result.a.tolist(), strict=True))


def test_random_numbers_do_not_depend_on_the_graph_around_a_vertex() -> None:
    program = compile("program p\nvertex a: float = random(9, self)\n")
    ends = np.array([[7, 90], [90, 3], [3, 1000], [12, 7]])
    whole = _by_vertex(program(Graph.from_edges(*ends.T)))
    again = _by_vertex(program(Graph.from_edges(*ends[::-1].T)))
    part = _by_vertex(program(Graph.from_edges(*ends[1:3].T)))
    assert whole == again
    assert part == {v: whole[v] for v in (3, 90, 1000)}


def test_random_numbers_of_texts_are_those_of_their_ranks() -> None:
    program = compile("program p\nvertex a: float = random(9, self)\n")
    named = program(Graph.from_edges(["b", "c"], ["c", "a"]))
    assert np.array_equal(named.a, program(Graph.from_edges([1, 2], [2, 0])).a)


def test_bits() -> None:
    text = """program p
vertex i: int
vertex l: i64
vertex a: u64 = bit(i)
vertex b: u64 = bit(l) | bit(i + 1) | bit(inf)
vertex c: u64 = bitor(bit(u.i) for u -> self)
"""
    graph = family("messy")
    numbers = np.array([0, 1, 5, 31, 32, 62, 63, 64, 65, -1, -64, 2**31 - 1, -(2**31), 7, 8, 9, 10])
    assert_both(text, Case(graph, {}, {"i": numbers.astype(np.int32), "l": numbers * 3}), ways=1)


SETS = """program p(S: vertices, T: vertices)
vertex a: int = position(self, S)
vertex b: int = min(position(u, T) for u -> self)
vertex c: bool = position(self, S) >= 0 and position(self, T) < 0
vertex x: float = outdegree + 0.5
vertex d: int = position(none, S)
global total: float = sum(v.x for v in S)
global least: float = min(v.x for v in T if v.x > 1, default = -3)
global many: i64 = count(true for v in S) + count(true for v in T) + count(true for v in vertices)
global first: vertex = min(v for v in T)
vertex e: int = position(max((v.x, v) for v in S)[1], S)
"""


@pytest.mark.parametrize("members", [
    {"S": [3, 1, 2], "T": [0]}, {"S": [5, 5, 1, 5], "T": [5, 0, 5]}, {"S": [], "T": []},
    {"S": list(range(17)), "T": list(range(16, -1, -1))},
])
def test_sets_of_vertices(members: dict[str, Any]) -> None:
    """A member that is listed twice counts twice. The position of a member is the position of its first entry."""
    assert_both(SETS, Case(family("messy"), members), inexact=EXACT, ways=1)


def test_sets_name_vertices_as_the_graph_does() -> None:
    graph = Graph.from_edges(["b", "c"], ["c", "a"])
    program = compile("program p(S: vertices)\nvertex a: int = position(self, S)\n")
    result = program(graph, S=["c", "a"])
    assert dict(zip(result.ids.tolist(), result.a.tolist())) == {"a": 1, "b": -1, "c": 0}
    numbers = Graph.from_edges([10, 30], [30, 20])
    assert program(numbers, S=np.array([30, 10])).a.tolist() == [1, -1, 0]


@pytest.mark.parametrize(("value", "message"), [
    (7, "`S` is a list of vertices, not 7"), ("ab", "`S` is a list of vertices, not 'ab'"),
    ([99], "vertex 99 is not in the graph"), ([0, 1] * 6, "`S` lists 12 vertices, some more than once"),
])
def test_wrong_sets_are_reported(value: Any, message: str) -> None:
    program = compile("program p(S: vertices)\nvertex a: int = position(self, S)\n")
    with pytest.raises(Exception, match=message.replace("(", r"\(")) as caught:
        program(to_graph(family("path")), S=value)
    assert type(caught.value).__module__ == BindError.__module__


def test_a_set_must_be_given() -> None:
    program = compile("program p(S: vertices)\nvertex a: int = position(self, S)\n")
    with pytest.raises(BindError, match="needs `S`, a list of vertices of the graph"):
        program(to_graph(family("path")))


def test_hyperloglog() -> None:
    text = """program p(seed = 4)
vertex c: u8[64] = hll_unit(seed, self)
vertex all: u8[64] = max(u.c for u -- self)
vertex size: float = hll_size(all)
vertex peak: float = hll_size(max(v.c for v in vertices))
"""
    graph = family("messy")
    text = text.replace("all", "near")
    assert_both(text, Case(graph), ways=1)


def test_estimates_of_any_counter() -> None:
    """Estimates equal the interpreter's even for register values that no graph in memory can produce."""
    program = compile("program p\nvertex c: u8[64]\nvertex s: float = hll_size(c)\n")
    graph = family("path")
    counters = np.random.default_rng(3).integers(0, 256, (graph.n, 64)).astype(np.uint8)
    counters[0], counters[1], counters[2] = 0, 255, 40
    case = Case(graph, {}, {"c": counters})
    want = interpreted(program, case, precision=64).fields["s"]
    np.testing.assert_allclose(engine_run(program, case, precision=64).s, want, rtol=1e-13)
    assert_both(program, case, ways=1)


NUMBERS = """program p(step: float, k: int)
fn sign(x: float): float = 2.0 if x > 1.5 else -2.0
vertex a: float = sin(step * degree) + cos(step * degree) + atan2(step, 1 + degree)
vertex b: float = exp2(-step * degree) + log2(1 + degree) + tan(step * 0.1) + pow(1 + degree, step)
vertex c: int = ceil(step * degree) + round(step * degree) + trunc(-step * degree) + int(degree == 3) - int(-0.5 - step)
vertex d: i8 = i8(degree * 100) if 1 <= degree < 9 else i8(-1e9)
vertex e: u64 = u64(step * degree) + u64(degree > 2)
vertex f: bool = isnan((step - step) / (degree - degree))
vertex g: float = sign(degree) + clamp(degree, 1, k) + float(i64(M) + 1)
vertex h: float[2] = clamp(sin([step, degree]), -0.5, [step, 0.9])
vertex near: int = 0 if degree > 2 else inf
repeat:
    gather hops = min(clamp(u.near + ceil(step), 0, 100) for u -- self if 0 <= u.degree < 50 != k)
    apply  near = min(near, hops)
global top: float = max(sin(v.a) for v in vertices if -1 < v.a <= 1)
"""


def test_functions_of_numbers_and_chains() -> None:
    result = assert_both(NUMBERS, Case(family("messy"), {"step": 0.75, "k": 3}),
                         inexact=frozenset({"a", "b", "h", "top"}), ways=2)
    assert result.near.min() == 0
    facts = compile(NUMBERS).explain("facts")
    assert "A any order      yes" in facts, facts  # clamp and ceil are monotone


CONTAINED = """program p(S: vertices, T: vertices)
vertex a: bool = self in S
vertex b: int = count(u in S and u not in T for u -- self) + len(S)
vertex near: vertex = self if self in S else none
vertex d: int = 0 if self in T else inf
vertex e: i64 = 0
repeat:
    gather reached = min(u.d + 1 for u -> self if u not in S or self in T)
    apply  d = min(d, reached)
for s in vertices:
    where self == s or s in T and self in S:
        apply e = 2 * e + 1
for s in S:
    where s not in T and near in S:
        apply e += len(T)
global both: i64 = count(v in S for v in vertices if v in T)
global missing = len(S) - 2 * len(T)
let least = min(v for v in vertices if v not in T)
vertex f: bool = least in S or none in S
"""


@pytest.mark.parametrize("members", [
    {"S": [3, 1, 2], "T": [0, 3]}, {"S": [5, 5, 1, 5], "T": [5, 0, 5]}, {"S": [], "T": []},
    {"S": list(range(17)), "T": list(range(16, -1, -1))},
])
def test_vertices_in_sets_and_loops_over_all_vertices(members: dict[str, Any]) -> None:
    assert_both(CONTAINED, Case(family("messy"), members), inexact=EXACT, ways=1)


def test_a_loop_over_all_vertices_follows_their_ids() -> None:
    graph = Graph.from_edges(["b", "c"], ["c", "a"])
    program = compile("program p\nvertex a: int = 0\nfor s in vertices:\n    apply a = 2 * a + int(self == s)\n")
    result = program(graph)
    assert dict(zip(result.ids.tolist(), result.a.tolist())) == {"a": 4, "b": 2, "c": 1}
