"""Arithmetic at the limits of every type in CUDA C: promotions, undefined behaviour of C, and missing operations."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cpu.compare import interpreted
from tests.cuda.emulation.gxx import Library, compile_text, needs_compiler
from tests.emit.structs import Frame
from tests.reference.cases import Case
from tests.reference.graph import RefGraph
from vlang import Program, compile, maths
from vlang.runtime.gpu.kernels.entries import entry
from vlang.runtime.plan.plan import Plan
from vlang.types import CONVERSIONS

pytestmark = needs_compiler
SIGNED, UNSIGNED, FLOATS = ("i8", "i16", "i32", "i64"), ("u8", "u16", "u32", "u64"), ("f32", "f64")
ANY = ("a + b", "a - b", "a * b", "min(a, b)", "max(a, b)", "abs(a)", "a // b", "a % b", "a ** 2", "a ** 3",
       "a if a < b else b")
TESTS = ("a < b", "a == b", "a >= b and not a != b", "a <= b or b > a")
INTEGERS = ("a | b", "a & b", "a ^ b", "a << s", "a >> s")
WHOLE = ("wrap(a + b)", "wrap(a - b)", "wrap(a * b)", "wrap(-a)", "wrap(a ** 3)", "wrap(a * b) + b", "a + 1", "a - 1",
         "a + 5", "5 - a", "a * 3", "(a // 2) * 2", "abs(a) + abs(b)", "max(a, 0) - max(b, 0)", "a % 8 + b % 8",
         "(a % 4) * (b % 4)", "a ** min(b, 9)", "min(a, 0) * max(b, 0)", "min(a, 0) + min(b, 0)")
SIGNS = ("a * -1", "-1 * a", "a * max(min(b, 1), -1)", "a * max(min(b, 0), -1)", "a // -1", "a // max(min(b, 1), -1)")
Array = NDArray[Any]


def expressions(type_: str) -> list[str]:
    """Return expressions of two values of a type, each with the type of its result."""
    texts = [f"{type_} = {text}" for text in ANY] + [f"bool = {text}" for text in TESTS]
    texts += [f"{type_} = {text}" for text in INTEGERS if type_ not in FLOATS]
    texts += [f"{type_} = -a"]
    texts += [f"{type_} = {text}" for text in WHOLE if type_ not in FLOATS]
    texts += [f"{type_} = {text}" for text in SIGNS if type_ in SIGNED]
    real = [f"{rule.name}({', '.join('ab'[: rule.operands])})" for rule in maths.MATHS.values() if not rule.whole]
    texts += [f"{type_} = {text}" for text in real if type_ in FLOATS]
    texts += [f"{type_} = a / b", *(f"i64 = {f}(a)" for f in sorted(maths.WHOLE))] if type_ in FLOATS else ["f64 = a"]
    texts += [f"{to} = {to}(a)" for to in sorted(CONVERSIONS)]
    texts += [f"{type_} = sign(a)", f"{type_} = clamp(a, b, 3)", "bool = isnan(a)", f"{type_} = {type_}(a < b)"]
    return texts + (["i64 = a"] if type_ in ("i8", "i16", "i32", "u8", "u16", "u32") else [])


def values(type_: str) -> list[Any]:
    """Return the smallest and largest values, values around zero, and some values between them."""
    if type_ in FLOATS:
        return [0.0, -0.0, 1.0, -1.5, 2.25, 1e30, -1e30, 1e-40, np.inf, -np.inf, np.nan, 3e9, 7.0]
    info = np.iinfo(np.dtype(f"{type_[0]}{int(type_[1:]) // 8}"))
    between = [info.max // 2 + 1, 100, 7, 3, 2, 1, 0]
    return [info.max, info.max - 1, info.min, info.min + 1, *between, *([-1, -2, -7] if type_[0] == "i" else [])]


@functools.cache
def program(type_: str) -> tuple[Program, Plan, Library]:
    """Return a program that computes every expression of two input fields."""
    lines = ["program p", f"vertex a: {type_}", f"vertex b: {type_}", "vertex s: i32"]
    lines += [f"vertex r{i}: {text}" for i, text in enumerate(expressions(type_))]
    made = compile("\n".join(lines))
    plan = made.plan(frozenset(), frozenset({"a", "b", "s"}), target="cuda")
    entries = dict(entry("compute", step.name) for step in plan.stages)
    return made, plan, compile_text(plan.text, entries)


@pytest.mark.parametrize("type_", [*SIGNED, *UNSIGNED, *FLOATS])
@pytest.mark.filterwarnings("ignore")
def test_results_are_those_of_the_interpreter(type_: str) -> None:
    made, plan, library = program(type_)
    dtype = np.dtype(f"{type_[0]}{int(type_[1:]) // 8}")
    pairs = np.array(list(itertools.product(values(type_), repeat=2)), dtype=dtype)
    n = len(pairs)
    fields: dict[str, Array] = {"a": pairs[:, 0].copy(), "b": pairs[:, 1].copy(),
                                "s": np.resize(np.array([0, 1, 7, 8, 31, 33, 63, 64, -1], np.int32), n)}
    empty = np.zeros(0, dtype=np.int64)
    want = interpreted(made, Case(RefGraph(n, empty, empty, {}, True), {}, fields)).fields
    frame = Frame(plan, n, fields)
    for name in library.programs:
        library.run(name, 1, 64, [frame.address, 0, n], shared=64)
    for number, text in enumerate(expressions(type_)):
        got = frame.arrays[f"field:r{number}"]
        expected = want[f"r{number}"]
        if got.dtype.kind == "f":
            np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-44, err_msg=f"{type_}: {text}")
        else:
            wrong = np.flatnonzero(got.astype(expected.dtype) != expected)[:3]
            assert not len(wrong), (type_, text, pairs[wrong], fields["s"][wrong], got[wrong], expected[wrong])
