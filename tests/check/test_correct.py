"""Correct programs give no diagnostics, and the checker fills the tables that lowering reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from vlang.check import Checked, check, parse
from vlang.errors import ProgramError
from vlang.syntax import tree as t
from vlang.syntax.rewrite import inside
from vlang.types import BOOL, F32, F64, I32, I64, U8, U64, VERTEX, Tuple, Type, Vector

DESIGN = sorted((Path(__file__).parents[1] / "reference" / "design").glob("*.vp"))


def checked(body: str, params: str = "", precision: int = 32) -> Checked:
    return check(parse(f"program demo{params}\n{body}", "demo.vp"), precision)


def type_of(table: Checked, name: str) -> Type | None:
    return next(s.type for symbols in table.declared.values() for s in symbols if s.name == name)


@pytest.mark.parametrize("path", DESIGN, ids=lambda p: p.stem)
@pytest.mark.parametrize("precision", [32, 64])
def test_design_programs(path: Path, precision: int) -> None:
    table = check(parse(path.read_text(encoding="utf-8"), path.name), precision)
    assert table.warnings == ()
    assert table.precision == precision
    types = (t.TypeExpr, t.Domain)
    skipped = {n.size for n in inside(table.file) if isinstance(n, types) and isinstance(n, t.TypeExpr)}
    for node in inside(table.file):
        if isinstance(node, t.Expr) and node not in skipped:
            assert node in table.types, table.file.text[node.span.start : node.span.end]
        if isinstance(node, (t.Name, t.Member)):
            assert node in table.symbols
        if isinstance(node, t.Target):
            assert len(table.targets[node]) == len(node.names)


def test_accumulators() -> None:
    table = checked("""
edge w: float = 1
vertex x: f16 = 0
vertex i: u8 = 0
vertex b: bool = true
vertex v: float[3] = 0
gather halves = sum(u.x for u -> self)
gather bytes = sum(u.i for u -> self)
gather many = count(u.b for u -> self)
gather average = mean(u.i for u -> self, default = 0)
gather pair = min((u.x, u) for u -> self)
gather vectors = max(u.v for u -- self)
gather who = mode(u for u -> self, default = none)
gather free = mex(u.i for u -> self)
gather ones = sum(1 for self -> u)
gather bits = bitor(u.i for u -> self)
""")
    want = {"halves": F32, "bytes": U8, "many": I32, "average": F32, "pair": Tuple((F32, VERTEX)), "free": I32,
            "vectors": Vector(F32, 3), "who": VERTEX, "ones": I32, "bits": U8}
    assert {name: type_of(table, name) for name in want} == want


def test_over_vertices() -> None:
    table = checked("""
vertex i: u8 = 0
vertex k: int = 0
vertex x: f64 = 0
vertex y: float = 0
let bytes = sum(v.i for v in vertices)
let ints = sum(v.k for v in vertices)
let doubles = sum(v.x for v in vertices)
let floats = prod(v.y for v in vertices)
let many = count(v.k > 0 for v in vertices)
let low = min(v.i for v in vertices)
let some = any(v.k > 0 for v in S)
global ratio = ints / many
""", "(S: vertices)")
    want = {"bytes": U64, "ints": I64, "doubles": F64, "floats": F32, "many": I64, "low": U8, "some": BOOL,
            "ratio": F32}
    assert {name: type_of(table, name) for name in want} == want


def test_parameters_take_the_type_of_their_default() -> None:
    table = checked("", "(a = 1, b = 0.5, c = true, d: vertex = none, e = -a, f: u8 = 3)")
    assert [type_of(table, n) for n in "abcdef"] == [I32, F32, BOOL, VERTEX, I32, U8]
    assert type_of(checked("", "(b = 0.5)", 64), "b") == F64


def test_functions_are_seen_in_the_whole_file_and_take_the_type_of_their_body() -> None:
    table = checked("""
vertex x: float = f(2, 3)
vertex y: int = g(4)
fn f(a, b: int = 1) = a * b + k
fn g(a: int) = h(a) + 1
fn h(a: int) = a // 2
fn i(a: int = 1) = a
vertex z: int = i() + i(2)
""", "(k = 1)")
    assert type_of(table, "f") == F32
    assert type_of(table, "g") == I32


def test_two_loops_may_use_one_name() -> None:
    table = checked("""
vertex d: int = 0
repeat:
    gather near = min(u.d for u -> self)
    apply d = min(d, near)
repeat:
    gather near = max(u.d for u -> self)
    apply d = max(d, near)
""")
    nears = [s for symbols in table.declared.values() for s in symbols if s.name == "near"]
    assert len(nears) == 2
    used = [table.symbols[n] for n in inside(table.file) if isinstance(n, t.Name) and n.name == "near"]
    assert used == nears


@pytest.mark.parametrize("body", [
    "vertex p: vertex = self\nvertex x: int = 0\nrepeat 3 times:\n    apply p = p.p\n    apply x = p.x + p.degree\n",
    "vertex x: u64 = 0\napply x |= 1 << 3\napply x = x >> 2\napply x = bit(degree)\n",
    "vertex x: float[2] = [1, 2.5]\nvertex y: float = x[0] + dot(x, x) + sum(x) + max(x)\n",
    "vertex x: float\nrequire x >= 0 and N > 1\n",
    "vertex x: int = inf\napply x = -inf if x < inf else 3\n",
    "vertex a: int = 0\nvertex b: int = 1\napply (a, b) = (b, a)\n",
    "vertex x: bool = true\nvertex y: bool = x == (degree > 2)\n",
    "vertex x: float = sum(u.degree for u -> self) / count(v.degree > 1 for v in vertices)\n",
    "repeat 3 times:\n    vertex x: int = iteration\n    where x > 1: apply x = 0\n",
    "vertex x: int = 0\nfor k from 1 to 3 until all(v.x > k for v in vertices):\n    apply x = k\n",
])
def test_accepted(body: str) -> None:
    checked(body)


def test_messages_of_a_normal_loop_with_gated_growth() -> None:
    """No message reports a loop that ends by itself. In the tested loops, values grow under a condition or by unsent
    changes.
    """
    table = checked("""
vertex x: int = 0
vertex todo: int = degree
repeat:
    where todo > 0:
        apply x += 1
        apply todo = todo - 1
""")
    assert table.warnings == ()


@pytest.mark.parametrize(("name", "right", "wrong"), [
    ("sum", "f", "f, f"), ("mean", "f", "f, f"), ("argmin", "f", "f, f"), ("wrap", "x + 1", "x, 1"),
    ("dot", "f, f", "f"), ("reverse", "f", "f, f"), ("bit", "x", "x, x"), ("random", "1, self", "1"),
    ("common", "self, self", "self"),
    ("hll_unit", "1, self", "1"), ("hll_size", "h", "h, h"), ("sqrt", "2.0", "2.0, 2.0"), ("pow", "2.0, 2.0", "2.0"),
    ("atan2", "2.0, 2.0", "2.0"), ("clamp", "x, 0, 9", "x, 0"), ("sign", "x", "x, x"), ("isnan", "2.0", "2.0, 2.0"),
])
def test_numbers_of_arguments(name: str, right: str, wrong: str) -> None:
    def said(arguments: str) -> bool:
        try:
            checked("vertex x: int = 1\nvertex f: float[2] = [1, 2]\nvertex h: u8[64] = hll_unit(1, self)\n"
                    f"vertex z: bool = {name}({arguments}) == 1\n")
        except ProgramError as error:
            return f"`{name}` takes" in str(error)
        return False

    assert (said(right), said(wrong)) == (False, True)
