"""The interpreter follows the rules of language.md sections 6 to 8: one tiny case per rule, with results worked out by
hand.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.reference.by_hand.small import FORK, INF, LOOPY, column, go, value
from tests.reference.graph import ref_graph
from tests.reference.operators import extreme, without_value
from tests.reference.reductions import fold, halved, tuple_identity
from tests.reference.special import mix
from tests.reference.values import Value, take, tuple_of
from vlang.types import F32, I64, VERTEX

# ------------------------------------------------------------------ section 6: numbers


@pytest.mark.parametrize(("expression", "want"), [
    ("inf + 1", INF), ("inf - 1", INF), ("inf + (-inf)", INF), ("-inf + inf", INF), ("inf - inf", INF),
    ("-inf - (-inf)", INF), ("0 * inf", 0), ("-inf * 3", -INF - 1), ("inf * (-1)", -INF - 1), ("-inf * (-inf)", INF),
    ("-2147483647 - 5", -INF - 1), ("1 - inf", -INF - 1), ("-inf + 5", -INF - 1), ("-(-inf)", INF), ("abs(-inf)", INF),
    ("2147483646 + 2", INF), ("2000000000 * 2", INF), ("2000000000 + 2000000000 - 2000000000", 2000000000),
    ("N * 2000000000 - N * 2000000000", 0), ("N * 2000000000", INF), ("wrap(2147483646 + 2)", -INF - 1),
    ("wrap(inf + 1)", -INF - 1), ("wrap(-(-inf))", INF), ("wrap(3 ** 21)", 1870418611), ("wrap(inf) + 1", INF),
    ("7 // 2", 3), ("-7 // 2", -4), ("7 % -3", -2), ("-7 % 3", 2), ("7 // 0", 0), ("7 % 0", 0), ("2 ** 10", 1024),
    ("2 ** -1", 0), ("3 ** 21", INF), ("(-3) ** 21", -INF - 1), ("1 << 4", 16), ("1 << 32", 0), ("1 << -1", 0),
    ("-8 >> 1", -4), ("-8 >> 40", -1), ("8 >> 40", 0), ("6 & 3 | 8 ^ 1", 11), ("floor(2.7)", 2), ("floor(-2.1)", -3),
    ("ceil(2.1)", 3), ("ceil(-2.9)", -2), ("trunc(2.9)", 2), ("trunc(-2.9)", -2), ("round(2.5)", 2), ("round(3.5)", 4),
    ("round(-0.5)", 0), ("int(-2.9)", -2), ("int(true)", 1), ("int(2 < 1)", 0), ("int(1e20)", INF), ("int(7)", 7),
    ("int(0.0 / 0.0)", 0), ("ceil(-1e20)", -INF - 1), ("sign(-7)", -1), ("sign(inf)", 1), ("sign(0)", 0),
    ("clamp(5, 1, 3)", 3), ("clamp(-5, 1, 3)", 1), ("clamp(2, 1, 3)", 2), ("pow(2, 10)", 1024), ("pow(3, 21)", INF),
    ("wrap(pow(3, 21))", 1870418611), ("int(isnan(0.0 / 0.0))", 1), ("int(isnan(1))", 0),
    ("floor(1e20)", INF), ("floor(-1e20)", -INF - 1), ("floor(0.0 / 0.0)", 0), ("min(3, 2, 5)", 2), ("max(3, 2, 5)", 5),
    ("int(1 <= 2 < 3)", 1), ("int(1 < 2 > 3)", 0), ("int(3 > 2 >= 2 == 2 != 1)", 1), ("int(1 < 3 < 2 or 0 < 1 < 2)", 1),
    ("-2 ** 2", -4), ("1 if 2 < 1 else 3", 3), ("N + M", 5),
])
def test_integers(expression: str, want: int) -> None:
    text = f"vertex one: int = 1\nvertex x: int = {expression}"
    assert go(text).fields["x"][0] == want
    # the same operations with operands that are known only at run time
    dynamic = "\n".join(["vertex z: int = 0", f"vertex x: int = z + ({expression})"])
    assert go(dynamic).fields["x"][0] == want


@pytest.mark.parametrize(("type_", "expression", "want"), [
    ("u8", "a - 1", 0), ("u8", "a + 255 + 1", 255), ("u8", "-(a + 1)", 0), ("i8", "a + 100 + 100", 127),
    ("i8", "a + 100 - 1 + 28", 127), ("i8", "a + 100 - 1 + 29", 127), ("i64", "a + 3000000000", 3000000000),
    ("u64", "a - 1", 0), ("i16", "a - 32766 - 5", -32768), ("i16", "a - 32767 - 5", -32768),
    ("u8", "(a + 200) * 2", 255), ("u8", "wrap((a + 200) * 2)", 144), ("u8", "wrap(a - 1)", 255),
    ("u64", "wrap(a - 1)", 2**64 - 1), ("i16", "wrap(a - 32766 - 5)", -32771 + 65536), ("u8", "wrap(-(a + 1))", 255),
    ("i8", "a + (100 + 100 - 150)", 50), ("i16", "(a - 4681) * 7", -32767),
    ("i16", "(a - 32767 - 1) // (a - 1)", 32767),
    ("u8", "u8(a + 3.7)", 3), ("u8", "u8(a - 1.5)", 0), ("u8", "u8(300)", 255), ("u64", "u64(1e30)", 2**64 - 1),
    ("u64", "u64(2.0 ** 63)", 2**63), ("i8", "i8(i64(a) + 1000)", 127), ("i64", "i64(int(a) + 2147483647)", 2**63 - 1),
    ("u8", "(a + 200) // 7", 28), ("u32", "a + 0xffffffff", 2**32 - 1),
])
def test_widths(type_: str, expression: str, want: int) -> None:
    got = go(f"vertex a: {type_} = 0\nvertex x: {type_} = {expression}").fields["x"]
    assert got[0] == want
    assert got.dtype == {"u": "u", "i": "i"}[type_[0]] + str(int(type_[1:]) // 8)


def test_one_value_for_the_graph_converts_to_every_width() -> None:
    """An integer with one value for the graph is converted to the width of the other operand. NumPy would treat 2^64 -
    1 as a C long, which overflows.
    """
    outcome = go("program p(k: int)\nvertex a: u64 = u64(k)\nvertex b: u8 = u8(k)\nvertex c: u64 = u64(-k)", k=300)
    assert [outcome.fields[name][0] for name in "abc"] == [300, 255, 0]


def test_infinity_survives_conversion() -> None:
    outcome = go("""
        vertex a: int = inf
        vertex b: i64 = a
        vertex c: float = a
        vertex d: float = -a
        vertex e: i64 = b + 5
        vertex f: float = a - 1.5
    """)
    assert outcome.fields["b"][0] == outcome.fields["e"][0] == 2**63 - 1
    assert outcome.fields["c"][0] == outcome.fields["f"][0] == math.inf
    assert outcome.fields["d"][0] == -math.inf


@pytest.mark.parametrize(("expression", "want"), [
    ("7 / 2", 3.5), ("7.5 // 2", 3.0), ("-7.5 // 2", -4.0), ("-7.5 % 2", 0.5), ("7.5 % -2", -0.5), ("1 / 0", math.inf),
    ("sqrt(2)", math.sqrt(2)), ("exp(1)", math.e), ("log(0)", -math.inf), ("log1p(1e-10)", 1e-10),
    ("sin(1)", math.sin(1)), ("cos(2)", math.cos(2)), ("tan(0.5)", math.tan(0.5)), ("atan2(1, -2)", math.atan2(1, -2)),
    ("log2(10)", math.log2(10)), ("exp2(0.5)", math.sqrt(2)), ("pow(2, 0.5)", math.sqrt(2)), ("sign(-0.5)", -1.0),
    ("clamp(1, 0.2, 0.5)", 0.5), ("float(true)", 1.0), ("float(3)", 3.0),
    ("tanh(0.5)", math.tanh(0.5)), ("abs(-1.5)", 1.5), ("2 ** 0.5", math.sqrt(2)), ("inf - 5", math.inf),
    ("min(1, 0.5)", 0.5), ("1 / N", 1 / 3), ("0.1 + 0.2", 0.3),
])
def test_floats(expression: str, want: float) -> None:
    assert value(expression, "float") == pytest.approx(want, rel=1e-6)
    assert value(expression, "f64") == pytest.approx(want, rel=1e-15)


def test_floats_compute_in_their_type() -> None:
    outcome = go("""
        vertex a: float = 16777216
        vertex x: float = a + 1 + 1
        vertex y: f64 = a + 1 + 1
        vertex h: f16 = 0.1
        vertex z: float = h * 3
    """)
    assert outcome.fields["x"][0] == outcome.fields["y"][0] == 16777216
    assert outcome.fields["z"][0] == np.float32(np.float16(0.1)) * np.float32(3)


def test_precision_widens_int_and_float() -> None:
    outcome = go("vertex a: int = inf\nvertex b: float = 1 / 3\nvertex c: i32 = 1", precision=64)
    assert [outcome.fields[name].dtype for name in "abc"] == [np.int64, np.float64, np.int32]
    assert outcome.fields["a"][0] == 2**63 - 1
    assert outcome.fields["b"][0] == 1 / 3


def test_nothing_converts_by_itself_but_int_to_float() -> None:
    for text in ("vertex x: int = 0.5", "vertex x: float = true", "vertex x: bool = 1", "vertex x: int = self",
                 "vertex a: i64 = 1\nvertex x: int = a", "vertex x: vertex = 0"):
        with pytest.raises(TypeError):
            go(text)


def test_tuples_compare_and_choose() -> None:
    assert value("1 if (1, 2.5) < (1, 3) else 0") == 1
    assert value("1 if (2, 0) <= (1, 9) else 0") == 0
    assert value("min((3, 1), (2, 9))[1]") == 9
    # without a value, or for equal values: the first argument
    assert value("min((inf, 7), (inf, 1))[1]") == 7
    assert value("max((-inf, 7), (-inf, 9))[1]") == 7
    assert value("min((inf, 7), (4, 1))[1]") == 1


@pytest.mark.parametrize("name", ["min", "max"])
@pytest.mark.parametrize("seed", range(20))
def test_tuples_are_compared_in_any_grouping(name: str, seed: int) -> None:
    """Among equal tuples, the first tuple is the result, whether rows are combined one after the other or pairwise."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    rows, groups = int(rng.integers(0, 200)), int(rng.integers(1, 9))
    group = rng.integers(0, groups, rows)
    parts = (Value(F32, rng.choice(np.array([-np.inf, -0.0, 0.0, 1.5, np.inf], np.float32), rows)),
             Value(VERTEX, rng.integers(-1, 4, rows)), Value(I64, np.arange(rows) % int(rng.integers(1, 4))))
    body = tuple_of(parts)
    kept = np.flatnonzero(~without_value(name, body))
    body, group, start = take(body, kept), group[kept], tuple_identity(name, body.type, groups)
    one, two = (fold(lambda a, b: extreme(name, a, b, 32), start, *given)
                for given in ((body, group), halved(lambda a, b: extreme(name, a, b, 32), body, group)))
    assert [part.raw.tobytes() for part in one.parts] == [part.raw.tobytes() for part in two.parts]


