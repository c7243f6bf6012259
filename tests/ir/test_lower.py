"""Lowering of names, types, conversions and inlining, tested on the text of the IR."""

from __future__ import annotations

import pytest

from tests.ir.helpers import applies, gathers, ir, lines, only
from vlang.ir.forms import forms as f
from vlang.ir.forms.text import expression
from vlang.ir.forms.visible import expressions, statements
from vlang.types import (
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INTEGER,
    NUMBER,
    U8,
    U64,
    VERTEX,
    Scalar,
    Tuple,
    Type,
    Vector,
)  # fmt: skip


def body(text: str, precision: int = 32) -> list[str]:
    return [line.strip() for line in lines(ir(text, precision))]


def value(expr: str, type_: str = "float", before: str = "") -> f.Expr:
    """Return the IR of an expression that initialises a field of a type."""
    return only(f"{before}\nvertex x: {type_} = {expr}\n", "x")


# ------------------------------------------------------------------------- types


@pytest.mark.parametrize(("type_", "expected"), [
    ("i8", I8), ("i64", I64), ("u8", U8), ("u64", U64), ("f32", F32), ("f64", F64), ("int", I32), ("float", F32),
])
def test_a_literal_takes_the_type_of_its_place(type_: str, expected: Scalar) -> None:
    expr = value("7", type_)
    assert expr == f.Const(expected, 7.0 if expected.floating else 7)


def test_a_wide_unsigned_literal_keeps_its_bits() -> None:
    assert value("0xFFFFFFFFFFFFFFFF", "u64") == f.Const(U64, 2**64 - 1)


@pytest.mark.parametrize(("text", "type_", "number"), [
    ("inf", "int", I32.highest), ("-inf", "int", I32.lowest), ("inf", "i8", 127), ("-inf", "i64", I64.lowest),
    ("inf", "float", float("inf")), ("-inf", "f64", float("-inf")), ("-3", "i8", -3), ("-0.5", "float", -0.5),
    ("2 * 3 + 1", "int", 7), ("2 ** 10", "i64", 1024), ("1 << 3", "int", 8),
    ("7 // -2", "int", -4),
])
def test_literals_are_folded(text: str, type_: str, number: float) -> None:
    expr = value(text, type_)
    assert isinstance(expr, f.Const)
    assert expr.value == number
    assert type(expr.value) is type(number)


def test_precision_widens_int_and_float() -> None:
    assert only("vertex x: float = 1\n", "x", 64).type == F64
    assert only("vertex x: int = degree\n", "x", 64) == f.Degree(I64, "all", "self")


def test_counters_are_i64_and_cast_once() -> None:
    assert value("N", "int") == f.Op(I32, "cast", (f.GraphValue(I64, "N", "builtin"),))
    assert value("N", "i64") == f.GraphValue(I64, "N", "builtin")
    whole = value("N * (N - 1) / 2")
    assert expression(whole) == "f32(N * (N - 1)) / 2"
    assert isinstance(whole, f.Op)
    cast = whole.args[0]
    assert isinstance(cast, f.Op)
    assert cast.args[0].type == I64


def test_a_counter_in_a_comparison_is_not_narrowed() -> None:
    (compare,) = [e for e in f.walk(value("1 if N * N > M else 0")) if isinstance(e, f.Op) and e.op == "gt"]
    assert {arg.type for arg in compare.args} == {I64}


def test_integers_divide_as_floats() -> None:
    before = "vertex a: int = 1\nvertex b: f64 = 1\n"
    assert expression(value("a / a", "float", before)) == "f32(a) / f32(a)"
    assert expression(value("a / b", "f64", before)) == "f64(a) / b"
    assert expression(value("1 / N")) == "1 / f32(N)"


def test_operators_compute_in_the_common_type() -> None:
    before = "vertex a: i16 = 1\nvertex b: i64 = 1\nvertex c: u8 = 1\n"
    assert expression(value("a + b", "i64", before)) == "i64(a) + b"
    assert expression(value("a + c", "i16", before)) == "a + i16(c)"
    assert expression(value("a + 1", "i16", before)) == "a + 1"
    assert expression(value("a * 0.5", "float", before)) == "f32(a) * 0.5"


