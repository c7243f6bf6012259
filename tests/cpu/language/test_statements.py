"""The engine is compared with the interpreter for statements outside and inside of loops, with one construct per
program.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import CUTS, assert_as_interpreted, assert_cut_free, interpreted
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from tests.reference.graphs import family
from tests.sample import sampled
from vlang import compile

PROGRAMS: dict[str, str] = {
    # reads of own fields before writes; swaps; updates; several writes of one field; reads of a field just written
    "applies": """
program applies(k: int = 3, by = 0.5, on = true, way: vertex = none)
vertex a, b: int = indegree
vertex x, y: float = a / 2 + by
vertex flag: bool = a % 2 == 0
vertex p, q: vertex = self if flag else way
vertex c: u8 = 250
fn twice(n: int): int = 2 * n + k
fn blend(s: float, t: float) = s * by + t * (1 - by)
apply (a, b) = (b + 1, a)
apply (x, y) = (y, x + a)
apply a += twice(b)
apply a -= k
apply a *= 3
apply a |= 1
apply a &= 0xff
apply a ^= b
apply c += 10
apply x *= blend(x, 2)
apply flag = not flag or on and a > b
apply (p, flag, c) = (q, p == q, c - 1)
apply q = p if flag else self
""",
    # accumulators that are used after writes; gathers of fields just applied; several gathers in one statement group
    "phases": """
program phases
vertex a: int = outdegree
vertex b: int = 0
vertex c: int = 0
gather s = sum(u.a for u -> self)
gather t = max(u.a + a for self -> u)
apply a = s
gather r = sum(u.a for u -> self)
gather w = min((u.b + r, u) for u -- self)
apply b = r - s + t
apply c = w[0]
gather last = sum(u.b * u.c for u -> self if u.a > s)
let total = sum(v.a for v in vertices)
apply c += last + floor(total / (1 + N)) + s + t
apply (a, b) = (b, a)
gather again = sum(u.a - u.b for self -> u)
apply a = again
""",
    # nested conditions; conditions that read accumulators; gathers inside conditions; writes of fields that conditions
    # read
    "where": """
program wheres
vertex a: int = self_in()
vertex b, c, d: int = 0
fn self_in(): int = 2
gather s = sum(1 for u -> self)
where s > 1:
    apply a = s
    where a % 2 == 0:
        gather near = sum(u.a for self -> u)
        apply b = near + a
        apply a = 0
    apply c = a
    gather far = count(u.a > 0 for u -- self if u != self)
    where far > near_limit() or b > 0:
        apply d = far
    apply c += 1
where not (a == 0):
    gather rest = max(u.d + u.c for u -> self)
    apply d = max(d, rest)
fn near_limit(): int = 1
""",
    # conditions that are evaluated once on entry
    "where once": """
program once
vertex a: int = outdegree
vertex b: int = 0
where a > 1:
    apply a = 0
    apply b = 7
    gather s = sum(u.b for u -> self)
    apply a = s
    where a > 0: apply b += a
    apply b += 100
let left = count(v.a == 0 for v in vertices)
where left > 2: apply b += 1
""",
    "initializers": """
program initializers(low = 2)
edge w: int = 3
vertex load: i64 = sum(w for u -> self)
vertex peak: i64 = max(w + u.load for self -> u, default = low)
vertex both: i64 = 1 + 2 * sum(u.load for u -- self if u.load > low)
global big = max(v.load for v in vertices)
vertex share: float = load / (1 + sum(v.load for v in vertices))
vertex rank: i64 = load - min(v.load for v in vertices) + (1 if big > 3 else 0)
vertex top: bool = load == big
global tops = count(v.top for v in vertices)
let doubled = 2 * tops
apply load = load + doubled
global late: i64 = sum(v.load for v in vertices)
global mean_share = mean(v.share for v in vertices, default = 0)
""",
    "constants": """