def test_none() -> None:
    outcome = go("""
        vertex p: vertex = none if self == none else self
        vertex q: vertex = none
        vertex a: vertex = min(p, q)
        vertex b: vertex = max(q, p)
        vertex c: bool = q == none and p != none
    """)
    assert column(outcome, "a") == column(outcome, "b") == [0, 1, 2]
    assert column(outcome, "q") == [-1, -1, -1]
    assert all(outcome.fields["c"])


# ------------------------------------------------------------------ sections 7 and 8: reductions, functions


@pytest.mark.parametrize(("reduction", "want"), [
    ("sum(u.a for u -> self)", 9), ("prod(u.a for u -> self)", 24), ("min(u.a for u -> self)", 2),
    ("max(u.a for u -> self)", 4), ("count(u.a > 2 for u -> self)", 2), ("bitor(u.a for u -> self)", 7),
    ("bitand(u.a for u -> self)", 0), ("bitxor(u.a for u -> self)", 5), ("mex(u.a - 2 for u -> self)", 3),
    ("hindex(u.a for u -> self)", 2), ("mode(w for u -> self, default = 0)", 4), ("sum(w for u -> self)", 9),
    ("sum(u.a * w for u -> self if u.a != 3)", 24), ("sum(u.a for self -> u)", 0), ("sum(u.a for u -- self)", 9),
    ("min(u.a for u -> self if u.a > 9, default = -1)", -1), ("min(u.a for u -> self if u.a > 9)", INF),
    ("max(u.a for u -> self if u.a > 9)", -INF - 1), ("count(true for u -- self)", 3),
])
def test_reductions_over_edges(reduction: str, want: int) -> None:
    outcome = go(f"""
        program test(s: vertex, r: vertex)
        edge w: int
        vertex a: int = 2 if self == s else 3 if self == r else 4
        vertex x: int = {reduction}
    """, FORK, s=0, r=1)
    assert outcome.fields["x"][3] == want