def test_comparisons_compute_in_the_common_type() -> None:
    before = "vertex a: i16 = 1\nvertex b: i64 = 1\nvertex c: float = 1\n"
    assert expression(value("a < b", "bool", before)) == "i64(a) < b"
    assert expression(value("a == c", "bool", before)) == "f32(a) == c"
    assert expression(value("a < inf", "bool", before)) == "a < inf"


def test_a_literal_exponent_keeps_the_base() -> None:
    power = value("a ** 2", "int", "vertex a: int = 3\n")
    assert power == f.Op(I32, "pow", (f.Field(I32, "a", "self"), f.Const(I64, 2)))
    assert value("a ** 2", "float", "vertex a: float = 3\n").type == F32
    assert expression(value("a ** b", "float", "vertex a: float = 3\nvertex b: int = 2\n")) == "a ** f32(b)"


def test_shifts_keep_the_type_of_what_is_shifted() -> None:
    before = "vertex a: i16 = 1\nvertex b: i64 = 1\n"
    assert expression(value("(a << 3) + (a >> b)", "i16", before)) == "(a << 3) + (a >> b)"
    shift = value("a << 3", "i16", before)
    assert isinstance(shift, f.Op)
    assert (shift.type, shift.args[1]) == (I16, f.Const(I16, 3))


def test_f16_is_read_as_f32_and_written_with_a_cast() -> None:
    program = ir("vertex a: f16 = 0\nrepeat 2 times:\n    apply a = a + 1\n")
    (apply,) = applies(program)
    read = f.Op(F32, "cast", (f.Field(F16, "a", "self"),))
    assert apply.value == f.Op(F16, "cast", (f.Op(F32, "add", (read, f.Const(F32, 1.0))),))


def test_tuples_are_converted_component_by_component() -> None:
    program = ir("vertex d: f64 = 0\nvertex p: vertex = none\nvertex h: int = 0\n"
                 "repeat:\n    gather best = min((u.h, u) for u -> self)\n    apply (d, p) = best\n")
    (apply,) = applies(program)
    assert apply.value.type == Tuple((F64, VERTEX))
    assert expression(apply.value) == "(f64(best[0]), best[1])"


def test_tuple_literals_take_their_types_inside() -> None:
    program = ir("vertex d: f64 = 0\nvertex p: vertex = none\n"
                 "repeat 2 times:\n    apply (d, p) = (1, self) if d == 0 else (inf, none)\n")
    (apply,) = applies(program)
    assert expression(apply.value) == "(1, self) if d == 0 else (inf, none)"
    assert apply.value.type == Tuple((F64, VERTEX))


def test_vectors_broadcast_scalars() -> None:
    before = "vertex a: float[2] = 0\nvertex n: int = 1\n"
    assert value("0.5", "float[2]") == f.Op(Vector(F32, 2), "broadcast", (f.Const(F32, 0.5),))
    assert expression(value("a + n", "float[2]", before)) == "a + f32[2](f32(n))"
    assert expression(value("[1, n]", "float[2]", before)) == "[1, f32(n)]"
    assert expression(value("a[1] + sum(a)", "float", before)) == "a[1] + sum(a)"


def test_nothing_weak_is_left() -> None:
    program = ir("""program p(k = 3, d = 0.5, s: vertex)
edge w: float = 1
vertex a: float = 1 / N if self == s else k * d
vertex b: i64 = min(N, 7, k)
global g = max(v.a for v in vertices) + M
require d < 1
repeat k + 1 times until iteration > 2 * k:
    gather t = sum(1 for u -> self if u.b > 2)
    let    z = 3
    apply  a = t / 2 + z ** 2 - iteration
for j from 1 to N:
    where b > j:
        apply b = j + 1
""")
    seen = [e for s in statements(program.body) for expr in expressions(s) for e in f.walk(expr)]
    assert not [e for e in seen if e.type in (INTEGER, NUMBER)]


# ----------------------------------------------------------------- names, functions


def test_names_are_unique_in_the_program() -> None:
    program = ir("""vertex near_2: int = 0
vertex d: int = 0
repeat:
    gather near = min(u.d for u -> self)
    apply  d    = min(d, near)
repeat:
    gather near = max(u.d for u -> self)
    apply  d    = max(d, near)
""")
    assert [g.name for g in gathers(program)] == ["near", "near_3"]
    assert program.names["near_3"] == "near"
    assert {e.name for a in applies(program) for e in f.walk(a.value) if isinstance(e, f.Accumulator)} == {
        "near", "near_3"}