program constants(seed: u8 = 200, wide: i64 = 0x7fffffff00, tiny: f16 = 0.1, ok: bool = false, none_here: vertex = none)
vertex a: i64 = wide + seed
vertex b: u8 = seed
vertex c: f16 = tiny
vertex d: bool = ok or none_here == none
vertex e: f64 = 1e300
vertex f: int = -inf if indegree == 0 else inf
vertex g: float = f
vertex h: i64 = f
apply b += b
apply c = c * 3 + 0.1
apply e *= e
apply f = f + 1
apply h = h - 1 if h > 0 else h + 5
""",
}

PARAMETERS: dict[str, dict[str, Any]] = {
    "applies": {"k": -2, "by": 0.25, "on": False},
    "constants": {"seed": 199, "wide": 2**40, "tiny": 0.3, "ok": True},
}

ARITHMETIC = """
program arithmetic
vertex x, y: {kind}
vertex add, sub, mul, quo, rem, neg, absolute, least, top, cube, power, steps: {kind} = 0
vertex less, same: bool = false
vertex ratio: {real} = 0
apply add = x + y
apply sub = x - y
apply mul = x * y
apply quo = x // y
apply rem = x % y
apply neg = -x
apply absolute = abs(x)
apply least = min(x, y, 3)
apply top = max(x, y)
apply cube = x ** 3
apply power = x ** y
apply steps = x if x < y else y if y != 0 else 1
apply less = x <= y and not (x > y)
apply same = x == y or x != x
apply ratio = x / y
"""
BITS = """
vertex left, right, both, either, other: {kind} = 0
apply left = x << y
apply right = x >> y
apply both = x & y
apply either = x | y
apply other = x ^ y
"""
MATHS = """
vertex r, e, l, p, t: {kind} = 0
vertex f: {whole} = 0
apply r = sqrt(x)
apply e = exp(y)
apply l = log(x)
apply p = log1p(y)
apply t = tanh(x)
apply f = floor(x * 3)
"""


def agree(text: str, case: Case, cuts: tuple[dict[str, Any], ...] | None = None) -> None:
    """Assert that a program gives the interpreter's result for every partition of the work."""
    program = compile(text.lstrip("\n"))
    assert_as_interpreted(program, case, assert_cut_free(program, case, cuts), interpreted(program, case))


@pytest.mark.parametrize("name", PROGRAMS)
def test_statements(name: str) -> None:
    for shape in ("messy", "no_edges", "rmat"):
        graph = family(shape)
        columns = {"w": graph.columns["weight"]} if shape == "rmat" else {}
        agree(PROGRAMS[name], Case(graph.with_columns(**columns), PARAMETERS.get(name, {})))


def corners(kind: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return all pairs of critical values. Infinite integers are left out if the language does not define the result.
    """
    if kind[0] == "f":
        some = np.array([0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 3.0, 60000.0, np.inf, -np.inf, np.nan], f"float{kind[1:]}")
    else:
        limits = np.iinfo(("int" if kind[0] == "i" else "uint") + kind[1:])
        drawn = [0, 1, 2, 3, 7, 8, 15, 31, 63, 64, limits.max - 1, limits.max // 2]
        drawn += [-1, -2, -8, limits.min + 1] if kind[0] == "i" else [limits.max]
        most = limits.max if kind[0] == "u" else limits.max - 1
        some = np.array(sorted({x for x in drawn if x <= most}), limits.dtype)
    return np.repeat(some, len(some)), np.tile(some, len(some))


@pytest.mark.parametrize("kind", sampled(
    ["i8", "i32", "i64", "u8", "u16", "u64", "f16", "f32", "f64"], ["i8", "i32", "u64", "f16", "f64"]))
def test_arithmetic(kind: str) -> None:
    """Results are right for wraparound, division by zero, negative and huge shifts and powers, and signs of remainders.
    """
    x, y = corners(kind)
    real = "f64" if kind == "f64" else "float"
    whole = "int"
    text = (ARITHMETIC + (BITS if kind[0] in "iu" else MATHS)).format(kind=kind, real=real, whole=whole)
    graph = RefGraph(len(x), np.zeros(0, np.int64), np.zeros(0, np.int64))
    agree(text, Case(graph, {}, {"x": x, "y": y}), CUTS[:1])


def test_infinite_integers() -> None:
    """A sum or difference with `inf` on either side is infinite, and widening a type keeps `inf`."""
    some = np.array([0, 1, -1, 2**31 - 1, 2**31 - 2, -(2**31), -(2**31) + 1], np.int32)
    x, y = np.repeat(some, len(some)), np.tile(some, len(some))
    text = """
program infinite
vertex x, y: int
vertex plus, minus, negative, least: int = 0
vertex wide: i64 = x
vertex real: float = x
vertex big: bool = x == inf
vertex low: bool = x <= -inf
apply plus = x + y
apply minus = x - y
apply negative = -x
apply least = min(x + 1, y)
apply wide = wide + 1
"""
    graph = RefGraph(len(x), np.zeros(0, np.int64), np.zeros(0, np.int64))
    agree(text, Case(graph, {}, {"x": x, "y": y}), CUTS[:1])