def test_reductions_of_nothing() -> None:
    outcome = go("""
        vertex a: u8 = 7
        vertex b: bool = true
        vertex p: vertex = self
        vertex least: u8 = min(u.a for u -> self)
        vertex most: u8 = max(u.a for u -> self)
        vertex some: bool = any(u.b for u -> self)
        vertex every: bool = all(not u.b for u -> self)
        vertex first: vertex = min(u.p for u -> self)
        vertex ones: u8 = bitand(u.a for u -> self)
        vertex product: float = prod(0.5 for u -> self)
        vertex mean: float = mean(u.a for u -> self, default = -1)
    """)
    at = {name: array[0] for name, array in outcome.fields.items()}
    assert (at["least"], at["most"], at["some"], at["every"]) == (255, 0, False, True)
    assert (at["first"], at["ones"], at["product"], at["mean"]) == (-1, 255, 1.0, -1.0)
    assert [bool(b) for b in outcome.fields["every"]] == [True, False, False]


def test_float_sums_round_once() -> None:
    graph = ref_graph(4, [(0, 3), (1, 3), (2, 3)], w=[16777216.0, 1.0, 1.0])
    assert go("edge w: float\nvertex x: float = sum(w for u -> self)", graph).fields["x"][3] == 16777218
    text = "edge w: float\nvertex x: float = sum(w for self -> u)\nglobal s = sum(v.x for v in vertices)"
    assert go(text, graph).globals["s"] == 16777218