def test_an_output_keeps_its_name_beside_an_earlier_local_one() -> None:
    program = ir("""program p(s: vertices)
for a in s:
    vertex d: int = 0
    repeat:
        gather near = min(u.d for u -> self)
        apply  d    = min(d, near)
vertex d2: int = 0
""")
    assert {(field.name, field.output) for field in program.fields} == {("d2", True), ("d", False)}


def test_functions_are_inlined_with_declared_types() -> None:
    text = "fn half(x: f64): f64 = x / 2\nvertex a: int = 3\nvertex b: f64 = half(a) + half(1)\n"
    assert expression(only(text, "b")) == "f64(a) / 2 + 1 / 2"
    twice = "fn f(x: float): float = x * x\nfn g(x: float): float = f(x) + f(x + 1)\nvertex b: float = g(N)\n"
    assert expression(only(twice, "b")) == "f32(N) * f32(N) + (f32(N) + 1) * (f32(N) + 1)"


def test_updates_are_written_out() -> None:
    text = "vertex a: int = 3\nrepeat 2 times:\n    apply a {} 2\n"
    for op in "+-*|&^":
        (apply,) = applies(ir(text.format(f"{op}=")))
        assert expression(apply.value) == f"a {op} 2"


def test_members() -> None:
    program = ir("""vertex label: vertex = self
vertex n: int = degree
repeat 2 times:
    gather a = sum(u.outdegree + indegree for u -- self if u != self)
    apply  n = a + self.n + label.label.n + label.outdegree
global g = max(v.n + v.degree for v in vertices if v != none)
""")
    assert body_of(program) == [
        "start label = self", "start n = degree", "repeat 2 times:",
        "gather a: i32 = sum(u.outdegree + indegree for u -- self if u != self)",
        "apply n = a + n + label.label.n + label.outdegree",
        "global g = max(v.n + v.degree for v in vertices if v != none)",
    ]
    (total,) = [s.value for s in program.body if isinstance(s, f.InitGlobal)]
    assert {e.of for e in f.walk(total) if isinstance(e, (f.Field, f.Degree, f.Vertex))} == {"self"}


def body_of(program: f.Program) -> list[str]:
    return [line.strip() for line in lines(program)]


def test_old_and_changed() -> None:
    text = "vertex a: float = 3\nrepeat 2 times:\n    where changed(a):\n        apply a = old(a) + 1\n"
    assert body(text) == ["start a = 3", "repeat 2 times:", "where differs(a, old(a)):", "apply a = old(a) + 1"]


def test_min_of_many_is_folded_from_the_left() -> None:
    assert expression(value("min(1.5, N, a)", "float", "vertex a: float = 1\n")) == "min(min(1.5, f32(N)), a)"


# -------------------------------------------------------------------- reductions


@pytest.mark.parametrize(("text", "type_", "inside"), [
    ("sum(u.a for u -> self)", I16, I16), ("count(u.a > 0 for u -> self)", I32, BOOL),
    ("mean(u.a for u -> self, default = 0)", F32, F64), ("mex(u.a for u -> self)", I32, I16),
    ("max(u.b for u -> self)", F64, F64), ("any(u.a > 0 for u -> self)", BOOL, BOOL),
    ("mode(u.a for u -> self, default = 3)", I16, I16), ("mean(u.b for u -> self, default = 0)", F64, F64),
    ("sum(1 for u -> self)", I32, I32), ("min((u.a, u) for u -> self)", Tuple((I16, VERTEX)), Tuple((I16, VERTEX))),
])
def test_types_of_gathers(text: str, type_: Type, inside: Type) -> None:
    program = ir(f"vertex a: i16 = 1\nvertex b: f64 = 1\nrepeat 2 times:\n    gather g = {text}\n")
    (gather,) = gathers(program)
    assert (gather.reduce.type, gather.reduce.body.type) == (type_, inside)