def test_integer_sums_are_exact() -> None:
    outcome = go("""
        program test(s: vertex, r: vertex)
        vertex a: int = 2000000000 if self == s else -2000000000 if self == r else 1500000000
        vertex x: int = sum(u.a for u -> self)
        vertex y: int = sum(2 * u.a for u -> self)
        vertex b: u8 = 200
        vertex z: u8 = sum(u.b for u -> self)
        global all = sum(v.a for v in vertices)
        global c = count(v.a > 0 for v in vertices)
    """, FORK, s=0, r=1)
    assert outcome.fields["x"][3] == 1500000000  # 2000000000 - 2000000000 + 1500000000 in any order
    assert outcome.fields["y"][3] == INF  # 2 * 2000000000 is infinite
    assert outcome.fields["z"][3] == 255
    assert outcome.globals["all"] == 3000000000
    assert outcome.globals["c"] == 3


@pytest.mark.parametrize(("values", "want"), [
    ([100, 100, -100], 100), ([100, 100, 100], 127), ([-100, -100, 100], -100), ([127, -128, 5], 127),
    ([127, -100, -100], 127), ([-128, 100, 100], -128), ([-64, -64, 0], -128), ([64, 63, 0], 127),
])
def test_sums_near_the_ends(values: list[int], want: int) -> None:
    a = np.array([*values, 0], np.int8)
    assert go("vertex a: i8\nvertex x: i8 = sum(u.a for u -> self)", FORK, {"a": a}).fields["x"][3] == want


@pytest.mark.parametrize(("values", "want"), [
    ([100, 100, 0], 0), ([100, -100, 1], -128), ([100, 100, -1], -128), ([127, -1, -1], 127), ([-128, -1, 1], 127),
    ([7, 9, 2], 126), ([127, 0, 1], 0),
])
def test_products_near_the_ends(values: list[int], want: int) -> None:
    a = np.array([*values, 0], np.int8)
    assert go("vertex a: i8\nvertex x: i8 = prod(u.a for u -> self)", FORK, {"a": a}).fields["x"][3] == want