@pytest.mark.parametrize(("text", "type_", "inside"), [
    ("sum(v.a for v in vertices)", I64, I64), ("count(v.a > 0 for v in vertices)", I64, BOOL),
    ("sum(v.c for v in vertices)", U64, U64), ("max(v.a for v in vertices)", I16, I16),
    ("sum(v.b for v in vertices)", F32, F32), ("mean(v.a for v in vertices, default = 0)", F32, F64),
])
def test_types_of_reductions_over_vertices(text: str, type_: Type, inside: Type) -> None:
    program = ir(f"vertex a: i16 = 1\nvertex b: float = 1\nvertex c: u8 = 1\nglobal g = {text}\n")
    (reduce,) = [s.value for s in program.body if isinstance(s, f.InitGlobal)]
    assert isinstance(reduce, f.Reduce)
    assert (reduce.type, reduce.body.type) == (type_, inside)


def test_defaults_take_the_type_of_the_reduction() -> None:
    program = ir("vertex a: i64 = 1\nrepeat 2 times:\n    gather g = max(u.a for u -> self, default = -inf)\n")
    assert gathers(program)[0].reduce.default == f.Const(I64, I64.lowest)


def test_user_reductions() -> None:
    program = ir("reduction far(a, b): float = max(a, b), identity -inf\nvertex a: int = 1\nvertex x: float = 0\n"
                 "repeat 2 times:\n    gather g = far(u.a for u -> self)\n    apply x = far(x, g)\n")
    (rule,) = program.reductions
    (reduce,) = [g.reduce for g in gathers(program)]
    assert (rule.name, rule.type, expression(rule.body)) == ("far", F32, f"max({rule.left}, {rule.right})")
    assert (reduce.user, reduce.name, expression(reduce.body)) == (True, "far", "f32(u.a)")
    assert applies(program)[0].value == f.Op(F32, "user", (f.Field(F32, "x", "self"), f.Accumulator(F32, "g")), "far")


# --------------------------------------------------------------------- statements


def test_declarations() -> None:
    program = ir("""program p(s: vertex, k = 3, d: f64 = 0.5)
edge w: float = 1
edge c: int
vertex a, b: float = 0
vertex given: i8
require w >= 0 and d < 1
global g: i64 = N
""")
    assert [(x.name, str(x.type), x.default and expression(x.default)) for x in program.params] == [
        ("s", "vertex", None), ("k", "i32", "3"), ("d", "f64", "0.5")]
    assert [(x.name, str(x.type), x.default and expression(x.default)) for x in program.edges] == [
        ("w", "f32", "1"), ("c", "i32", None)]
    assert [(x.name, x.required, x.output) for x in program.fields] == [
        ("a", False, True), ("b", False, True), ("given", True, True)]
    assert [x.text for x in program.requires] == ["w >= 0 and d < 1"]
    assert [(x.name, x.type) for x in program.globals] == [("g", I64)]
    assert body_of(program) == ["start a = 0", "start b = 0", "global g = N"]


def test_blocks() -> None:
    text = """program p(s: vertices)
vertex d: int = 0
for a in s:
    vertex e: int = 0 if self == a else inf
    repeat at most 5 times until all(v.d > 0 for v in vertices):
        where d > 0:
            where self != a:
                apply d = e
        activate when d > 1
for k from 1 to N until k > 3:
    sweep d down:
        gather g = sum(u.d for u -> self if u.d < inf)
"""
    assert body(text) == [
        "start d = 0", "for a in s:", "start e = 0 if self == a else inf",
        "repeat at most 5 times until all(v.d > 0 for v in vertices):", "where d > 0:", "where self != a:",
        "apply d = e", "activate when d > 1", "for k from 1 to N until k > 3:", "sweep d down:",
        "gather g: i32 = sum(u.d for u -> self if u.d < inf)",
    ]


def test_functions_of_the_language() -> None:
    text = """program p(s: vertices, seed = 1)
vertex a: float = random(seed, self) + sqrt(degree) + log1p(2)
vertex b: u64 = bit(position(self, s)) | 3
vertex c: u8[64] = hll_unit(seed, self)
vertex e: float = hll_size(c) + abs(-2.5) + exp(floor(a))
"""
    assert body(text) == [
        "start a = random(u64(seed), self) + sqrt(f32(degree)) + log1p(2)",
        "start b = bit(i64(position(self, s))) | 3",
        "start c = hll_unit(u64(seed), self)",
        "start e = hll_size(c) + abs(-2.5) + exp(f32(floor(a)))",
    ]