def test_tuple_reductions_skip_what_has_no_value() -> None:
    outcome = go("""
        program test(source: vertex)
        vertex d: int = 1 if self == source else inf
        vertex best: vertex = none
        vertex far: int = 0
        repeat 1 times:
            gather near = min((u.d, u) for u -> self)
            apply (far, best) = near
            gather other = min((u.d, u) for u -> self, default = (-5, self))
            apply d = other[0]
    """, FORK, source=1)
    assert column(outcome, "far") == [INF, INF, INF, 1]
    assert column(outcome, "best") == [-1, -1, -1, 1]
    assert column(outcome, "d") == [-5, -5, -5, 1]


def test_edge_ends_and_degrees() -> None:
    text = """
        vertex i: int = indegree
        vertex o: int = outdegree
        vertex d: int = degree
        vertex c: int = count(true for u -- self)
        vertex n: int = sum(u.outdegree for u -> self)
        global m = M
    """
    directed = go(text, LOOPY)
    assert [column(directed, name) for name in "iodcn"] == [[2, 2], [3, 1], [5, 3], [5, 3], [4, 6]]
    undirected = go(text, ref_graph(2, [(0, 0), (0, 1), (0, 1)], False))
    assert [column(undirected, name) for name in "iodc"] == [[3, 2]] * 4
    assert (directed.globals["m"], undirected.globals["m"]) == (4, 5)


def test_reductions_over_vertices_and_sets() -> None:
    outcome = go("""
        program test(s: vertices)
        vertex a: float = 1.5
        global total = sum(v.a for v in vertices)
        global chosen = sum(v.a for v in s)
        global none_ = max(v.a for v in vertices if v.a > 9, default = -1)
        global mean = mean(v.indegree for v in vertices, default = 0)
        vertex x: float = a / sum(v.a for v in vertices)
    """, s=[2, 0])
    assert [float(outcome.globals[k]) for k in ("total", "chosen", "none_")] == [4.5, 3.0, -1.0]
    assert outcome.globals["mean"] == pytest.approx(2 / 3)
    assert outcome.fields["x"][0] == pytest.approx(1 / 3)


def test_user_reductions_and_functions() -> None:
    outcome = go("""
        program test(shift = 2)
        global base = 10
        fn twice(x: float, y = 1): float = 2 * x + y + base + shift
        reduction far(a, b): float = max(abs(a), abs(b)), identity 0
        vertex a: float = -3
        vertex x: float = far(u.a for u -> self)
        vertex y: float = twice(1)
        vertex z: float = far(a, 1)
    """)
    assert column(outcome) == [0, 3, 3]
    assert outcome.fields["y"][0] == 15
    assert outcome.fields["z"][0] == 3


def test_vectors() -> None:
    outcome = go("""
        vertex a: float[3] = [1, 2, 3.5]
        vertex b: float[3] = reverse(a) * 2 + 1
        vertex s: float = sum(a) + min(a) + max(a)
        vertex d: float = dot(a, b)
        vertex c: float = b[0]
        vertex g: float[3] = sum(u.a for u -> self)
    """)
    assert outcome.fields["b"][0].tolist() == [8, 5, 3]
    assert (outcome.fields["s"][0], outcome.fields["d"][0], outcome.fields["c"][0]) == (11, 28.5, 8)
    assert outcome.fields["g"].tolist() == [[0, 0, 0], [1, 2, 3.5], [1, 2, 3.5]]


def test_special_functions() -> None:
    assert mix(0, 0) == 0
    assert mix(1, 2) == mix(1, 2) != mix(2, 1)
    outcome = go("""
        program test(s: vertices)
        vertex r: float = random(7, self)
        vertex p: int = position(self, s)
        vertex b: u64 = bit(position(self, s))
        vertex h: u8[64] = hll_unit(1, self)
    """, s=[2, 1])
    assert column(outcome, "p") == [-1, 1, 0]
    assert column(outcome, "b") == [0, 2, 1]
    assert outcome.fields["r"][2] == np.float32((mix(7, 2) >> 40) / 2**24)
    assert (outcome.fields["h"] > 0).sum(axis=1).tolist() == [1, 1, 1]
